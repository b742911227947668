/**
 * Demands I1, I7, I10 at the built command: rows and report do not depend on the number of threads, memory not on how a
 * run is cut, and a run that is written meanwhile is indexed as far as it went when it was opened.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { IndexDocument, StreamEntry } from '../../src/cli/index-document.js';
import { damageSeenBy, writeBrokenRun } from '../helpers/broken-run.js';
import { GrowingRun } from '../helpers/growing-run.js';
import { age, indexDocumentOf, placesOf } from '../helpers/index-command.js';
import { EpisodeSource } from '../helpers/shape-episode.js';
import { ChunkWriter, shapeLines, writeShapeRun } from '../helpers/shapes.js';
import { tempFolder } from '../helpers/temp-folder.js';
import { runPrl } from '../helpers/upload-command.js';

const MIB = 2 ** 20;
/** What a thread takes at once from a plain chunk. */
const SEGMENT_BYTES = 32 * MIB;
const DAMAGED = 3;

type Indexed = { readonly status: number | null; readonly document: IndexDocument; readonly rows: Buffer };

/** `prl index RUN --out FILE --json …` */
async function indexOut(home: string, run: string, args: readonly string[] = []): Promise<Indexed> {
  const out = join(home, 'rows.jsonl');
  // A file that would be the same is reported as unchanged.
  rmSync(out, { force: true });
  const ended = await runPrl(['index', run, '--out', out, '--json', ...args], { home });
  return { status: ended.status, document: indexDocumentOf(ended), rows: readFileSync(out) };
}

function firstStream({ streams }: IndexDocument): StreamEntry {
  return streams[0] as StreamEntry;
}

/** All that must not depend on the number of threads. */
function lasting({ document, rows, status }: Indexed): unknown {
  const { seconds, bytes_per_second, peak_rss_bytes, threads, ...report } = document;
  return { report, status, rows: createHash('sha256').update(rows).digest('hex') };
}

/** Indexes with every number of threads, and returns what all of them found. */
async function indexEachWay(home: string, run: string, jobs: readonly number[], args: string[] = []): Promise<Indexed> {
  const [first = 1, ...others] = jobs;
  const expected = await indexOut(home, run, ['--jobs', String(first), ...args]);
  for (const count of others) {
    const other = await indexOut(home, run, ['--jobs', String(count), ...args]);
    const mostThreads = Math.ceil(other.document.bytes / SEGMENT_BYTES);
    expect(other.document.threads).toBeGreaterThan(1);
    expect(other.document.threads).toBeLessThanOrEqual(Math.min(count, mostThreads + 1));
    expect(lasting(other)).toEqual(lasting(expected));
  }
  return expected;
}

describe('rows and report do not depend on the number of threads', () => {
  test('tiny episodes over plain chunks that segments cut unevenly', async () => {
    const home = tempFolder();
    const run = join(home, 'run');
    const { episodes, bytes, chunks } = writeShapeRun(run, { shape: 'C', bytes: 160 * MIB, chunkBytes: 77 * MIB });
    expect(chunks.length).toBe(3);
    const indexed = await indexEachWay(home, run, [1, 2, 3, 16]);
    expect(indexed.status).toBe(0);
    expect(indexed.document).toMatchObject({ episodes, bytes });
    const { status, stdout } = await runPrl(['index', run, '--rows', '--jobs', '3'], { home });
    expect(status).toBe(0);
    expect(stdout === indexed.rows.toString('utf8')).toBe(true);
  });

  test('tiny episodes in a sealed chunk, in little memory', async () => {
    const home = tempFolder();
    const run = join(home, 'run');
    const { episodes, bytes } = writeShapeRun(run, { shape: 'C', bytes: 340 * MIB, sealed: true });
    const indexed = await indexEachWay(home, run, [1, 16]);
    expect(indexed.status).toBe(0);
    expect(indexed.document).toMatchObject({ episodes, bytes });
    const twice = await indexOut(home, run, ['--jobs', '2']);
    expect(lasting(twice)).toEqual(lasting(indexed));
    // Rows of 256 MiB at a time, as with long episodes, took 330 MiB.
    expect(twice.document.peak_rss_bytes).toBeLessThan(300 * MIB);
  });

  test('a run with every kind of damage', async () => {
    const home = tempFolder();
    const run = join(home, 'run');
    const broken = writeBrokenRun(run, { bytes: 100 * MIB });
    for (const [reader, jobs, args] of [
      ['index', [1, 2, 16], []],
      ['strict', [1, 3], ['--strict']],
    ] as const) {
      const indexed = await indexEachWay(home, run, jobs, [...args]);
      expect(indexed.status).toBe(DAMAGED);
      const { damaged, torn } = firstStream(indexed.document);
      expect(torn).not.toBeNull();
      const last = torn === null ? [] : [{ ...torn, kind: 'torn', recovered: false } as const];
      expect(placesOf([...damaged, ...last])).toEqual(damageSeenBy(broken, reader));
    }
  });

  test('a line longer than several segments, between short ones', async () => {
    const home = tempFolder();
    const run = join(home, 'run');
    const path = join(run, 'monitors/file/traces/stream/00000.jsonl');
    mkdirSync(dirname(path), { recursive: true });
    const chunk = new ChunkWriter(path, false);
    const short = [...shapeLines('C', MIB)];
    for (const line of short) chunk.push(line);
    for (const part of new EpisodeSource('A').parts('long', [], 300 * MIB)) chunk.push(part);
    for (const line of short) chunk.push(line);
    chunk.close();
    const indexed = await indexEachWay(home, run, [1, 4]);
    expect(indexed.status).toBe(0);
    const { bytes, episodes, repeated } = firstStream(indexed.document);
    expect({ bytes, episodes }).toEqual({ bytes: chunk.bytes, episodes: 2 * short.length + 1 });
    expect(repeated.count).toBe(short.length);
    const { document } = await indexOut(home, run, ['--jobs', '4']);
    expect(document.threads).toBe(4);
    expect(document.peak_rss_bytes).toBeLessThan(300 * MIB);
  });
});

