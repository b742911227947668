/** What every form of a chunk offers: its uncompressed bytes in pieces, in order, with the places that are lost. */
import type { DamageKind } from '../core/scan/types.js';

/** Bytes of one disk read: throughput is flat from 512 KiB to 4 MiB and falls below (design/scanning.md section 3). */
export const READ_BYTES = 1_048_576;

export type ChunkPiece =
  /** `bytes` stays valid only until the next piece is asked for: the buffer is used again. */
  | { readonly kind: 'bytes'; readonly offset: number; readonly bytes: Buffer }
  /** A range that cannot be read, in uncompressed bytes; `bytes` is 0 when nothing tells how long it is. */
  | {
      readonly kind: 'lost';
      readonly offset: number;
      readonly bytes: number;
      readonly damage: DamageKind;
      readonly reason: string;
    };

export type ChunkSource = {
  /** Uncompressed bytes, null when only reading tells. */
  readonly uncompressedBytes: number | null;
  /** The bytes from `start` up to `end` (exclusive, Infinity: all there is), each byte once or as part of a loss. */
  pieces(start: number, end: number, signal?: AbortSignal): AsyncGenerator<ChunkPiece, void>;
  close(): Promise<void>;
};
