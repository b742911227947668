import { appendFileSync, readdirSync, renameSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openChunk } from '../../src/io/chunk-open.js';
import { PlainChunk } from '../../src/io/chunk-plain.js';
import { type LineEvent, type ReadLinesOptions, readLines } from '../../src/io/chunk-reader.js';
import { readSeekTable, SealedChunk } from '../../src/io/chunk-sealed.js';
import type { ChunkFile } from '../../src/io/run-types.js';
import { compressFrames, seal } from '../helpers/seal.js';
import { tempFolder } from '../helpers/temp-folder.js';

/** 40 lines of growing length, 21 kB in all, so that frames of 4 KiB cut some of them. */
const TEXT = Array.from({ length: 40 }, (_, index) => `${index}:${'x'.repeat(index * 26)}\u20ac\n`).join('');
const CONTENT = Buffer.from(TEXT);
const FRAME_BYTES = 4096;

function chunkFile(path: string, form: ChunkFile['form'], uncompressedBytes: number | null): ChunkFile {
  return { chunk: 0, path, relativePath: 'c', form, sizeBytes: statSync(path).size, uncompressedBytes };
}

function write(content: Buffer, name: string): string {
  const path = join(tempFolder(), name);
  writeFileSync(path, content);
  return path;
}

/** The same content in each form a chunk can take. */
const FORMS: readonly (readonly [string, (content?: Buffer) => ChunkFile])[] = [
  ['plain', (content = CONTENT) => chunkFile(write(content, '00000.jsonl'), 'plain', content.length)],
  [
    'sealed with a table',
    (content = CONTENT) =>
      chunkFile(write(seal(content, { frameBytes: FRAME_BYTES }), '00000.jsonl.zst'), 'sealed', content.length),
  ],
  [
    'sealed without a table',
    (content = CONTENT) =>
      chunkFile(write(seal(content, { frameBytes: FRAME_BYTES, hasTable: false }), 'c.zst'), 'sealed', null),
  ],
  [
    'streamed frames without sizes',
    (content = CONTENT) =>
      chunkFile(
        write(seal(content, { frameBytes: FRAME_BYTES, hasTable: false, isStreamed: true }), 'c.zst'),
        'sealed',
        null,
      ),
  ],
  [
    'one frame for all',
    (content = CONTENT) => chunkFile(write(seal(content, { hasTable: false }), 'c.zst'), 'sealed', null),
  ],
];

async function all<T>(source: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of source) items.push(item);
  return items;
}

async function events(file: ChunkFile, options: ReadLinesOptions = {}): Promise<LineEvent[]> {
  return all(readLines(file, options));
}

async function lines(file: ChunkFile, options: ReadLinesOptions = {}) {
  return (await events(file, options)).map((event) => {
    if (event.type !== 'line') throw new Error(JSON.stringify(event));
    return { ...event.line, bytes: undefined, text: event.line.bytes?.toString() };
  });
}

describe.each(FORMS)('a chunk that is %s', (_, make) => {
  test('gives each line once, with its offset and number', async () => {
    const read = await lines(make());
    expect(read.map((line) => line.text).join('')).toBe(TEXT);
    expect(read.map((line) => line.lineNumber)).toEqual(Array.from({ length: 40 }, (_, index) => index + 1));
    for (const line of read) {
      expect(CONTENT.subarray(line.offset, line.offset + line.length).toString()).toBe(line.text);
    }
  });

  test('reads only what is not settled, and numbers lines as if it had read all', async () => {
    const file = make();
    const all = await lines(file);
    const at = (index: number) => all[index]?.offset ?? 0;
    for (const isCounted of [true, false]) {
      const range = (from: number, to: number) => {
        return { start: at(from), end: at(to), ...(isCounted ? { lines: to - from } : {}) };
      };
      const read = await lines(file, { skip: [range(0, 3), range(10, 11), range(20, 39)] });
      expect(read).toEqual(
        all.filter((_, index) => (index >= 3 && index < 10) || (index >= 11 && index < 20) || index >= 39),
      );
    }
  });

  test('everything settled gives nothing, and so does an end at the start', async () => {
    const file = make();
    expect(await events(file, { skip: [{ start: 0, end: CONTENT.length, lines: 40 }] })).toEqual([]);
    expect(await events(file, { endOffset: 0 })).toEqual([]);
  });

  test('stops at the end it is given; the line it cuts has no LF', async () => {
    const read = await lines(make(), { endOffset: 5_000 });
    expect(read.at(-1)).toMatchObject({ terminated: false });
    expect(read.map((line) => line.text).join('')).toBe(CONTENT.subarray(0, 5_000).toString());
  });

  test('an abort ends the reading with its reason', async () => {
    const controller = new AbortController();
    const reason = new Error('stop');
    const reading = (async () => {
      for await (const event of readLines(make(), { signal: controller.signal })) {
        if (event.type === 'line' && event.line.lineNumber === 1) controller.abort(reason);
      }
    })();
    // A small file is one piece, so the abort may come after the last read; then there is nothing to end.
    await reading.catch((error: unknown) => expect(error).toBe(reason));
    await expect(events(make(), { signal: controller.signal })).rejects.toBe(reason);
  });

  test('a line over the cap is reported by its length', async () => {
    const content = Buffer.from(`a\n${'b'.repeat(10_000)}\nc\n`);
    const read = await lines(make(content), { maxLineBytes: 9_999 });
    expect(read.map(({ text, length }) => [text, length])).toEqual([
      ['a\n', 2],
      [undefined, 10_001],
      ['c\n', 2],
    ]);
  });

  test('leaves no descriptor open, whether it ends or is left early', async () => {
    const file = make();
    const openFiles = (): number => readdirSync('/proc/self/fd').length;
    await events(file);
    const before = openFiles();
    for (let round = 0; round < 20; round += 1) {
      for await (const event of readLines(file)) if (event.type === 'line') break;
      await events(file);
    }
    expect(openFiles()).toBeLessThanOrEqual(before + 1);
  });
});

