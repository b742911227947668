/**
 * Chunk bytes read synchronously, straight into the memory of a walker: what scanning at memory speed needs. Where a
 * range cannot be read the source ends with a loss, and goes on behind it after `resume`.
 */
import { readSync } from 'node:fs';
import { zstdDecompressSync } from 'node:zlib';
import type { SegmentSource, SourceLoss } from '../core/index/segment-types.js';
import type { FrameMap } from '../core/stream/frame-map.js';
import { describeFrameError } from './chunk-decode.js';
import { freeMemory } from './free-memory.js';
import { describeReadError } from './run-fault.js';

/** After this many failed reads in a row the rest of the file is given up. */
const MAX_FAILED_READS = 16;

/** A plain chunk, as far as it went when the run was opened. */
export class PlainSource implements SegmentSource {
  readonly #file: number;
  readonly #bytes: number;
  #failedReads = 0;
  offset = 0;
  loss: SourceLoss | null = null;

  /** `file`: an open descriptor, which stays the caller's. */
  constructor(file: number, bytes: number) {
    this.#file = file;
    this.#bytes = bytes;
  }

  seek(offset: number): void {
    this.offset = offset;
    this.loss = null;
  }

  read(target: Uint8Array): number {
    const wanted = Math.min(target.length, this.#bytes - this.offset);
    if (wanted <= 0 || this.loss !== null) return 0;
    try {
      const read = readSync(this.#file, target, 0, wanted, this.offset);
      if (read === 0) {
        this.#lose(this.#bytes - this.offset, `the file was cut to ${this.offset} bytes while it was read`);
        return 0;
      }
      this.#failedReads = 0;
      this.offset += read;
      return read;
    } catch (error) {
      this.#failedReads += 1;
      this.#lose(this.#failedReads < MAX_FAILED_READS ? wanted : this.#bytes - this.offset, describeReadError(error));
      return 0;
    }
  }

  #lose(bytes: number, reason: string): void {
    this.loss = { offset: this.offset, bytes, kind: 'unreadable', reason };
  }
}

const NOTHING = Buffer.alloc(0);

/** A sealed chunk whose seek table holds, and whose frames each fit into memory. Memory is one frame. */
export class SealedSource implements SegmentSource {
  readonly #file: number;
  readonly #frames: FrameMap;
  #compressed = NOTHING;
  #content: Uint8Array = NOTHING;
  #contentOffset = 0;
  offset = 0;
  loss: SourceLoss | null = null;

  constructor(file: number, frames: FrameMap) {
    this.#file = file;
    this.#frames = frames;
  }

  seek(offset: number): void {
    this.offset = offset;
    this.loss = null;
  }

  read(target: Uint8Array): number {
    if (this.loss !== null) return 0;
    let at = this.offset - this.#contentOffset;
    if (at < 0 || at >= this.#content.length) {
      if (!this.#decode()) return 0;
      at = this.offset - this.#contentOffset;
    }
    const read = Math.min(target.length, this.#content.length - at);
    target.set(this.#content.subarray(at, at + read));
    this.offset += read;
    return read;
  }

  /**
   * Gives the memory of the old frame back at once. Waiting for the garbage collector costs a quarter of the speed,
   * since each frame is then decompressed into memory that was never touched (0.75 to 0.94 GB/s of a thread's
   * processor time, and half the memory; 30 Nov 2026, 2 cores).
   */
  #free(): void {
    freeMemory(this.#content);
    this.#content = NOTHING;
  }

  /** Makes the frame at the offset the content; false at the end, and with a loss when the frame is damaged. */
  #decode(): boolean {
    const index = this.#frames.find(this.offset);
    if (index === null) return false;
    const { offset, bytes, compressedOffset, compressedBytes } = this.#frames.at(index);
    this.#free();
    try {
      if (this.#compressed.length < compressedBytes) this.#compressed = Buffer.allocUnsafe(compressedBytes);
      const compressed = this.#compressed.subarray(0, compressedBytes);
      const read = readSync(this.#file, compressed, 0, compressedBytes, compressedOffset);
      if (read < compressedBytes) throw new Error('the file ends inside the frame');
      // A little more room than the frame needs lets one output buffer hold it (design/scanning.md section 4).
      this.#content = zstdDecompressSync(compressed, { chunkSize: bytes + 64, maxOutputLength: bytes + 64 });
      if (this.#content.length !== bytes) {
        throw new Error(`it holds ${this.#content.length} bytes where ${bytes} are announced`);
      }
      this.#contentOffset = offset;
      return true;
    } catch (error) {
      this.#content = NOTHING;
      const reason = `frame ${index} at compressed byte ${compressedOffset}: ${describeFrameError(error)}`;
      const rest = offset + bytes - this.offset;
      this.loss = { offset: this.offset, bytes: rest, kind: 'corrupt_frame', reason };
      return false;
    }
  }
}
