/**
 * The seek table at the end of a sealed chunk: the "zstd seekable format", a skippable frame with the sizes of all
 * frames before it (spec 03 section 5). Reading checks every rule; a table that breaks one is refused with its reason,
 * and the file is then read as plain multi-frame zstd.
 */
import { FrameMap, type FrameSizes } from './frame-map.js';

/** Bytes at the end of the file that say how long the table is. */
export const SEEK_FOOTER_BYTES = 9;

/** Bytes of a table around its entries: skippable header and footer. */
const TABLE_OVERHEAD_BYTES = 17;
const SKIPPABLE_HEADER_BYTES = 8;
const SKIPPABLE_MAGIC = 0x184d2a5e;
const SEEKABLE_MAGIC = 0x8f92eab1;
const CHECKSUM_FLAG = 0x80;
const RESERVED_BITS = 0x7c;
/** Limits of the reference library. */
const MAX_FRAMES = 0x8000000;
export const MAX_FRAME_BYTES = 1_073_741_824;

export type SeekFooter =
  | { readonly ok: true; readonly tableBytes: number; readonly frames: number; readonly hasChecksums: boolean }
  | { readonly ok: false; readonly reason: string };

export type SeekTable =
  | { readonly ok: true; readonly frames: FrameMap; readonly tableBytes: number }
  | { readonly ok: false; readonly reason: string };

/** Reads the last 9 bytes of a file and says how many bytes at its end hold the table. */
export function parseSeekFooter(footer: Buffer, fileBytes: number): SeekFooter {
  if (footer.length !== SEEK_FOOTER_BYTES) return refuse('the file is shorter than a seek table');
  if (footer.readUInt32LE(5) !== SEEKABLE_MAGIC) return refuse('no seek table at the end of the file');
  const descriptor = footer.readUInt8(4);
  if ((descriptor & RESERVED_BITS) !== 0) return refuse(`reserved bits set in descriptor 0x${descriptor.toString(16)}`);
  const frames = footer.readUInt32LE(0);
  if (frames > MAX_FRAMES) return refuse(`${frames} frames, over the limit of ${MAX_FRAMES}`);
  const hasChecksums = (descriptor & CHECKSUM_FLAG) !== 0;
  const tableBytes = TABLE_OVERHEAD_BYTES + frames * (hasChecksums ? 12 : 8);
  if (tableBytes > fileBytes) return refuse(`a table of ${tableBytes} bytes in a file of ${fileBytes}`);
  return { ok: true, tableBytes, frames, hasChecksums };
}

/** Reads the whole table: `table` is the last `tableBytes` of a file of `fileBytes`. */
export function parseSeekTable(table: Buffer, fileBytes: number): SeekTable {
  const footer = parseSeekFooter(table.subarray(-SEEK_FOOTER_BYTES), fileBytes);
  if (!footer.ok) return footer;
  if (table.length !== footer.tableBytes) return refuse(`${table.length} bytes for a table of ${footer.tableBytes}`);
  const magic = table.readUInt32LE(0);
  if (magic !== SKIPPABLE_MAGIC) return refuse(`magic 0x${magic.toString(16)} at the start of the table`);
  const contentBytes = table.readUInt32LE(4);
  if (contentBytes !== footer.tableBytes - SKIPPABLE_HEADER_BYTES) {
    return refuse(`a frame size of ${contentBytes} for a table of ${footer.tableBytes} bytes`);
  }
  const broken = findBrokenEntry(table, footer.frames, footer.hasChecksums);
  if (broken !== null) return refuse(broken);
  const frames = new FrameMap(footer.frames, (index) => readEntry(table, index, footer.hasChecksums));
  const expectedBytes = fileBytes - footer.tableBytes;
  if (frames.compressedBytes !== expectedBytes) {
    return refuse(`frames of ${frames.compressedBytes} bytes in all, where the file holds ${expectedBytes}`);
  }
  return { ok: true, frames, tableBytes: footer.tableBytes };
}

/**
 * The table behind frames of these sizes, in bytes, without checksums.
 * @throws RangeError for more frames than the reference library takes
 */
export function encodeSeekTable(frames: readonly Omit<FrameSizes, 'checksum'>[]): Buffer {
  if (frames.length > MAX_FRAMES) throw new RangeError(`${frames.length} frames, over the limit of ${MAX_FRAMES}`);
  const table = Buffer.alloc(TABLE_OVERHEAD_BYTES + frames.length * 8);
  let at = table.writeUInt32LE(SKIPPABLE_MAGIC, 0);
  at = table.writeUInt32LE(table.length - SKIPPABLE_HEADER_BYTES, at);
  for (const { compressedBytes, bytes } of frames) {
    at = table.writeUInt32LE(compressedBytes, at);
    at = table.writeUInt32LE(bytes, at);
  }
  at = table.writeUInt32LE(frames.length, at);
  at = table.writeUInt8(0, at);
  table.writeUInt32LE(SEEKABLE_MAGIC, at);
  return table;
}

function readEntry(table: Buffer, index: number, hasChecksums: boolean) {
  const at = SKIPPABLE_HEADER_BYTES + index * (hasChecksums ? 12 : 8);
  return {
    compressedBytes: table.readUInt32LE(at),
    bytes: table.readUInt32LE(at + 4),
    checksum: hasChecksums ? table.readUInt32LE(at + 8) : null,
  };
}

function findBrokenEntry(table: Buffer, frames: number, hasChecksums: boolean): string | null {
  for (let index = 0; index < frames; index += 1) {
    const { compressedBytes, bytes } = readEntry(table, index, hasChecksums);
    if (compressedBytes === 0) return `frame ${index} of 0 compressed bytes`;
    if (bytes > MAX_FRAME_BYTES) return `frame ${index} of ${bytes} bytes, over the limit of ${MAX_FRAME_BYTES}`;
  }
  return null;
}

function refuse(reason: string): { readonly ok: false; readonly reason: string } {
  return { ok: false, reason };
}
