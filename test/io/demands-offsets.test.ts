/**
 * Demands U26, R31: behind a service that takes its time everything is read where it stands, also beyond 32 KiB, 2 GiB and
 * 4 GiB: records that lie across each of these borders are stored with the bytes they have. A plain chunk with holes, which
 * cost no disk, and a sealed one. The holes are settled, as by an earlier upload: reading five gigabytes would take minutes.
 */
import { appendFileSync, closeSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openJournal } from '../../src/io/journal.js';
import { findPlaces } from '../../src/io/journal-place.js';
import { startFaultyServer } from '../helpers/faulty-server.js';
import { episodeLine } from '../helpers/read-run.js';
import { uploadRun } from '../helpers/run-upload.js';
import { compressFrames, seekTable } from '../helpers/seal.js';
import { tempFolder } from '../helpers/temp-folder.js';

const STREAM = 'monitors/file/traces/stream';
const GIB = 2 ** 30;
const FRAME_BYTES = 4 * 2 ** 20;
const BORDERS = [32_768, 2 * GIB, 4 * GIB];
const TOTAL_BYTES = 5 * GIB;

type Placed = { readonly at: number; readonly bytes: Buffer };

/** For each border a record before it, one across it and one after it, all on lines of their own; one at both ends. */
function place(): Placed[] {
  const line = (id: string): string => episodeLine(id, `${id} `.repeat(200));
  const placed: Placed[] = [{ at: 0, bytes: Buffer.from(line('first')) }];
  BORDERS.forEach((border, index) => {
    const [before, across, after] = ['before', 'across', 'after'].map((where) => line(`${where}${index}`)) as [
      string,
      string,
      string,
    ];
    // The LF in front ends the line of zeros that the hole is.
    const bytes = Buffer.from(`\n${before}${across}${after}`);
    placed.push({ at: border - before.length - 1 - Math.floor(across.length / 2), bytes });
  });
  const last = Buffer.from(`\n${line('last')}`);
  return [...placed, { at: TOTAL_BYTES - last.length, bytes: last }];
}

const IDS = ['first', ...BORDERS.flatMap((_, index) => [`before${index}`, `across${index}`, `after${index}`]), 'last'];

function writeSparse(path: string, placed: readonly Placed[]): void {
  const file = openSync(path, 'w');
  for (const { at, bytes } of placed) writeSync(file, bytes, 0, bytes.length, at);
  closeSync(file);
}

/** The same bytes in frames of 4 MiB; those of zeros alone are compressed once. */
function writeSealed(path: string, placed: readonly Placed[]): void {
  const [zeros] = compressFrames(Buffer.alloc(FRAME_BYTES), { frameBytes: FRAME_BYTES });
  const file = openSync(`${path}.zst`, 'w');
  const sizes: { compressedBytes: number; bytes: number }[] = [];
  for (let start = 0; start < TOTAL_BYTES; start += FRAME_BYTES) {
    const inside = placed.filter(({ at, bytes }) => at < start + FRAME_BYTES && at + bytes.length > start);
    const content = Buffer.alloc(inside.length === 0 ? 0 : FRAME_BYTES);
    for (const { at, bytes } of inside) bytes.copy(content, Math.max(0, at - start), Math.max(0, start - at));
    const [frame] = inside.length === 0 ? [zeros] : compressFrames(content, { frameBytes: FRAME_BYTES });
    writeSync(file, frame as Buffer);
    sizes.push({ compressedBytes: (frame as Buffer).length, bytes: FRAME_BYTES });
  }
  writeSync(file, seekTable(sizes));
  closeSync(file);
}

type Hole = { readonly start: number; readonly end: number };

/** What lies between two places: a line of zeros and its LF. */
function holesBetween(placed: readonly Placed[]): Hole[] {
  return placed.slice(1).map(({ at }, index) => {
    const { at: start, bytes } = placed[index] as Placed;
    return { start: start + bytes.length, end: at + 1 };
  });
}

async function settle(root: string, baseUrl: string, holes: readonly Hole[]): Promise<void> {
  const journal = await openJournal({
    places: await findPlaces(root, {}),
    destination: { baseUrl, teamId: null, context: {}, stamp: { unstamped: true } },
    chunkNames: new Map([[0, '0']]),
    readRange: async () => null,
    onNotice: (message) => expect.fail(message),
  });
  const tail = Buffer.concat([Buffer.alloc(63), Buffer.from('\n')]);
  const known = { physicalLines: 1, format: 'episode', lines: 1, sentBytes: 1, tail, digest: '0'.repeat(64) } as const;
  for (const { start, end } of holes) {
    await journal.stored({ chunk: 0, start, end, ...known, lineDigests: [`line-at-${start}`.padEnd(16, '-')] });
  }
  await journal.close();
}

test.each([
  ['plain, with holes', writeSparse],
  ['sealed', writeSealed],
])('a chunk of 5 GiB, %s', { timeout: 120_000 }, async (_form, write) => {
  const root = join(tempFolder(), 'run');
  mkdirSync(join(root, STREAM), { recursive: true });
  const placed = place();
  write(join(root, STREAM, '00000.jsonl'), placed);
  // Nobody reads further than two lines ahead of a service that holds each of them.
  const server = await startFaultyServer(() => ({ kind: 'held', until: new Promise((done) => setTimeout(done, 100)) }));
  onTestFinished(() => server.close());
  const holes = holesBetween(placed);
  await settle(root, server.url, holes);
  const options = {
    ...{ root, service: { url: server.url, token: '' }, serviceName: server.url },
    ...{ targetBytes: 1, concurrency: 1, stamps: false },
  };
  const first = await uploadRun(options);
  const count = IDS.length;
  expect(first).toMatchObject({ stopped: null, rejected: [], damaged: [], sent: { episodes: count, requests: count } });
  expect(first.already.episodes).toBe(holes.length);
  // The service has compared the digest of each with its key.
  const text = placed.map(({ bytes }) => bytes.toString()).join('');
  expect([...server.stored.values()].join('')).toBe(text.replaceAll(/^\n/gm, ''));
  if (write === writeSealed) return;
  // And where they stand is known: of a chunk that has grown they are not sent again.
  appendFileSync(join(root, STREAM, '00000.jsonl'), episodeLine('more'));
  expect(await uploadRun(options)).toMatchObject({
    already: { episodes: holes.length + count },
    sent: { episodes: 1 },
  });
});
