/** The sliced driver: when it gives the loop back, what it does without buffers, and how it is stopped. */
import { describe, expect, test } from 'vitest';
import { encodeParts, encodeTo, encodeToBuffer } from '../../../src/core/encode/drivers.js';
import { EncodeError } from '../../../src/core/encode/encode-error.js';
import { RecordEncoder } from '../../../src/core/encode/record-encoder.js';
import { Slices } from '../../../src/core/encode/slices.js';
import type { EncodedPart, Pace } from '../../../src/core/encode/types.js';
import { eventLoopPace } from '../../../src/io/pace.js';
import { wasmModule } from '../../../src/io/wasm-modules.js';

const encoder = new RecordEncoder(wasmModule('encoder'), { slots: 2 });
const VALUE = Array.from({ length: 300 }, (_, index) => ({ index, text: `é${'x'.repeat(20_000)}`, ids: [1, 2, 3] }));
const EXPECTED = JSON.stringify(VALUE);

/** A clock that moves on by one with each look, and counts the turns. */
function countedPace(sliceMs: number): Pace & { turns: number; looks: number } {
  return {
    sliceMs,
    turns: 0,
    looks: 0,
    nowMs() {
      this.looks += 1;
      return this.looks;
    },
    async giveBack() {
      this.turns += 1;
    },
  };
}

async function collect(parts: AsyncIterable<EncodedPart>): Promise<string> {
  const bytes: Buffer[] = [];
  for await (const part of parts) {
    bytes.push(Buffer.from(part.bytes));
    part.release();
  }
  return Buffer.concat(bytes).toString();
}

describe('slices', () => {
  test.each([1, 2, 3, 10, 1000])('of %d ms: the same bytes, and a turn for each slice', async (sliceMs) => {
    const pace = countedPace(sliceMs);
    expect(await collect(encodeParts(encoder, VALUE, { slices: new Slices(pace) }))).toBe(EXPECTED);
    expect(pace.turns).toBeGreaterThan(0);
    // Each slice ends with the first look behind its end: no slice is longer than it should be.
    expect(pace.turns).toBeGreaterThanOrEqual(Math.floor(pace.looks / (sliceMs + 3)));
  });

  test('of the real loop: its timers and sockets come in between', async () => {
    let ticks = 0;
    const timer = setInterval(() => {
      ticks += 1;
    }, 1);
    const value = Array.from({ length: 3_000 }, () => 'word "quoted" é '.repeat(1_000));
    await collect(encodeParts(encoder, value, { slices: new Slices(eventLoopPace()) }));
    clearInterval(timer);
    expect(ticks).toBeGreaterThan(2);
  });

  test('a slice is above nothing', () => {
    expect(() => eventLoopPace(0)).toThrow(RangeError);
  });
});

test('without a free buffer encoding waits until a part is released', async () => {
  const held: EncodedPart[] = [];
  const bytes: Buffer[] = [];
  const parts = encodeParts(encoder, VALUE, { slices: new Slices(countedPace(5)) });
  for (;;) {
    const next = parts.next();
    // Two slots hold what is under way; the third part comes when one of them is free.
    const waiting = await Promise.race([next.then(() => false), new Promise((resolve) => setImmediate(resolve, true))]);
    if (waiting === true) for (const part of held.splice(0)) part.release();
    const { value: part, done } = await next;
    if (done === true) break;
    bytes.push(Buffer.from(part.bytes));
    held.push(part);
  }
  for (const part of held) part.release();
  expect(Buffer.concat(bytes).toString()).toBe(EXPECTED);
});

describe('an end before the end', () => {
  test('by a signal: its reason comes out, and the encoder takes the next value', async () => {
    const controller = new AbortController();
    const parts = encodeParts(encoder, VALUE, { slices: new Slices(countedPace(1)), signal: controller.signal });
    const first = await parts.next();
    first.value?.release();
    controller.abort(new Error('enough'));
    await expect(collect(parts)).rejects.toThrow('enough');
    expect(encodeToBuffer(encoder, [1]).toString()).toBe('[1]');
  });

  test('by the consumer: what it had not taken is released', async () => {
    for await (const part of encodeParts(encoder, VALUE, { slices: new Slices(countedPace(1000)) })) {
      part.release();
      break;
    }
    expect(encoder.hasRoom).toBe(true);
    expect(encodeToBuffer(encoder, VALUE).toString()).toBe(EXPECTED);
  });

  test('by something that has no JSON text, after parts of it have gone out', async () => {
    const bad = [...VALUE, 1n << 70n];
    const parts = encodeParts(encoder, bad, { slices: new Slices(countedPace(5)) });
    await expect(collect(parts)).rejects.toThrow(EncodeError);
    expect(encodeToBuffer(encoder, VALUE).toString()).toBe(EXPECTED);
  });
});

test('at a stretch, with the parts of another value held, it says so instead of waiting for ever', () => {
  encoder.begin(VALUE, null);
  const held: EncodedPart[] = [];
  for (let step = encoder.step(() => false); step !== 'done' && held.length < 2; step = encoder.step(() => false)) {
    held.push(...encoder.takeParts());
  }
  encoder.abandon();
  expect(() => encodeTo(encoder, VALUE, { take: () => {} })).toThrow(/still held/);
  for (const part of held) part.release();
  expect(encodeToBuffer(encoder, [2]).toString()).toBe('[2]');
});

test('one value at a time', () => {
  encoder.begin([1], null);
  expect(() => encoder.begin([2], null)).toThrow(/another value/);
  encoder.abandon();
});
