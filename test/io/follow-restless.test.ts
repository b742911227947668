/** Following a stream whose writer does everything that can go wrong: each whole line once and in order (T1, T2, R39). */
import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { watchChild } from '../helpers/child.js';
import { Following, openBelow } from '../helpers/following.js';
import { seededRandom } from '../helpers/generated-run.js';
import { episodeLine } from '../helpers/read-run.js';
import { openWriter } from '../helpers/stream-folder.js';
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

test("prl's own writer: lines in parts, given up lines, moved ones, small chunks sealed by its worker", async () => {
  const run = tempFolder();
  const stream = join(run, 'monitors/file/traces/stream');
  mkdirSync(stream, { recursive: true });
  const { writer } = await openWriter({ chunkBytes: 20_000, frameBytes: 4_096 }, stream);
  const following = new Following(run, { untilFinished: true });
  const random = seededRandom(7);
  const below = (count: number): number => Math.floor(random() * count);
  const pause = (): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, below(3)));
  const kept: string[] = [];
  for (let index = 0; index < 120; index += 1) {
    const bytes = Buffer.from(episodeLine(String(index), '漢字🙂'.repeat(1 + below(900))).trimEnd());
    const line = writer.openLine();
    const isGivenUp = random() < 0.15;
    const end = isGivenUp ? below(bytes.length) : bytes.length;
    for (let at = 0, next = 0; at < end; at = next) {
      next = Math.min(end, at + 1 + below(4_000));
      line.write(bytes.subarray(at, next));
      if (random() < 0.2) await pause();
    }
    if (isGivenUp) await line.abort();
    else await line.commit();
    if (!isGivenUp) kept.push(String(index));
  }
  await writer.close();
  await following.ended;
  expect(following.ids).toEqual(kept);
  expect(following.damage).toEqual([]);
  expect(following.all('rewritten')).toEqual([]);
  expect(new Set(following.all('record').map(({ record }) => record.chunk)).size).toBeGreaterThan(10);
});
