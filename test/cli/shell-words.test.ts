/** What a report tells a person to type is what was meant, whatever the run is called (demands C9, C19). */
import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { shellLine, shellWord } from '../../src/cli/shell-words.js';

describe('shellWord', () => {
  test.each(['./run', '--url', 'http://127.0.0.1:8787/x', 'k=v', '-'])('%s needs no quotes', (word) => {
    expect(shellWord(word)).toBe(word);
  });

  test.each([
    'run with spaces',
    "it's",
    '$HOME',
    '~',
    '*',
    'a;rm -rf x',
    '',
    '日本 🚀',
    'back\\slash',
    'ev\u001b[31mil\u0007\u202e',
    "\u001b'\\x\n\t",
    '\u{e0001}',
    'http://host/?a=1&b=2#c',
  ])('bash reads %j back', (word) => {
    const line = shellLine(['printf', '%s', word]);
    expect(line).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    const environment = { ...process.env, LC_ALL: 'C.UTF-8' };
    expect(execFileSync('bash', ['-c', line], { encoding: 'utf8', env: environment })).toBe(word);
  });
});
