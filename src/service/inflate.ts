/** The traces part as uncompressed bytes: gzip undone as it streams, at the reader's pace, so a bomb costs no memory. */
import { createGunzip, type Gunzip } from 'node:zlib';
import { messageOf } from '../core/errors.js';
import { Refusal, rejected } from './refusal.js';

/** Bytes zlib hands over at a time; what a bomb can make us hold. */
const OUTPUT_BYTES = 256 * 1024;

/**
 * Undoes a part's Content-Encoding; one gzip stream of one or more members, and nothing behind it.
 *
 * @throws Refusal 400 `malformed_encoding` for another encoding, broken or cut gzip, or bytes after it.
 */
export function decoded(body: AsyncIterable<Buffer>, encoding: string | undefined): AsyncIterable<Buffer> {
  const name = (encoding ?? 'identity').toLowerCase();
  if (name === 'identity' || name === '') return body;
  if (name === 'gzip' || name === 'x-gzip') return inflated(body);
  throw rejected('malformed_encoding', `Content-Encoding "${encoding}" of the traces part: only gzip is known`);
}

async function* inflated(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
  const gunzip = createGunzip({ chunkSize: OUTPUT_BYTES });
  const count = { inputBytes: 0 };
  const feeding = feed(body, gunzip, count);
  // Its failure reaches the loop below through the destroyed stream; it must not count as unhandled meanwhile.
  feeding.catch(() => {});
  try {
    for await (const bytes of gunzip) yield bytes as Buffer;
  } catch (error) {
    throw error instanceof Refusal ? error : notGzip(error);
  } finally {
    gunzip.destroy();
  }
  await feeding;
  if (gunzip.bytesWritten < count.inputBytes) throw notGzip(new Error('bytes after the end of the stream'));
}

/** Writes the compressed bytes into zlib at the pace it takes them; a fault of the source destroys the stream with it. */
async function feed(body: AsyncIterable<Buffer>, gunzip: Gunzip, count: { inputBytes: number }): Promise<void> {
  try {
    for await (const bytes of body) {
      count.inputBytes += bytes.length;
      if (gunzip.readableEnded) continue;
      if (!gunzip.destroyed && !gunzip.write(bytes)) await drained(gunzip);
      // The reader has left: the rest of the body is not ours to read.
      if (gunzip.destroyed) return;
    }
    gunzip.end();
  } catch (error) {
    gunzip.destroy(error as Error);
    throw error;
  }
}

function drained(gunzip: Gunzip): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      for (const event of ['drain', 'close', 'end'] as const) gunzip.off(event, done);
      resolve();
    };
    for (const event of ['drain', 'close', 'end'] as const) gunzip.on(event, done);
  });
}

function notGzip(error: unknown): Refusal {
  return rejected('malformed_encoding', `the traces part is not one whole gzip stream: ${messageOf(error)}`);
}

/** Reads on to the end and throws everything away. */
export async function drain(body: AsyncIterable<Buffer>): Promise<void> {
  for await (const _ of body);
}
