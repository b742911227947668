/** Streams byte ranges of chunk files into a response: the stored bytes, exactly, at the reader's pace. */
import { createReadStream } from 'node:fs';
import type { ServerResponse } from 'node:http';
import type { ChunkPool } from './chunk-pool.js';
import type { RawRange } from './trace-reads.js';

/** What a raw document is made of, in order. */
export type RawPart = RawRange | Buffer;

/**
 * Answers 200 with the parts. When a chunk cannot be read to the end of its range the connection is cut, because a short
 * body with a proper end would look whole.
 */
export async function sendRaw(
  response: ServerResponse,
  chunks: ChunkPool,
  parts: readonly RawPart[],
  pass: (bytes: number) => Promise<void>,
): Promise<void> {
  const totalBytes = parts.reduce((sum, part) => sum + (Buffer.isBuffer(part) ? part.length : part.bytes), 0);
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': totalBytes });
  for (const part of parts) {
    if (Buffer.isBuffer(part)) response.write(part);
    else if (part.bytes > 0) await sendRange(response, chunks, part, pass);
  }
  response.end();
}

async function sendRange(
  response: ServerResponse,
  chunks: ChunkPool,
  range: RawRange,
  pass: (bytes: number) => Promise<void>,
): Promise<void> {
  const { chunk, offset, bytes } = range;
  const source = createReadStream(chunks.pathOf(chunk), { start: offset, end: offset + bytes - 1 });
  let sentBytes = 0;
  for await (const piece of source as AsyncIterable<Buffer>) {
    await pass(piece.length);
    sentBytes += piece.length;
    if (response.destroyed) return;
    if (!response.write(piece)) await writable(response);
  }
  if (sentBytes < bytes) throw new Error(`chunk ${chunk} ends ${bytes - sentBytes} bytes before its document does`);
}

function writable(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done);
      response.off('close', done);
      resolve();
    };
    response.on('drain', done);
    response.on('close', done);
  });
}
