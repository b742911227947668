/**
 * Somebody waits until everything before a place is settled: that is answered in every order of events, of a run that
 * looked finished and is written on above all. Real processes, files and sockets.
 */
import { existsSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, test, vi } from 'vitest';
import type { StreamEnd } from '../../src/io/upload-messages.js';
import { deafUntilEnded } from '../helpers/deaf.js';
import type { FaultyServer } from '../helpers/faulty-server.js';
import { serve } from '../helpers/primed.js';
import { seal } from '../helpers/seal.js';
import { tempFolder, writeTree } from '../helpers/temp-folder.js';
import { UPLOAD_CHILD, Uploading } from '../helpers/uploading.js';

// The process that uploads comes behind everybody else: on a busy machine that takes its time.
vi.setConfig({ testTimeout: 120_000 });

const STREAM = 'monitors/file/traces/stream';
const RUN = { type: 'train', id: 'r1' };
const lineOf = (id: string): string => `${JSON.stringify({ id, run: RUN, traces: [{ id: `${id}-t`, run: RUN }] })}\n`;
const [A, B, C] = [lineOf('a'), lineOf('b'), lineOf('c')];
/** Where no line will ever end. */
const NOWHERE: StreamEnd = { chunk: 7, offset: 1 };

const storedText = ({ stored }: FaultyServer): string => [...stored.values()].map(String).join('');

/** A finished run of one episode. */
function finishedRun(at = join(tempFolder(), 'run')): string {
  return writeTree(at, { [`${STREAM}/00000.jsonl.zst`]: seal(Buffer.from(A)) });
}

/** Writes a run on; returns where it ends. */
function writeOn(root: string, chunk: number, lines: string): StreamEnd {
  writeTree(root, { [`${STREAM}/0000${chunk}.jsonl`]: lines });
  return { chunk, offset: Buffer.byteLength(lines) };
}

/** What uploads, with a count of its processes. */
class Counted extends Uploading {
  readonly #starts: string;

  constructor(options: { readonly root: string; readonly url: string }) {
    const folder = tempFolder();
    const starts = join(folder, 'starts');
    const code = `import { appendFileSync } from 'node:fs';
      appendFileSync(${JSON.stringify(starts)}, 's');
      await import(${JSON.stringify(UPLOAD_CHILD.href)});`;
    writeTree(folder, { 'child.mjs': code });
    super({ ...options, childUrl: pathToFileURL(join(folder, 'child.mjs')) });
    this.#starts = starts;
  }

