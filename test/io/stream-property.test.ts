/** Any lines, cut into any parts, at any pace: the stream is their concatenation, rolled as spec 03 section 2 says. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { chunkName } from '../../src/core/stream/chunk-names.js';
import { sealChunk } from '../../src/io/seal-chunk.js';
import type { RecordPlace } from '../../src/io/stream-types.js';
import { openWriter, readPlace } from '../helpers/stream-folder.js';

const SEED = 20_267;

const PAUSES = ['none', 'turn', 'microtask', 'microtasks', 'line before'] as const;
type Pause = (typeof PAUSES)[number];

/** What a producer does with one line. */
type Turn = {
  readonly parts: readonly Uint8Array[];
  /** What it waits for before each part, and at the end. */
  readonly pauses: readonly Pause[];
  readonly isAborted: boolean;
  readonly isFlushed: boolean;
};

const PART = fc.uint8Array({ maxLength: 40 }).map((bytes) => bytes.map((byte) => (byte === 0x0a ? 0x20 : byte)));
const TURN = fc.record<Turn>({
  parts: fc.array(PART, { minLength: 1, maxLength: 6 }).filter((parts) => parts.some(({ length }) => length > 0)),
  pauses: fc.array(fc.constantFrom(...PAUSES), { maxLength: 7 }),
  isAborted: fc.constant(false),
  isFlushed: fc.integer({ min: 0, max: 4 }).map((value) => value === 0),
});

const CHUNK_BYTES = fc.oneof(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 1, max: 400 }));

/** Some are given up. */
const ANY_TURN = fc.oneof({ weight: 4, arbitrary: TURN }, { weight: 1, arbitrary: TURN.map(giveUp) });

function giveUp(turn: Turn): Turn {
  return { ...turn, isAborted: true };
}

/** Where lines lie, by the rule alone. */
function placesOf(lengths: readonly number[], chunkBytes: number): RecordPlace[] {
  let chunk = 0;
  let offset = 0;
  return lengths.map((bytes) => {
    if (offset > 0 && offset + bytes > chunkBytes) {
      chunk += 1;
      offset = 0;
    }
    const place = { chunk, offset, bytes };
    offset += bytes;
    return place;
  });
}

/** Nothing but the lines is in the files. */
function expectStream(directory: string, lines: readonly Buffer[]): void {
  const files = readdirSync(directory).sort();
  const whole = Buffer.concat(files.map((name) => readFileSync(join(directory, name))));
  expect(whole.equals(Buffer.concat(lines))).toBe(true);
}

async function pause(kind: Pause = 'none', before: Promise<unknown> | undefined): Promise<void> {
  if (kind === 'turn') await new Promise(setImmediate);
  if (kind === 'microtask') await null;
  if (kind === 'microtasks') for (let count = 0; count < 5; count += 1) await null;
  if (kind === 'line before') await before;
}

/** Plays the turns and returns the lines that were committed, with the places that they were told. */
async function play(turns: readonly Turn[], chunkBytes: number, directory?: string) {
  const { writer, directory: at } = await openWriter({ compress: false, chunkBytes }, directory);
  const lines: Buffer[] = [];
  const told: Promise<RecordPlace>[] = [];
  let held = 0;
  for (const { parts, pauses, isAborted, isFlushed } of turns) {
    const line = writer.openLine();
    for (const [index, part] of parts.entries()) {
      await pause(pauses[index], told.at(-1));
      held += 1;
      // A pooled buffer is written over by the next part as soon as it is let go.
      const bytes = Uint8Array.from(part);
      const release = (): void => {
        held -= 1;
        bytes.fill(0x23);
      };
      line.write({ bytes, release });
    }
    await pause(pauses[6], told.at(-1));
    if (isAborted) void line.abort();
    else {
      lines.push(Buffer.concat([...parts, Buffer.from('\n')]));
      told.push(line.commit());
    }
    if (isFlushed) await writer.flush();
  }
  const places = await Promise.all(told);
  await writer.leave();
  expect(held).toBe(0);
  return { lines, places, directory: at };
}

test('lines in parts', { timeout: 60_000 }, async () => {
  let rolls = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(TURN, { maxLength: 25, size: 'max' }), CHUNK_BYTES, async (turns, chunkBytes) => {
      const { lines, places, directory } = await play(turns, chunkBytes);
      expect(places).toEqual(
        placesOf(
          lines.map(({ length }) => length),
          chunkBytes,
        ),
      );
      const files = readdirSync(directory).sort();
      const whole = Buffer.concat(files.map((name) => readFileSync(join(directory, name))));
      expect(whole.equals(Buffer.concat(lines))).toBe(true);
      rolls += Math.max(0, files.length - 1);
      for (const [index, place] of places.entries()) {
        const path = join(directory, chunkName(place.chunk));
        if (index % 16 === 0 && existsSync(path)) sealChunk({ path, level: 1, frameBytes: 64 });
        expect((await readPlace(directory, place)).equals(lines[index] as Buffer)).toBe(true);
      }
    }),
    { seed: SEED, numRuns: 120 },
  );
  expect(rolls).toBeGreaterThan(100);
});

test('lines that are given up, and two writers one after the other: one stream all the same', {
  timeout: 60_000,
}, async () => {
  const turns = fc.array(ANY_TURN, { maxLength: 12, size: 'max' });
  await fc.assert(
    fc.asyncProperty(turns, turns, CHUNK_BYTES, async (first, second, chunkBytes) => {
      const one = await play(first, chunkBytes);
      const two = await play(second, chunkBytes, one.directory);
      expectStream(one.directory, [...one.lines, ...two.lines]);
      let end = { chunk: 0, offset: 0 };
      for (const { chunk, offset, bytes } of [...one.places, ...two.places]) {
        // A line that was given up may have turned to a new chunk, so a chunk can be left before it is full.
        if (chunk === end.chunk) expect(offset).toBe(end.offset);
        else expect([chunk > end.chunk, offset]).toEqual([true, 0]);
        if (offset > 0) expect(offset + bytes).toBeLessThanOrEqual(chunkBytes);
        end = { chunk, offset: offset + bytes };
      }
    }),
    { seed: SEED, numRuns: 30 },
  );
});
