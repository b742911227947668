/** Sealing: what a reader of the sealed chunk gets, what is refused, and on which thread it happens. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { inspectChunk } from '../../src/io/chunk-open.js';
import { readSeekTable, SealedChunk } from '../../src/io/chunk-sealed.js';
import { ChunkSealer } from '../../src/io/chunk-sealer.js';
import { type SealJob, sealChunk } from '../../src/io/seal-chunk.js';
import { seededRandom } from '../helpers/generated-run.js';
import { seal } from '../helpers/seal.js';
import { contents, names, readPlace, SEAL_WORKER, until } from '../helpers/stream-folder.js';
import { tempFolder, writeTree } from '../helpers/temp-folder.js';

const SETTINGS: Omit<SealJob, 'path'> = { level: 3, frameBytes: 4_194_304 };
const MIB = 2 ** 20;

/** Text that compresses to about a third. */
function text(length: number, seed = 1): Buffer {
  const bytes = Buffer.alloc(length);
  let state = seed;
  for (let at = 0; at < length; at += 1) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    bytes[at] = 97 + ((state >>> 24) % 6);
  }
  return bytes;
}

function folder(content: Buffer | string): { directory: string; path: string } {
  const directory = writeTree(join(tempFolder(), 'stream'), { '00000.jsonl': content });
  return { directory, path: join(directory, '00000.jsonl') };
}

test('vector 3: a line of the middle takes three frames, an early one takes one', async () => {
  const lines = [4_000_000, 4_600_000, 837_184].map((bytes, at) => {
    const line = text(bytes, at);
    line[bytes - 1] = 0x0a;
    return line;
  });
  const { directory, path } = folder(Buffer.concat(lines));
  expect(sealChunk({ ...SETTINGS, path })).toMatchObject({ bytes: 9_437_184 });
  expect(names(directory)).toEqual(['00000.jsonl.zst']);
  const read = await Promise.all([
    readPlace(directory, { chunk: 0, offset: 0, bytes: 4_000_000 }),
    readPlace(directory, { chunk: 0, offset: 4_000_000, bytes: 4_600_000 }),
    readPlace(directory, { chunk: 0, offset: 8_600_000, bytes: 837_184 }),
  ]);
  for (const [at, line] of lines.entries()) expect(read[at]?.equals(line)).toBe(true);
  const handle = await open(`${path}.zst`, 'r');
  const frames = await readSeekTable(handle, (await handle.stat()).size);
  if (typeof frames === 'string') throw new Error(frames);
  expect(Array.from({ length: frames.count }, (_, at) => frames.at(at).bytes)).toEqual([4 * MIB, 4 * MIB, MIB]);
  for (const [start, end, decoded] of [
    [4_000_000, 8_600_000, 3],
    [0, 1000, 1],
    [8_600_000, 8_600_001, 1],
  ] as const) {
    const chunk = new SealedChunk(handle, frames);
    for await (const _ of chunk.pieces(start, end));
    expect(chunk.decodedFrames).toBe(decoded);
  }
  await handle.close();
});

describe('what it seals', () => {
  test.each([
    ['one byte', 1, 4 * MIB],
    ['a frame to its last byte', 65_536, 65_536],
    ['a byte more than a frame', 65_537, 65_536],
    ['many small frames', 10_000, 7],
    ['one frame that is larger than a walker window', 20 * MIB, 64 * MIB],
  ])('%s', async (_, bytes, frameBytes) => {
    const content = text(bytes);
    const { directory, path } = folder(content);
    const { sealedBytes } = sealChunk({ ...SETTINGS, path, frameBytes });
    expect(names(directory)).toEqual(['00000.jsonl.zst']);
    expect(await inspectChunk(`${path}.zst`)).toEqual({
      form: 'sealed',
      sizeBytes: sealedBytes,
      uncompressedBytes: bytes,
      tableFault: null,
    });
    expect((await readPlace(directory, { chunk: 0, offset: 0, bytes })).equals(content)).toBe(true);
  });

  test('bytes that do not get smaller', async () => {
    const random = seededRandom(3);
    const content = Buffer.from(Array.from({ length: 300_000 }, () => Math.floor(random() * 256)));
    const { directory, path } = folder(content);
    sealChunk({ ...SETTINGS, path, frameBytes: 100_000 });
    expect((await readPlace(directory, { chunk: 0, offset: 0, bytes: 300_000 })).equals(content)).toBe(true);
  });

  test('nothing of an empty chunk, which is removed, and a sealed one beside it stays', () => {
    const { directory, path } = folder('');
    writeFileSync(`${path}.zst`, seal(Buffer.from('old\n')));
    expect(sealChunk({ ...SETTINGS, path })).toEqual({ bytes: 0, sealedBytes: 0 });
    expect(names(directory)).toEqual(['00000.jsonl.zst']);
  });

  test.each([
    ['the same', 'a\nb\n'],
    ['the beginning of it', 'a\n'],
    ['half a file', null],
  ])('once more what a killed seal left, over %s (crash table of spec 03 section 4)', async (_, sealed) => {
    const { directory, path } = folder('a\nb\n');
    writeFileSync(`${path}.zst.tmp`, 'left');
    writeFileSync(`${path}.zst`, sealed === null ? 'half' : seal(Buffer.from(sealed)));
    sealChunk({ ...SETTINGS, path });
    expect(names(directory)).toEqual(['00000.jsonl.zst']);
    expect((await readPlace(directory, { chunk: 0, offset: 0, bytes: 9 })).toString()).toBe('a\nb\n');
  });
});

