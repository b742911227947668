/** Streams byte ranges of chunk files into a response: the stored bytes, exactly, at the reader's pace. */
import { createReadStream } from 'node:fs';
import type { ServerResponse } from 'node:http';
import type { ChunkPool } from './chunk-pool.js';
import type { RawRange } from './trace-reads.js';

/** What a raw document is made of, in order. */
export type RawPart = RawRange | Buffer;

export type RawLink = {
  readonly chunks: ChunkPool;
  /** Resolves when the link may carry that many bytes. */
  readonly pass: (bytes: number) => Promise<void>;
  /** A peer that takes nothing for so long is cut off. */
  readonly progressMs: number;
};

/**
 * Answers 200 with the parts. When a chunk cannot be read to the end of its range this throws with half an answer sent:
 * the caller has to cut the connection, because a short body with a proper end would look whole.
 */
export async function sendRaw(response: ServerResponse, parts: readonly RawPart[], link: RawLink): Promise<void> {
  const totalBytes = parts.reduce((sum, part) => sum + (Buffer.isBuffer(part) ? part.length : part.bytes), 0);
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': totalBytes });
  for (const part of parts) {
    if (Buffer.isBuffer(part)) response.write(part);
    else if (part.bytes > 0) await sendRange(response, part, link);
  }
  response.end();
}

async function sendRange(response: ServerResponse, range: RawRange, link: RawLink): Promise<void> {
  const { chunk, offset, bytes } = range;
  const source = createReadStream(link.chunks.pathOf(chunk), { start: offset, end: offset + bytes - 1 });
  let sentBytes = 0;
  for await (const piece of source as AsyncIterable<Buffer>) {
    await link.pass(piece.length);
    sentBytes += piece.length;
    if (!response.destroyed && !response.write(piece)) await writable(response, link.progressMs);
    if (response.destroyed) return;
  }
  if (sentBytes < bytes) throw new Error(`chunk ${chunk} ends ${bytes - sentBytes} bytes before its document does`);
}

function writable(response: ServerResponse, progressMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => response.destroy(), progressMs);
    const done = (): void => {
      clearTimeout(timer);
      response.off('drain', done);
      response.off('close', done);
      resolve();
    };
    response.on('drain', done);
    response.on('close', done);
  });
}
