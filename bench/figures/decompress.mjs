// Decompression alone: what no index of sealed chunks can beat with Node's own zstd. A plain loop over the frames of
// one chunk, on as many threads as are given; frames go in turn to each. Same call and same room as in src/io/sync-source.
//
//   node bench/figures/decompress.mjs FILE THREADS
//
// Prints seconds without the start of the process and the threads, and the bytes that came out.
import { openSync, readSync, statSync } from 'node:fs';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { zstdDecompressSync } from 'node:zlib';
import { parseSeekFooter, parseSeekTable, SEEK_FOOTER_BYTES } from '../../dist/core/stream/seek-table.js';

function framesOf(path) {
  const { size } = statSync(path);
  const file = openSync(path, 'r');
  const footer = Buffer.alloc(SEEK_FOOTER_BYTES);
  readSync(file, footer, 0, footer.length, size - footer.length);
  const { tableBytes } = parseSeekFooter(footer, size);
  const table = Buffer.alloc(tableBytes);
  readSync(file, table, 0, tableBytes, size - tableBytes);
  return { file, frames: parseSeekTable(table, size).frames };
}

function decompress(path, first, step) {
  const { file, frames } = framesOf(path);
  let compressed = Buffer.alloc(0);
  let total = 0;
  for (let index = first; index < frames.count; index += step) {
    const { bytes, compressedBytes, compressedOffset } = frames.at(index);
    if (compressed.length < compressedBytes) compressed = Buffer.alloc(compressedBytes * 2);
    readSync(file, compressed, 0, compressedBytes, compressedOffset);
    const content = zstdDecompressSync(compressed.subarray(0, compressedBytes), { chunkSize: bytes + 64 });
    if (content.length !== bytes) throw new Error(`frame ${index} holds ${content.length} bytes, not ${bytes}`);
    total += bytes;
  }
  return total;
}

function report(start, bytes) {
  console.log(JSON.stringify({ seconds: Number(process.hrtime.bigint() - start) / 1e9, bytes }));
}

if (!isMainThread) {
  parentPort.once('message', () => parentPort.postMessage(decompress(...workerData)));
  parentPort.postMessage('ready');
} else {
  const [path, threads] = [process.argv[2], Number(process.argv[3])];
  if (threads === 1) {
    const start = process.hrtime.bigint();
    report(start, decompress(path, 0, 1));
  } else {
    const workers = Array.from(
      { length: threads },
      (_, first) => new Worker(new URL(import.meta.url), { workerData: [path, first, threads] }),
    );
    const messages = () =>
      Promise.all(workers.map((worker) => new Promise((resolve) => worker.once('message', resolve))));
    await messages();
    const start = process.hrtime.bigint();
    const done = messages();
    for (const worker of workers) worker.postMessage('go');
    report(
      start,
      (await done).reduce((sum, bytes) => sum + bytes, 0),
    );
  }
}
