/**
 * Question: in one run, how do the ways from records to index rows compare? Ratios only: under the test runner imports are
 * getter calls, which slows what is made of many small functions. Speeds that count come from bench/index-figures.mjs.
 *
 * Contenders: JSON.parse of a line and the row builder over the object; the TypeScript walker and the row builder; the
 * WebAssembly walker and the row builder.
 * Fixture: 16 MiB of each shape of test/helpers/shapes.ts, in memory; the lines of the first contender are framed before.
 * Not measured: reading, threads, sealed chunks, --strict.
 *
 * 30 Nov 2026, Node 24.21, 2-core VM with a dozen other processes, mean of 7 in ms for A, B, C, D: JSON.parse 122, 214,
 * 1022, 321; TypeScript 44, 112, 387, 93; WebAssembly 12, 22, 167, 6. So WebAssembly takes a tenth of JSON.parse or
 * less, but a sixth on tiny episodes, where the rows are the work; noise was up to a factor of two.
 *
 * Run: npm run bench -- bench/index.bench.ts
 */
import { expect, test } from 'vitest';
import { indexRecord } from '../src/core/index/index-record.js';
import { RowBuffer } from '../src/core/index/row-buffer.js';
import { RowBuilder } from '../src/core/index/row-builder.js';
import type { TapeSink } from '../src/core/scan/record-tape.js';
import { TextWalker } from '../src/core/scan/text-walker.js';
import { type ByteSource, LINE, type RecordWalker } from '../src/core/scan/walker.js';
import { WasmWalker } from '../src/core/scan/wasm-walker.js';
import { wasmModule } from '../src/io/wasm-modules.js';
import { SHAPES, shapeLines } from '../test/helpers/shapes.js';

const STREAM_BYTES = 16 * 1_048_576;

/** Bytes in memory, from the start each time. */
class MemorySource implements ByteSource {
  readonly #bytes: Buffer;
  at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  read(target: Uint8Array): number {
    const read = Math.min(target.length, this.#bytes.length - this.at);
    target.set(this.#bytes.subarray(this.at, this.at + read));
    this.at += read;
    return read;
  }
}

/** Makes all rows of `bytes` into `target`, from its start. */
function walkOver(bytes: Buffer, target: RowBuffer, walkerOf: (sink: TapeSink) => RecordWalker): () => void {
  const builder = new RowBuilder();
  const walker = walkerOf(builder);
  const source = new MemorySource(bytes);
  return () => {
    source.at = 0;
    target.clear();
    walker.reset(source, 0);
    for (let line = 1; walker.next() !== LINE.END; line += 1) {
      builder.writeRow(target, { line, offset: walker.lineStart, chunk: 0 });
    }
  };
}

test.for(SHAPES)('rows of shape %s', { timeout: 600_000 }, async (shape, { bench }) => {
  const lines = [...shapeLines(shape, STREAM_BYTES)];
  const bytes = Buffer.concat(lines);
  const target = new RowBuffer();
  const text = walkOver(bytes, target, (sink) => new TextWalker({ sink }));
  const wasm = walkOver(bytes, target, (sink) => new WasmWalker(wasmModule('walker'), { sink }));
  text();
  const rows = Buffer.from(target.view()).toString();
  wasm();
  expect(Buffer.from(target.view()).toString()).toBe(rows);
  expect(rows.split('\n')).toHaveLength(lines.length + 1);
  await bench.compare(
    bench('JSON.parse, row from the object', () => {
      lines.forEach((line, index) => {
        indexRecord(JSON.parse(line.toString()), { line: index + 1, offset: 0, chunk: 0 });
      });
    }),
    bench('TypeScript walker, row builder', text),
    bench('WebAssembly walker, row builder', wasm),
    { iterations: 7, warmupIterations: 1, time: 0, warmupTime: 0 },
  );
});