describe('a 3-byte character over every read boundary (R49, T9)', () => {
  test.each([-3, -2, -1, 0, 1])('plain, 1 MiB reads, character at boundary %i', async (shift) => {
    const head = 'x'.repeat(1_048_576 + shift);
    const file = chunkFile(write(Buffer.from(`${head}\u20acy\nz\n`), 'c.jsonl'), 'plain', 1_048_576 + shift + 7);
    expect((await lines(file)).map((line) => line.text)).toEqual([`${head}\u20acy\n`, 'z\n']);
  });

  test('sealed, cut by frames of 1, 2 and 3 bytes', async () => {
    const content = Buffer.from('\u20ac\n\u20ac\u20ac\u{1F600}\n');
    for (const frameBytes of [1, 2, 3]) {
      const file = chunkFile(write(seal(content, { frameBytes }), 'c.zst'), 'sealed', content.length);
      expect((await lines(file)).map((line) => line.text)).toEqual(['\u20ac\n', '\u20ac\u20ac\u{1F600}\n']);
    }
  });
});

describe('sealed chunks', () => {
  test('vector 3: reading a line decompresses the frames that hold it and no others', async () => {
    const content = Buffer.alloc(9 * 1_048_576, 'a');
    content[3_999_999] = 0x0a;
    content[8_599_999] = 0x0a;
    content[99] = 0x0a;
    const handle = await open(write(seal(content), '00000.jsonl.zst'), 'r');
    const size = (await handle.stat()).size;
    const frames = await readSeekTable(handle, size);
    if (typeof frames === 'string') throw new Error(frames);
    expect(frames.count).toBe(3);
    const count = async (start: number, end: number): Promise<[number, boolean]> => {
      const chunk = new SealedChunk(handle, frames);
      const parts: Buffer[] = [];
      for await (const piece of chunk.pieces(start, end))
        if (piece.kind === 'bytes') parts.push(Buffer.from(piece.bytes));
      return [chunk.decodedFrames, Buffer.concat(parts).equals(content.subarray(start, end))];
    };
    expect(await count(4_000_000, 8_600_000)).toEqual([3, true]);
    expect(await count(0, 100)).toEqual([1, true]);
    expect(await count(8_600_000, content.length)).toEqual([1, true]);
    await handle.close();
  });

  test('frames over 64 MiB are read in pieces', async () => {
    const line = `${'0123456789abcdef'.repeat(4_096)}\n`;
    const content = Buffer.from(line.repeat(1_100));
    expect(content.length).toBeGreaterThan(67_108_864);
    const path = write(seal(content, { frameBytes: content.length }), 'c.zst');
    let count = 0;
    for await (const event of readLines(chunkFile(path, 'sealed', content.length))) {
      if (event.type !== 'line' || event.line.bytes?.toString('latin1') !== line)
        throw new Error(JSON.stringify(event));
      count += 1;
    }
    expect(count).toBe(1_100);
  });

  test('empty frames and an empty table are legal', async () => {
    const empty = chunkFile(write(seal(Buffer.alloc(0)), 'c.zst'), 'sealed', 0);
    expect(await events(empty)).toEqual([]);
  });

  /** Frames of 4096 bytes, the second one damaged. */
  function damaged(hasTable: boolean, isStreamed: boolean, damage: (frame: Buffer) => Buffer): ChunkFile {
    const options = { frameBytes: FRAME_BYTES, isStreamed };
    const frames = compressFrames(CONTENT, options);
    const tail = hasTable ? seal(CONTENT, options).subarray(Buffer.concat(frames).length) : Buffer.alloc(0);
    frames[1] = damage(Buffer.from(frames[1] as Buffer));
    const path = write(Buffer.concat([...frames, tail]), 'c.zst');
    return chunkFile(path, 'sealed', hasTable ? CONTENT.length : null);
  }

  /** Breaks the content checksum that ends a frame. */
  const breakChecksum = (frame: Buffer): Buffer => {
    frame[frame.length - 1] = (frame[frame.length - 1] as number) ^ 0xff;
    return frame;
  };

  test.each([
    ['with a table', true],
    ['without one', false],
  ])('a corrupt frame %s costs the lines it touches and no others', async (_, hasTable) => {
    const read = await events(damaged(hasTable, false, breakChecksum));
    const lost = read.flatMap((event) => (event.type === 'lost' ? [event.lost] : []));
    expect(lost).toMatchObject([{ kind: 'corrupt_frame' }]);
    expect(lost[0]?.reason).toMatch(/^frame (1 )?at compressed byte \d+: .*checksum/);
    const start = CONTENT.lastIndexOf(0x0a, FRAME_BYTES - 1) + 1;
    expect(lost[0]).toMatchObject({ offset: start, bytes: 2 * FRAME_BYTES - start });
    const texts = read.flatMap((event) => (event.type === 'line' ? [event.line.bytes?.toString()] : []));
    const whole = TEXT.split(/(?<=\n)/);
    const before = CONTENT.subarray(0, start).toString();
    const after = CONTENT.subarray(2 * FRAME_BYTES);
    expect(texts.join('')).toBe(before + after.toString());
    expect(texts.filter((text) => whole.includes(text ?? ''))).toHaveLength(texts.length - 1);
  });

  test('without a table or sizes, what follows a corrupt frame cannot be placed and is said to be lost', async () => {
    const read = await events(damaged(false, true, breakChecksum));
    const last = read.at(-1);
    expect(last).toMatchObject({ type: 'lost', lost: { kind: 'corrupt_frame' } });
    expect(last?.type === 'lost' && last.lost.reason).toContain(
      'its size is unknown, so nothing behind it can be placed',
    );
  });

  test('a frame that holds another number of bytes than its entry says is corrupt, its neighbours are not', async () => {
    const options = { frameBytes: FRAME_BYTES };
    const frames = compressFrames(CONTENT, options);
    const table = Buffer.from(seal(CONTENT, options).subarray(Buffer.concat(frames).length));
    table.writeUInt32LE(FRAME_BYTES - 1, 8 + 8 + 4);
    table.writeUInt32LE(FRAME_BYTES + 1, 8 + 16 + 4);
    const path = write(Buffer.concat([...frames, table]), 'c.zst');
    const read = await events(chunkFile(path, 'sealed', CONTENT.length));
    const reasons = read.flatMap((event) => (event.type === 'lost' ? [event.lost.reason] : []));
    expect(reasons).toHaveLength(2);
    expect(reasons[0]).toContain('frame 1 ');
    expect(reasons[1]).toContain(`it holds ${FRAME_BYTES} bytes where ${FRAME_BYTES + 1} are announced`);
    const texts = read.flatMap((event) => (event.type === 'line' ? [event.line.bytes?.toString() ?? ''] : []));
    expect(TEXT.startsWith(texts[0] ?? '?')).toBe(true);
    expect(TEXT.endsWith(texts.at(-1) ?? '?')).toBe(true);
  });

  test('cut at any byte, a file without a table gives its whole frames and one loss', async () => {
    const frames = compressFrames(CONTENT, { frameBytes: FRAME_BYTES });
    const all = Buffer.concat(frames);
    const folder = tempFolder();
    for (let cut = 5; cut < all.length; cut += 97) {
      let end = 0;
      let whole = 0;
      while (end + (frames[whole]?.length ?? 0) <= cut) end += frames[whole++]?.length ?? 0;
      const path = join(folder, 'cut.zst');
      writeFileSync(path, all.subarray(0, cut));
      const read = await events(chunkFile(path, 'sealed', null));
      const losses = read.filter((event) => event.type === 'lost');
      expect(losses).toHaveLength(end === cut ? 0 : 1);
      const bytes = read.reduce(
        (sum, event) =>
          sum + (event.type === 'line' ? event.line.length : event.type === 'lost' ? event.lost.bytes : 0),
        0,
      );
      expect(bytes).toBe(Math.min(whole * FRAME_BYTES, CONTENT.length));
    }
  });

  test('a sealed chunk of 0 bytes is a loss, not an empty chunk', async () => {
    const read = await events(chunkFile(write(Buffer.alloc(0), '00000.jsonl.zst'), 'sealed', null));
    expect(read).toMatchObject([{ type: 'lost', lost: { kind: 'corrupt_frame' } }]);
  });

  test('plain content under a compressed name is read as it is', async () => {
    const path = write(CONTENT, '00000.jsonl.zst');
    expect((await lines(chunkFile(path, 'plain', CONTENT.length))).map((line) => line.text).join('')).toBe(TEXT);
  });
});

