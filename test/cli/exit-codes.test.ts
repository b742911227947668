/** The statuses of the code, of docs/errors.md and of the shipped schema are one table. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { EXIT_STATUS, SIGNAL_STATUS, STATUS_MEANING } from '../../src/cli/exit-codes.js';

const reference = readFileSync('docs/errors.md', 'utf8');

test('docs/errors.md lists every code with its status, and no other', () => {
  const documented = [...reference.matchAll(/^\| (PRL_ERR_\w+) +\| (\d+) +\|/gm)].map(([, code, status]) => [
    code,
    Number(status),
  ]);
  expect(documented.length).toBeGreaterThan(0);
  expect(Object.fromEntries(documented)).toEqual(EXIT_STATUS);
});

test('docs/errors.md lists every status with its meaning, and no other', () => {
  const documented = [...reference.matchAll(/^\| (\d+) +\| (.+?) +\|$/gm)].map(([, status, meaning]) => [
    Number(status),
    meaning,
  ]);
  expect(Object.fromEntries(documented)).toEqual(STATUS_MEANING);
});

test('every status that can be returned has a meaning', () => {
  for (const status of [0, ...Object.values(EXIT_STATUS), ...Object.values(SIGNAL_STATUS)]) {
    expect(STATUS_MEANING[status]).toEqual(expect.any(String));
  }
});

test('the schema of a failure allows exactly the codes there are', () => {
  const schema = JSON.parse(readFileSync('schemas/prl.error-1.json', 'utf8'));
  const allowed: string[] = schema.properties.error.properties.code.enum;
  expect(allowed.toSorted()).toEqual([...Object.keys(EXIT_STATUS), 'PRL_ERR_INTERRUPTED'].toSorted());
});
