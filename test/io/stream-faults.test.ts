/** Disks that are full, files that may not grow, devices that cannot be cut: what is told, and what is in the stream. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { seededRandom } from '../helpers/generated-run.js';
import { CAN_MOUNT, smallDisk } from '../helpers/small-disk.js';
import { contents, names, openWriter, readPlace, until } from '../helpers/stream-folder.js';
import { tempFolder, writeTree } from '../helpers/temp-folder.js';

const KIB = 1024;
const SEED = 20_266;
const PLAIN = { compress: false } as const;

/** A line of so many bytes, LF included when it is in the stream. */
const line = (bytes: number, fill = 'x'): Buffer => Buffer.alloc(bytes - 1, fill);

/** Seven bits of chance in each byte, so that it can hardly be compressed. */
function noise(bytes: number): Buffer {
  const random = seededRandom(SEED);
  return Buffer.from(Array.from({ length: bytes }, () => 128 + Math.floor(random() * 128)));
}

const NO_ROOM = {
  code: 'PRL_ERR_LIMIT',
  message: expect.stringMatching(/cannot write .*00000\.jsonl at byte \d+: no room.*ENOSPC.*the line is not there/),
};

describe.skipIf(!CAN_MOUNT)('R-CHK-2, R50: a full disk', () => {
  test('costs the line that has no room, and none of those that were given with it', async () => {
    const disk = smallDisk(128 * KIB);
    const { writer, directory } = await openWriter(PLAIN, join(disk.path, 'stream'));
    const lines = [line(10 * KIB, 'a'), line(200 * KIB, 'b'), line(20 * KIB, 'c'), line(150 * KIB, 'd'), line(5, 'e')];
    const outcomes = await Promise.allSettled(lines.map((bytes) => writer.append([bytes])));
    expect(outcomes).toMatchObject([
      { value: { offset: 0 } },
      { reason: NO_ROOM },
      { value: { offset: 10 * KIB } },
      { reason: NO_ROOM },
      { value: { offset: 30 * KIB } },
    ]);
    await writer.flush();
    expect(writer.snapshot()).toMatchObject({ lines: 3, failedLines: 2, pendingBytes: 0 });
    disk.grow(1024 * KIB);
    expect(await writer.append([lines[1] as Buffer])).toEqual({ chunk: 0, offset: 30 * KIB + 5, bytes: 200 * KIB });
    await writer.close();
    const whole = [lines[0], lines[2], lines[4], lines[1]].map((bytes) => `${bytes}\n`).join('');
    expect(contents(directory)).toEqual({ '00000.jsonl': whole });
  });

  test('lets the parts of an open line go, and says so before it ends', async () => {
    const disk = smallDisk(64 * KIB);
    const { writer, directory } = await openWriter(PLAIN, join(disk.path, 'stream'));
    await writer.append([line(10)]);
    let released = 0;
    const release = (): void => {
      released += 1;
    };
    const part = () => ({ bytes: line(16 * KIB), release });
    const open = writer.openLine();
    let written = 0;
    while (open.failure === null) {
      open.write(part());
      written += 1;
      await until(() => released === written);
    }
    expect(written).toBeGreaterThan(2);
    open.write(part());
    expect(released).toBe(written + 1);
    await expect(open.commit()).rejects.toBe(open.failure);
    expect(await writer.append([line(5)])).toEqual({ chunk: 0, offset: 10, bytes: 5 });
    await writer.close();
    expect(contents(directory)['00000.jsonl']).toHaveLength(15);
  });

  test('a line that outgrows its chunk and cannot be moved is gone from both', async () => {
    const disk = smallDisk(128 * KIB);
    const { writer, directory } = await openWriter({ ...PLAIN, chunkBytes: 100 * KIB }, join(disk.path, 'stream'));
    await writer.append([line(30 * KIB)]);
    let isReleased = false;
    const open = writer.openLine();
    const release = (): void => {
      isReleased = true;
    };
    open.write({ bytes: line(60 * KIB), release });
    await until(() => isReleased);
    open.write(line(50 * KIB));
    await expect(open.commit()).rejects.toMatchObject({
      code: 'PRL_ERR_LIMIT',
      message: expect.stringMatching(/cannot start the chunk behind .*00000\.jsonl: no room/),
    });
    expect(names(directory)).toEqual(['00000.jsonl']);
    expect(await writer.append([line(5)])).toEqual({ chunk: 0, offset: 30 * KIB, bytes: 5 });
    await writer.close();
    expect(contents(directory)['00000.jsonl']).toHaveLength(30 * KIB + 5);
  });

  test('B06: a chunk that cannot be sealed stays plain, and the end says so; the next writer seals it', async () => {
    const disk = smallDisk(192 * KIB);
    const { writer, directory, notices } = await openWriter({}, join(disk.path, 'stream'));
    const place = await writer.append([noise(130 * KIB)]);
    const refusal = {
      code: 'PRL_ERR_LIMIT',
      message: expect.stringMatching(/cannot seal .*00000\.jsonl: no room.*it stays plain/),
    };
    await expect(writer.close()).rejects.toMatchObject(refusal);
    expect(notices).toMatchObject([{ kind: 'seal', message: refusal.message }]);
    expect(names(directory)).toEqual(['00000.jsonl']);
    expect(existsSync(`${directory}.lock`)).toBe(false);
    disk.grow(1024 * KIB);
    const next = await openWriter({}, directory);
    await next.writer.close();
    expect(names(directory)).toEqual(['00000.jsonl.zst']);
    expect((await readPlace(directory, place)).subarray(0, -1)).toEqual(noise(130 * KIB));
  });

  test('nothing is written behind a torn line that cannot be ended', async () => {
    const disk = smallDisk(16 * KIB);
    const directory = writeTree(join(disk.path, 'stream'), { '00000.jsonl': 'a\n{"to' });
    expect(() => writeFileSync(join(disk.path, 'filler'), line(16 * KIB))).toThrow('ENOSPC');
    // The page of the chunk has room for an LF, the lock has none.
    const { writer, notices } = await openWriter(PLAIN, directory);
    expect(notices.map(({ kind }) => kind)).toEqual(['lock', 'torn']);
    await writer.close();
    expect(contents(directory)).toEqual({ '00000.jsonl': 'a\n{"to\n' });
  });

  test('whatever fits and whatever does not: the stream is the lines that were taken', {
    timeout: 60_000,
  }, async () => {
    const lines = fc.array(fc.array(fc.integer({ min: 1, max: 40_000 }), { minLength: 1, maxLength: 4 }), {
      maxLength: 12,
    });
    const chunkBytes = fc.constantFrom(20_000, 60_000, 10_000_000);
    let taken = 0;
    let refused = 0;
    await fc.assert(
      fc.asyncProperty(lines, chunkBytes, fc.integer({ min: 5, max: 60 }), async (all, most, pages) => {
        const disk = smallDisk(pages * 4 * KIB);
        const directory = join(disk.path, 'stream');
        const { writer } = await openWriter({ ...PLAIN, chunkBytes: most }, directory);
        const expected: Record<number, string> = {};
        const places = all.map(async (parts, index) => {
          const text = parts.map((bytes) => String.fromCharCode(97 + index).repeat(bytes));
          const place = await writer.append(text.map((part) => Buffer.from(part))).catch(() => null);
          return place === null ? null : { ...place, text: `${text.join('')}\n` };
        });
        for (const place of await Promise.all(places)) {
          if (place === null) {
            refused += 1;
            continue;
          }
          taken += 1;
          const before = expected[place.chunk] ?? '';
          expect(place).toMatchObject({ offset: before.length, bytes: place.text.length });
          expected[place.chunk] = before + place.text;
        }
        await writer.close();
        expect(Object.values(contents(directory))).toEqual(Object.values(expected));
      }),
      { seed: SEED, numRuns: 25 },
    );
    expect(taken).toBeGreaterThan(20);
    expect(refused).toBeGreaterThan(20);
  });
});