describe('a chunk that is written meanwhile', () => {
  /** Looks of each kind that must have met growth and half a line. */
  const LOOKS = 2;

  async function startRun(home: string, hasIndex: boolean): Promise<GrowingRun> {
    const source = join(home, 'source');
    const [lines = ''] = writeShapeRun(source, { shape: 'C', bytes: 64 * MIB }).chunks;
    const rows = join(home, 'all-rows.jsonl');
    writeFileSync(rows, (await indexOut(home, source)).rows);
    const directory = join(home, 'run');
    return GrowingRun.start({ directory, lines, rows, hasIndex, firstBytes: 16 * MIB, seed: 7 });
  }

  /** Checks a document against the bytes that it says it saw; returns whether it met growth and half a line. */
  function checkLook(run: GrowingRun, status: number | null, document: IndexDocument, bytesBefore: number): boolean {
    const { bytes, episodes, torn, growing, damaged } = firstStream(document);
    const expected = run.prefix(bytes);
    expect(bytes).toBeGreaterThanOrEqual(bytesBefore);
    expect(damaged).toEqual([]);
    expect(episodes).toBe(expected.episodes);
    expect(torn === null ? null : { offset: torn.offset, bytes: torn.bytes }).toEqual(expected.torn);
    if (growing) expect(run.bytes).toBeGreaterThan(bytes);
    // A machine may be so busy that the writer did not come to write within the look.
    expect(status).toBe(torn !== null && !growing ? DAMAGED : 0);
    return growing && torn !== null;
  }

  test('rows, a file and a check are those of the whole lines that were there', async () => {
    const home = tempFolder();
    const run = await startRun(home, true);
    const { directory } = run;
    const looks = { rows: 0, out: 0, check: 0 };
    while (Math.min(...Object.values(looks)) < LOOKS) {
      const start = run.bytes;
      const rows = await runPrl(['index', directory, '--rows'], { home });
      expect(run.isPrefix(Buffer.from(rows.stdout), start, run.bytes)).toBe(true);
      if (rows.status === 0) looks.rows += 1;
      else expect(rows.status).toBe(DAMAGED);

      const outStart = run.bytes;
      const out = await indexOut(home, directory);
      if (checkLook(run, out.status, out.document, outStart)) looks.out += 1;
      expect(out.rows.equals(run.prefix(firstStream(out.document).bytes).rows)).toBe(true);

      const checkStart = run.bytes;
      const check = await runPrl(['index', directory, '--check', '--json'], { home });
      const document = indexDocumentOf(check);
      expect(firstStream(document).check).toMatchObject({ ok: true, counts: {} });
      if (checkLook(run, check.status, document, checkStart)) looks.check += 1;
    }
    expect(await run.end()).toBe(0);
    age(directory);
    const written = readFileSync(run.index);
    writeFileSync(run.index, written.subarray(0, written.length / 2));
    const indexed = await runPrl(['index', directory, '--force', '--json'], { home });
    expect(indexed.status).toBe(0);
    expect(readFileSync(run.index).equals(written)).toBe(true);
    expect(run.prefix(run.bytes).rows.equals(written)).toBe(true);
  });

  test('an index in place goes on where the last one ended', async () => {
    const home = tempFolder();
    const run = await startRun(home, false);
    let [looks, settled] = [0, 0];
    while (looks < LOOKS) {
      const start = run.bytes;
      const ended = await runPrl(['index', run.directory, '--force', '--json'], { home });
      const document = indexDocumentOf(ended);
      if (checkLook(run, ended.status, document, start)) looks += 1;
      const { bytes, resumed_bytes } = firstStream(document);
      expect(readFileSync(run.index).equals(run.prefix(bytes).rows)).toBe(true);
      expect(resumed_bytes).toBe(settled);
      settled = run.prefix(bytes).settledBytes;
    }
    expect(settled).toBeGreaterThan(0);
    expect(await run.end()).toBe(0);
    const last = await runPrl(['index', run.directory, '--force', '--json'], { home });
    expect(last.status).toBe(0);
    expect(firstStream(indexDocumentOf(last))).toMatchObject({ growing: false, torn: null, bytes: run.bytes });
    const fresh = await indexOut(home, run.directory);
    expect(readFileSync(run.index).equals(fresh.rows)).toBe(true);
    expect(fresh.rows.equals(run.prefix(run.bytes).rows)).toBe(true);
  });
});
