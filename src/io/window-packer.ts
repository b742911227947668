/**
 * Hashes and compresses the bytes of one batch window by window, synchronously, for a thread that does nothing else. The
 * gzip member is put together from raw deflate streams, each with the last 32 KiB before it as its dictionary and flushed
 * to a byte: one member for any reader (RFC 1952), and nothing of a batch has to stay in the thread.
 */
import { createHash } from 'node:crypto';
import { constants, crc32, deflateRawSync } from 'node:zlib';
import { LineHash } from './pack.js';
import type { PackAnswer, PackDigests, PackWindow } from './pack-messages.js';

/** How far back deflate refers. */
const DICTIONARY_BYTES = 32 * 1024;
/** Outputs of zlib that are joined to one; 64 KiB is the fastest of 16 KiB to 1 MiB (Node 24). */
const CHUNK_BYTES = 64 * 1024;
/** The largest hash table: 2 % faster, and no larger a result. */
const MEM_LEVEL = 9;
/** Deflate, no name, no time, fastest, Unix: what `createGzip` writes. */
const GZIP_HEAD = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 3]);

export class WindowPacker {
  readonly #hash = createHash('sha256');
  readonly #lineDigests: string[] = [];
  #line = new LineHash();
  /** The end of the window before; null in front of the first one. */
  #dictionary: Buffer | null = null;
  #crc = 0;
  #bytes = 0;

  /** Takes the bytes of the next window, which may then be used again. Not to be called behind the last one. */
  add(bytes: Buffer, { index, lineEnds, isLast, level }: PackWindow): PackAnswer {
    this.#hash.update(bytes);
    let start = 0;
    for (const end of lineEnds) {
      this.#line.update(bytes.subarray(start, end));
      this.#lineDigests.push(this.#line.digest());
      this.#line = new LineHash();
      start = end;
    }
    this.#line.update(bytes.subarray(start));
    const payload = level === null ? null : this.#compress(bytes, level, isLast);
    return { index, payload, digests: isLast ? this.#digests() : null };
  }

  #digests(): PackDigests {
    return { digest: this.#hash.digest('hex'), lineDigests: this.#lineDigests };
  }

  #compress(bytes: Buffer, level: number, isLast: boolean): Uint8Array<ArrayBuffer> {
    const dictionary = this.#dictionary;
    const options = {
      level,
      memLevel: MEM_LEVEL,
      chunkSize: CHUNK_BYTES,
      ...(dictionary === null ? {} : { dictionary }),
    };
    const finishFlush = isLast ? constants.Z_FINISH : constants.Z_SYNC_FLUSH;
    const deflated = deflateRawSync(bytes, { ...options, finishFlush });
    this.#crc = crc32(bytes, this.#crc);
    this.#bytes += bytes.length;
    // A copy: the window is given back.
    this.#dictionary = Buffer.from(bytes.subarray(-DICTIONARY_BYTES));
    return joined(dictionary === null ? GZIP_HEAD : null, deflated, isLast ? this.#trailer() : null);
  }

  #trailer(): Buffer {
    const trailer = Buffer.alloc(8);
    trailer.writeUInt32LE(this.#crc, 0);
    trailer.writeUInt32LE(this.#bytes % 2 ** 32, 4);
    return trailer;
  }
}

/** In memory of its own, so that it can be transferred: small buffers share theirs with others. */
function joined(...given: readonly (Buffer | null)[]): Uint8Array<ArrayBuffer> {
  const parts = given.filter((part) => part !== null);
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
