/** Whether a writer is alive, from what a machine shows (spec 05 section 6). */
import { appendFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findWriter, type WriterQuestion } from '../../src/io/writer-alive.js';
import { holdOpen } from '../helpers/index-command.js';
import { tempFolder } from '../helpers/temp-folder.js';

function question(growing: readonly string[], change: Partial<WriterQuestion> = {}): WriterQuestion {
  return { growing, hasSealedChunks: false, hasLiveTraces: false, nowMs: Date.now(), ...change };
}

function newChunk(): string {
  const path = join(tempFolder(), '00000.jsonl');
  writeFileSync(path, '{}\n');
  return path;
}

test('a process that has the stream open for appending is alive, and named', async () => {
  const chunk = newChunk();
  const writer = await holdOpen(chunk);
  const evidence = await findWriter(question([chunk]));
  expect(evidence.state).toBe('live');
  expect(evidence.reasons[0]).toMatch(/^process \d+ has .*00000\.jsonl open for writing$/);
  await writer.end();
  expect((await findWriter(question([chunk], { nowMs: Date.now() + 400_000 }))).state).toBe('idle');
});

test('only sealed chunks and nothing in flight is a run that ended', async () => {
  expect((await findWriter(question([], { hasSealedChunks: true }))).state).toBe('finished');
  expect((await findWriter(question([], { hasSealedChunks: true, hasLiveTraces: true }))).state).not.toBe('finished');
});

// The files of /proc belong to no file system of which all writers can be seen.
test('where not every writer can be seen, a stream that changed lately may be written', async () => {
  const path = '/proc/self/status';
  const young = await findWriter(question([path], { nowMs: statSync(path).mtimeMs + 299_000 }));
  expect(young).toEqual({
    state: 'unknown',
    reasons: [expect.stringMatching(/^the stream changed \d+ s ago$/), expect.any(String)],
  });
  expect((await findWriter(question([path], { nowMs: statSync(path).mtimeMs + 400_000 }))).state).toBe('idle');
  const short = { nowMs: statSync(path).mtimeMs + 60_000, idleMs: 1000 };
  expect((await findWriter(question([path], short))).state).toBe('idle');
});

test('reading a chunk, or having written it once, is not writing', async () => {
  const chunk = newChunk();
  appendFileSync(chunk, '{}\n');
  expect((await findWriter(question([chunk], { nowMs: Date.now() + 400_000 }))).state).toBe('idle');
});