test('EFBIG: a file that may not grow any further takes the lines that fit', () => {
  const directory = join(tempFolder(), 'stream');
  const child = ['--import', resolve('test/helpers/typescript-hooks.mjs'), resolve('test/helpers/append-child.ts')];
  const lengths = [50, 80, 40, 11].map((kib) => String(kib * KIB));
  const command = [process.execPath, ...child, directory, ...lengths];
  const { stdout, stderr } = spawnSync('bash', ['-c', 'ulimit -f 100; exec "$@"', 'bash', ...command], {
    encoding: 'utf8',
  });
  expect(stderr).toBe('');
  const refused = (byte: number) => ({
    code: 'PRL_ERR_LIMIT',
    message: expect.stringContaining(`at byte ${byte}: the file may not grow any further (EFBIG)`),
  });
  expect(JSON.parse(stdout)).toEqual([
    { chunk: 0, offset: 0, bytes: 50 * KIB },
    refused(100 * KIB),
    { chunk: 0, offset: 50 * KIB, bytes: 40 * KIB },
    refused(100 * KIB),
  ]);
  expect(readFileSync(join(directory, '00000.jsonl'), 'latin1')).toMatch(/^a{51199}\nc{40959}\n$/);
});

test('a device that takes nothing and cannot be cut: the error says both, and the next line tries again', async () => {
  const directory = join(tempFolder(), 'stream');
  mkdirSync(directory);
  symlinkSync('/dev/full', join(directory, '00000.jsonl'));
  const { writer, notices } = await openWriter(PLAIN, directory);
  for (let attempt = 0; attempt < 2; attempt += 1) {
    await expect(writer.append([line(5)])).rejects.toMatchObject({
      code: 'PRL_ERR_LIMIT',
      message: expect.stringMatching(/ENOSPC.*could not be cut off, which is tried again before the next line/),
    });
  }
  expect(notices.map(({ kind }) => kind)).toEqual(['torn', 'torn']);
  await writer.leave();
});
