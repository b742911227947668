/** The short form of the campaign of docs/campaigns.md (U1, U2): it runs, judges, and leaves nothing behind. */
import { spawnSync } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { tempFolder } from '../helpers/temp-folder.js';
import { HAS_STRACE } from './serve-child.js';

function campaign(...args: readonly string[]): {
  status: number | null;
  stdout: string;
  stderr: string;
  left: string[];
} {
  const folder = tempFolder();
  const command = ['scripts/campaign-upload.mjs', '--folder', folder, ...args];
  const { status, stdout, stderr } = spawnSync(process.execPath, command, { encoding: 'utf8' });
  return { status, stdout, stderr, left: readdirSync(folder) };
}

test.skipIf(!HAS_STRACE)(
  '20 runs, uploads killed again and again under a service in trouble: each line is stored once',
  {
    timeout: 400_000,
  },
  () => {
    const { status, stdout, stderr, left } = campaign('--runs', '20', '--seed', '1001', '--kills', '2');
    expect({ status, stderr, left }, stdout).toEqual({ status: 0, stderr: '', left: [] });
    const [, killed] = /(\d+) of them killed/.exec(stdout) ?? [];
    expect(Number(killed)).toBeGreaterThanOrEqual(10);
    expect(stdout).toMatch(/; 0 runs came out wrong\n$/);
  },
);

test.skipIf(!HAS_STRACE)('an upload that says it is done and is not comes out wrong', () => {
  const liar = join(tempFolder(), 'run.mjs');
  const totals = '{"episodes":0,"bytes":0}';
  writeFileSync(
    liar,
    `if (process.argv[2] === 'serve') await import(${JSON.stringify(resolve('bin/run.js'))});
     else console.log('{"plan":${totals},"sent":${totals},"already":${totals},"rejected":[],"damaged":[],"complete":true}');`,
  );
  const { status, stdout, left } = campaign('--runs', '1', '--seed', '1', '--prl', liar);
  expect({ status, left }).toEqual({ status: 1, left: [] });
  expect(stdout).toMatch(/^seed 1 FAILED: [1-9]\d* missing, 0 that nobody wrote, 0 more than once/);
});