  get starts(): number {
    return existsSync(this.#starts) ? readFileSync(this.#starts).length : 0;
  }

  get isGone(): boolean {
    return !this.process.isRunning;
  }
}

describe('a run that looked finished', () => {
  /**
   * All of it is settled, so that a process that uploads it needs nobody: it has ended when this returns, and said so,
   * and nothing of that was heard.
   */
  async function endedUnheard(server: FaultyServer): Promise<{ readonly root: string; readonly uploading: Counted }> {
    const root = finishedRun();
    const first = new Uploading({ root, url: server.url });
    await first.until(({ end, process }) => end?.kind === 'finished' && !process.isRunning);
    const uploading = new Counted({ root, url: server.url });
    expect(deafUntilEnded(uploading.process.pid)).toBe(true);
    expect(uploading.end).toBeNull();
    return { root, uploading };
  }

  test('asked before its end is heard: it is looked at once more, for all who ask', async () => {
    const server = await serve();
    const { root, uploading } = await endedUnheard(server);
    const places = [writeOn(root, 1, B), { chunk: 0, offset: A.length }];
    const nowhere = uploading.process.whenSettled(NOWHERE);
    expect(await Promise.all(places.map((place) => uploading.process.whenSettled(place)))).toEqual([true, true]);
    expect(storedText(server)).toBe(A + B);
    expect(uploading).toMatchObject({ end: null, starts: 2, notices: [] });
    uploading.process.drain();
    expect(await nowhere).toBe(false);
    await uploading.until(({ end, isGone }) => end?.kind === 'drained' && isGone);
    expect(uploading.starts).toBe(2);
  });

  test('told before its end is heard that nothing more comes: what came is settled, and then it ends', async () => {
    const server = await serve();
    const { root, uploading } = await endedUnheard(server);
    writeOn(root, 1, B);
    uploading.process.drain();
    await uploading.until(({ end }) => end !== null);
    expect(uploading).toMatchObject({ end: { kind: 'drained' }, stored: 2, starts: 2 });
    expect(storedText(server)).toBe(A + B);
  });

  test('stopped before its end is heard: nobody waits, and nothing is started', async () => {
    const server = await serve();
    const { root, uploading } = await endedUnheard(server);
    const settled = uploading.process.whenSettled(writeOn(root, 1, B));
    await uploading.process.stop();
    expect(await settled).toBe(false);
    expect(await uploading.process.whenSettled({ chunk: 0, offset: 1 })).toBe(false);
    uploading.process.drain({ chunk: 0, offset: 1 });
    expect(uploading).toMatchObject({ isGone: true, starts: 1 });
  });

  test('asked once its end is heard, again and again: each time it is looked at once', async () => {
    const server = await serve();
    const uploading = new Counted({ root: finishedRun(), url: server.url });
    await uploading.until(({ end }) => end !== null);
    expect(await uploading.process.whenSettled({ chunk: 0, offset: A.length })).toBe(true);
    expect(await uploading.process.whenSettled(NOWHERE)).toBe(false);
    expect(uploading.starts).toBeLessThanOrEqual(3);
    await uploading.until(({ isGone }) => isGone);
    uploading.process.drain(NOWHERE);
    await uploading.until(({ end }) => end?.kind === 'drained');
    await uploading.until(({ isGone }) => isGone);
    expect(uploading.starts).toBeLessThanOrEqual(4);
  });

  test('and is another run by now, in the same place', async () => {
    const server = await serve();
    const { root, uploading } = await endedUnheard(server);
    rmSync(root, { recursive: true });
    expect(await uploading.process.whenSettled(writeOn(root, 0, B + C))).toBe(true);
    expect(storedText(server)).toBe(A + B + C);
  });
});

test('a run that another one takes the place of while it is followed', async () => {
  const server = await serve();
  const root = join(tempFolder(), 'run');
  writeOn(root, 0, A);
  const uploading = new Counted({ root, url: server.url });
  await uploading.until(({ stored }) => stored === 1);
  renameSync(root, `${root}.old`);
  const settled = uploading.process.whenSettled(writeOn(root, 0, B + C));
  expect(await settled).toBe(true);
  expect(storedText(server)).toBe(A + B + C);
  expect(uploading.starts).toBe(1);
});

test('killed between the question and the answer, and the run is finished before it is started again', async () => {
  const server = await serve((index) => (index === 0 ? { kind: 'stall' } : undefined));
  const root = join(tempFolder(), 'run');
  const end = writeOn(root, 0, A);
  const uploading = new Counted({ root, url: server.url });
  const answers = [uploading.process.whenSettled(end), uploading.process.whenSettled(NOWHERE)];
  await uploading.until(({ progress }) => progress.at(-1)?.inFlightRequests === 1);
  process.kill(uploading.process.pid ?? 0, 'SIGKILL');
  finishedRun(root);
  rmSync(join(root, STREAM, '00000.jsonl'));
  // It ends with the run, which answers both; nobody has to look again.
  expect(await Promise.all(answers)).toEqual([true, false]);
  await uploading.until(({ end: found, isGone }) => found?.kind === 'finished' && isGone);
  expect(uploading).toMatchObject({ starts: 2, process: { restarts: 1 } });
  expect(storedText(server)).toBe(A);
});

test('a run that is not there is settled at its beginning and nowhere else', async () => {
  const server = await serve();
  const uploading = new Uploading({ root: join(tempFolder(), 'run'), url: server.url });
  const nowhere = uploading.process.whenSettled({ chunk: 1, offset: 0 });
  expect(await uploading.process.whenSettled({ chunk: 0, offset: 0 })).toBe(true);
  uploading.process.drain();
  expect(await nowhere).toBe(false);
});
