/** The peak that reports name is of the process itself (I7). */
import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';

const MIB = 2 ** 20;

/** Fills memory and starts a program that tells its own peak. */
const LARGE_PARENT = `
  const memory = Buffer.alloc(500 * ${MIB}, 1);
  const { status } = require('node:child_process').spawnSync(process.execPath, process.argv.slice(1), { stdio: 'inherit' });
  process.exitCode = memory[0] === 1 ? status : 1;
`;

const TELL_PEAK = `
  const { peakMemoryBytes } = await import(process.argv[1]);
  const used = Buffer.alloc(100 * ${MIB}, 1);
  console.log(peakMemoryBytes() + used[0] - 1);
`;

test('a large process that starts prl is not counted', () => {
  const hooks = resolve('test/helpers/typescript-hooks.mjs');
  const child = ['--import', hooks, '--input-type=module', '-e', TELL_PEAK, resolve('src/io/peak-memory.ts')];
  const { status, stdout } = spawnSync(process.execPath, ['-e', LARGE_PARENT, '--', ...child], { encoding: 'utf8' });
  expect(status).toBe(0);
  expect(Number(stdout)).toBeGreaterThan(100 * MIB);
  expect(Number(stdout)).toBeLessThan(400 * MIB);
});
