/** Following a stream whose writer does everything that can go wrong: each whole line once and in order (T1, T2, R39). */
import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { watchChild } from '../helpers/child.js';
import { Following, openBelow } from '../helpers/following.js';
import { tempFolder } from '../helpers/temp-folder.js';

const LINES = 2_000;
const WRITER = resolve('test/helpers/restless-writer.ts');
const HOOKS = resolve('test/helpers/typescript-hooks.mjs');

/** A run that a child process writes; resolves to what it left torn. */
function startWriter(run: string, seed: number): Promise<number> {
  const stream = join(run, 'monitors/file/traces/stream');
  mkdirSync(stream, { recursive: true });
  const args = ['--no-warnings', '--import', HOOKS, WRITER, stream, String(LINES), String(seed)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  const { ended } = watchChild(child);
  return ended.then(({ stdout }) => (JSON.parse(stdout) as { tornLines: number }).tornLines);
}

describe.each([
  [true, 500],
  [false, 200],
])('watches %s, poll %i ms', (watches, pollMs) => {
  test.each([1, 2])('2,000 lines, each once and in order, seed %i', { timeout: 120_000 }, async (seed) => {
    const run = tempFolder();
    const written = startWriter(run, seed);
    const following = new Following(run, { watches, pollMs, untilFinished: true });
    const tornLines = await written;
    await following.ended;
    expect(following.ids).toEqual(Array.from({ length: LINES }, (_, index) => String(index)));
    expect(following.damage).toHaveLength(tornLines);
    expect(tornLines).toBeGreaterThan(20);
    expect(following.all('rewritten')).toEqual([]);
    for (const { summary } of following.all('file')) {
      if (summary === null) continue;
      const { recordBytes, damagedBytes, blankBytes, skippedBytes, endOffset } = summary;
      expect(recordBytes + damagedBytes + blankBytes + skippedBytes).toBe(endOffset);
    }
    expect(openBelow(run)).toEqual([]);
  });
});
