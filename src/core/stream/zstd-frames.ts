/**
 * Reads the headers of zstd frames and blocks (RFC 8878), to find where each frame of a file ends without
 * decompressing it. Node's own decoder stops silently after the first frame (spec 03 section 5.2), so every frame is
 * cut out by these lengths and handed to it alone.
 */

const ZSTD_MAGIC = 0xfd2fb528;
const SKIPPABLE_MAGIC_FIRST = 0x184d2a50;
const SKIPPABLE_MAGIC_LAST = 0x184d2a5f;

/** Bytes that always suffice to read a frame header, magic included. */
export const MAX_FRAME_HEADER_BYTES = 18;
export const BLOCK_HEADER_BYTES = 3;
export const CHECKSUM_BYTES = 4;

export type FrameHeader =
  /** `contentBytes`: uncompressed size, null when the writer streamed and did not know it. */
  | {
      readonly kind: 'zstd';
      readonly headerBytes: number;
      readonly contentBytes: number | null;
      readonly hasChecksum: boolean;
    }
  | { readonly kind: 'skippable'; readonly frameBytes: number }
  | { readonly kind: 'short' }
  | { readonly kind: 'invalid'; readonly reason: string };

/** Whether bytes begin like zstd: a frame or a skippable frame (spec 01 section 2, rule 1). */
export function isZstd(bytes: Buffer): boolean {
  if (bytes.length < 4) return false;
  const magic = bytes.readUInt32LE(0);
  return magic === ZSTD_MAGIC || (magic >= SKIPPABLE_MAGIC_FIRST && magic <= SKIPPABLE_MAGIC_LAST);
}

/** Reads the header of the frame that begins `bytes`; `short` when more bytes are needed to tell. */
export function parseFrameHeader(bytes: Buffer): FrameHeader {
  if (bytes.length < 5) return { kind: 'short' };
  const magic = bytes.readUInt32LE(0);
  if (magic >= SKIPPABLE_MAGIC_FIRST && magic <= SKIPPABLE_MAGIC_LAST) {
    return bytes.length < 8 ? { kind: 'short' } : { kind: 'skippable', frameBytes: 8 + bytes.readUInt32LE(4) };
  }
  if (magic !== ZSTD_MAGIC) {
    return { kind: 'invalid', reason: `0x${magic.toString(16).padStart(8, '0')} where a zstd frame begins` };
  }
  const descriptor = bytes.readUInt8(4);
  if ((descriptor & 0x08) !== 0) return { kind: 'invalid', reason: 'the reserved bit of a frame header is set' };
  const isSingleSegment = (descriptor & 0x20) !== 0;
  const dictionaryBytes = [0, 1, 2, 4][descriptor & 0x03] as number;
  const sizeCode = descriptor >> 6;
  const sizeBytes = sizeCode === 0 ? Number(isSingleSegment) : 1 << sizeCode;
  const sizeAt = 5 + Number(!isSingleSegment) + dictionaryBytes;
  if (bytes.length < sizeAt + sizeBytes) return { kind: 'short' };
  const contentBytes = sizeBytes === 0 ? null : readContentBytes(bytes, sizeAt, sizeBytes);
  return { kind: 'zstd', headerBytes: sizeAt + sizeBytes, contentBytes, hasChecksum: (descriptor & 0x04) !== 0 };
}

function readContentBytes(bytes: Buffer, at: number, sizeBytes: number): number {
  if (sizeBytes === 8) return Number(bytes.readBigUInt64LE(at));
  // The two-byte form counts from 256 (RFC 8878 section 3.1.1.1.4).
  return bytes.readUIntLE(at, sizeBytes) + (sizeBytes === 2 ? 256 : 0);
}

export type BlockHeader =
  | { readonly ok: true; readonly isLast: boolean; readonly bodyBytes: number }
  | { readonly ok: false; readonly reason: string };

/** Reads the three bytes before a block's body. */
export function parseBlockHeader(bytes: Buffer): BlockHeader {
  const header = bytes.readUIntLE(0, BLOCK_HEADER_BYTES);
  const type = (header >> 1) & 0x03;
  if (type === 3) return { ok: false, reason: 'a block of the reserved type' };
  return { ok: true, isLast: (header & 1) === 1, bodyBytes: type === 1 ? 1 : header >> 3 };
}
