/**
 * Digests of a chunk, block by block, taken from the bytes that a walker pulls anyway. A block is 4 MiB of the
 * uncompressed chunk, the size of upstream's frames; the last one is shorter. Kept with the state of an index, they tell
 * a later `--check` which block is no longer what was indexed (I6).
 */
import type { ByteDigest } from '../scan/walker.js';
import type { Segment } from './segments.js';

export const BLOCK_BYTES = 4_194_304;

/** Takes the digests of the blocks that lie in one segment whole. */
export class BlockDigester {
  readonly #digest: ByteDigest;
  readonly #end: number;
  readonly #chunkBytes: number;
  /** The next byte that the block at hand needs. */
  #next: number;
  #found: number[] = [];

  /** `chunkBytes`: where the chunk ends, and with it its last block. */
  constructor(digest: ByteDigest, segment: Segment, chunkBytes: number) {
    this.#digest = digest;
    this.#end = segment.end;
    this.#chunkBytes = chunkBytes;
    this.#next = blockFrom(segment.start);
    digest.start();
  }

  /** Bytes that were just pulled into the walker's window, and their offset in the chunk. */
  add(bytes: Uint8Array, offset: number): void {
    if (offset > this.#next) this.#begin(blockFrom(offset));
    const end = Math.min(offset + bytes.length, this.#end);
    while (this.#next < end) {
      const from = this.#next;
      const blockEnd = Math.min(blockFrom(from + 1), this.#chunkBytes);
      const to = Math.min(blockEnd, end);
      this.#digest.add(bytes.subarray(from - offset, to - offset));
      this.#next = to;
      if (to !== blockEnd) continue;
      this.#found.push(Math.floor(from / BLOCK_BYTES), this.#digest.finish());
      this.#digest.start();
    }
  }

  /** The blocks since the last call: number and digest, one behind the other. */
  take(): Uint32Array {
    const found = Uint32Array.from(this.#found);
    this.#found = [];
    return found;
  }

  #begin(offset: number): void {
    this.#next = offset;
    this.#digest.start();
  }
}

/** Where the first block at or behind an offset begins. */
function blockFrom(offset: number): number {
  return Math.ceil(offset / BLOCK_BYTES) * BLOCK_BYTES;
}

/** The digests of one chunk by block; a block without one is null. */
export class ChunkDigests {
  #digests = new Uint32Array(64);
  #blocks = 0;

  /** From what `text` gave. */
  static of(text: string): ChunkDigests {
    const bytes = Buffer.from(text, 'base64');
    const chunk = new ChunkDigests();
    for (let at = 0; at + 4 <= bytes.length; at += 4) chunk.set(at / 4, bytes.readUInt32LE(at));
    return chunk;
  }

  /** Takes in pairs of block and digest. */
  add(pairs: Uint32Array): void {
    for (let at = 0; at < pairs.length; at += 2) this.set(pairs[at] as number, pairs[at + 1] as number);
  }

  set(block: number, digest: number): void {
    if (block >= this.#digests.length) {
      const grown = new Uint32Array(Math.max(block + 1, this.#digests.length * 2));
      grown.set(this.#digests);
      this.#digests = grown;
    }
    this.#digests[block] = digest;
    this.#blocks = Math.max(this.#blocks, block + 1);
  }

  get(block: number): number | null {
    return this.#digests[block] || null;
  }

  /**
   * Offsets of the blocks whose digest is another than in `known`, which covers the first `knownBytes` of the chunk. Of
   * the chunk's last block, when it is short, only if the chunk still ends there (`bytes`).
   */
  changedSince(known: ChunkDigests, knownBytes: number, bytes: number): number[] {
    const blocks = bytes === knownBytes ? known.#blocks : Math.floor(Math.min(knownBytes, bytes) / BLOCK_BYTES);
    const changed: number[] = [];
    for (let block = 0; block < Math.min(blocks, known.#blocks); block += 1) {
      const [before, now] = [known.get(block), this.get(block)];
      if (before !== null && now !== null && before !== now) changed.push(block * BLOCK_BYTES);
    }
    return changed;
  }

  /** Those of the blocks in the first `bytes` of the chunk, for `of`. */
  text(bytes: number): string {
    const blocks = Math.min(this.#blocks, Math.ceil(bytes / BLOCK_BYTES));
    const text = Buffer.alloc(blocks * 4);
    for (let block = 0; block < blocks; block += 1) text.writeUInt32LE(this.#digests[block] as number, block * 4);
    return text.toString('base64');
  }
}