describe('what it refuses, with both files as they were', () => {
  test('a plain chunk shorter than the sealed one beside it', () => {
    const { directory, path } = folder('a\n');
    writeFileSync(`${path}.zst`, seal(Buffer.from('a\nb\n')));
    const before = contents(directory);
    expect(() => sealChunk({ ...SETTINGS, path })).toThrow(
      expect.objectContaining({ code: 'PRL_ERR_INTEGRITY', message: expect.stringContaining('holds 4 bytes') }),
    );
    expect(contents(directory)).toEqual(before);
  });

  test('a directory that takes no file', () => {
    const { directory, path } = folder('a\n');
    mkdirSync(`${path}.zst.tmp`);
    expect(() => sealChunk({ ...SETTINGS, path })).toThrow('EISDIR');
    expect(readFileSync(path, 'latin1')).toBe('a\n');
    expect(readdirSync(directory)).toHaveLength(2);
  });
});

describe('in the background', () => {
  test('one after the other; a failure is told and costs no other chunk', async () => {
    const directory = writeTree(join(tempFolder(), 'stream'), { '00000.jsonl': 'a\n', '00002.jsonl': 'c\n' });
    const told: string[] = [];
    const sealer = new ChunkSealer({ ...SETTINGS, workerUrl: SEAL_WORKER, onFailure: ({ code }) => told.push(code) });
    for (const name of ['00000.jsonl', '00001.jsonl', '00002.jsonl']) sealer.add(join(directory, name));
    expect(sealer.backlog).toBe(3);
    await sealer.idle();
    expect(names(directory)).toEqual(['00000.jsonl.zst', '00002.jsonl.zst']);
    expect([sealer.sealed, sealer.backlog, told]).toEqual([2, 0, ['PRL_ERR_TEMPORARY']]);
    expect(sealer.failures).toMatchObject([
      { message: expect.stringMatching(/cannot seal .*00001\.jsonl.*it stays plain/) },
    ]);
  });

  test('a thread that cannot even start: told, and no leftover', async () => {
    const { directory, path } = folder('a\n');
    writeFileSync(`${path}.zst.tmp`, 'left');
    const workerUrl = new URL('./no-such-worker.mjs', import.meta.url);
    const sealer = new ChunkSealer({ ...SETTINGS, workerUrl, onFailure: () => {} });
    sealer.add(path);
    await sealer.idle();
    expect(sealer.failures).toMatchObject([{ code: 'PRL_ERR_TEMPORARY' }]);
    expect(names(directory)).toEqual(['00000.jsonl']);
  });

  test.runIf(process.platform === 'linux')('the thread gives way to all others: nice 19, this one 0', async () => {
    const { path } = folder(text(16 * MIB));
    const sealer = new ChunkSealer({ ...SETTINGS, level: 9, workerUrl: SEAL_WORKER, onFailure: () => {} });
    sealer.add(path);
    await until(() => niceOfThreads().includes(19));
    expect(niceOfThreads()[0]).toBe(0);
    await sealer.idle();
    expect(sealer.sealed).toBe(1);
  });
});

/** Field 19 of each thread of this process, the main one first. */
function niceOfThreads(): number[] {
  return readdirSync('/proc/self/task').flatMap((thread) => {
    try {
      const stat = readFileSync(`/proc/self/task/${thread}/stat`, 'utf8');
      return [Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16])];
    } catch {
      return []; // ended meanwhile
    }
  });
}