describe('files that change while they are read', () => {
  test('what is appended after the run was opened is left for the next pass (U17)', async () => {
    const path = write(Buffer.from('a\nb\n'), 'c.jsonl');
    const file = chunkFile(path, 'plain', 4);
    appendFileSync(path, 'c\n');
    const texts: (string | undefined)[] = [];
    for await (const event of readLines(file)) {
      appendFileSync(path, 'more\n');
      if (event.type === 'line') texts.push(event.line.bytes?.toString());
    }
    expect(texts).toEqual(['a\n', 'b\n']);
  });

  test('a file that was cut gives its whole lines and a loss (T5)', async () => {
    const path = write(Buffer.from('aaa\nbbb\nccc\n'), 'c.jsonl');
    const file = chunkFile(path, 'plain', 12);
    truncateSync(path, 6);
    const read = await events(file);
    expect(read.map((event) => (event.type === 'line' ? event.line.bytes?.toString() : event))).toEqual([
      'aaa\n',
      {
        type: 'lost',
        lost: { offset: 4, bytes: 8, kind: 'unreadable', reason: 'the file was cut to 6 bytes while it was read' },
      },
    ]);
  });

  test('a chunk that was sealed since the run was opened is read from its sealed form (R-CHK-5)', async () => {
    const folder = tempFolder();
    const path = join(folder, '00000.jsonl');
    writeFileSync(path, CONTENT);
    const file = chunkFile(path, 'plain', CONTENT.length);
    writeFileSync(`${path}.zst.tmp`, seal(CONTENT, { frameBytes: FRAME_BYTES }));
    renameSync(`${path}.zst.tmp`, `${path}.zst`);
    renameSync(path, join(folder, 'gone'));
    expect((await lines(file)).map((line) => line.text).join('')).toBe(TEXT);
  });

  test('a handle that is open survives the unlink of a seal', async () => {
    const path = write(Buffer.alloc(3 * 1_048_576, 'abc\n'), '00000.jsonl');
    const file = chunkFile(path, 'plain', 3 * 1_048_576);
    let bytes = 0;
    for await (const event of readLines(file)) {
      if (event.type !== 'line') throw new Error(JSON.stringify(event));
      if (bytes === 0) renameSync(path, `${path}.gone`);
      bytes += event.line.length;
    }
    expect(bytes).toBe(3 * 1_048_576);
  });

  test('a vanished chunk is one loss of its bytes', async () => {
    const path = write(CONTENT, '00000.jsonl');
    const file = chunkFile(path, 'plain', CONTENT.length);
    renameSync(path, `${path}.gone`);
    expect(await events(file)).toEqual([
      { type: 'lost', lost: { offset: 0, bytes: CONTENT.length, kind: 'unreadable', reason: 'it no longer exists' } },
    ]);
  });
});

describe('read errors', () => {
  // Addresses that nothing is mapped to: a process's own memory is a file that opens and answers reads there with EIO.
  test('a device error loses the blocks it hits, and gives up after 16 in a row', async () => {
    const start = 2 ** 45;
    const chunk = new PlainChunk(await open('/proc/self/mem', 'r'), start + 40 * 1_048_576);
    const pieces = await all(chunk.pieces(start, Number.POSITIVE_INFINITY));
    await chunk.close();
    expect(pieces).toHaveLength(16);
    const reason = 'the device reported a read error';
    expect(pieces[0]).toMatchObject({ kind: 'lost', offset: start, bytes: 1_048_576, reason });
    expect(pieces[15]).toMatchObject({ offset: start + 15 * 1_048_576, bytes: 25 * 1_048_576 });
  });

  test('opening fails with the system error when neither form is there', async () => {
    const path = write(CONTENT, '00000.jsonl');
    const file = chunkFile(path, 'plain', CONTENT.length);
    renameSync(path, `${path}.gone`);
    await expect(openChunk(file)).rejects.toMatchObject({ code: 'ENOENT' });
  });
});
