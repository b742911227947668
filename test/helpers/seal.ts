/** Builds sealed chunks byte by byte, good ones and ones that break a rule of spec 03 section 5. */
import { constants, zstdCompressSync } from 'node:zlib';

export type SealOptions = {
  /** Uncompressed bytes a frame; default 4 MiB. */
  readonly frameBytes?: number;
  /** 0x80 adds checksums to the entries. */
  readonly descriptor?: number;
  /** `false`: frames and nothing else. */
  readonly hasTable?: boolean;
  /** Frames as a streaming writer makes them: without their content size. */
  readonly isStreamed?: boolean;
};

/** The frames of a chunk, each compressed alone. */
export function compressFrames(content: Buffer, { frameBytes = 4_194_304, isStreamed = false }: SealOptions): Buffer[] {
  const frames: Buffer[] = [];
  for (let at = 0; at < content.length; at += frameBytes) {
    const slice = content.subarray(at, at + frameBytes);
    const params = {
      [constants.ZSTD_c_compressionLevel]: 3,
      [constants.ZSTD_c_contentSizeFlag]: isStreamed ? 0 : 1,
      [constants.ZSTD_c_checksumFlag]: 1,
    };
    frames.push(zstdCompressSync(slice, { params }));
  }
  return frames;
}

/** A chunk as the sealer writes it. */
export function seal(content: Buffer, options: SealOptions = {}): Buffer {
  const { frameBytes = 4_194_304, descriptor = 0, hasTable = true } = options;
  const frames = compressFrames(content, options);
  if (!hasTable) return Buffer.concat(frames);
  const sizes = frames.map((frame, index) => {
    const bytes = Math.min(frameBytes, content.length - index * frameBytes);
    return { compressedBytes: frame.length, bytes };
  });
  return Buffer.concat([...frames, seekTable(sizes, descriptor)]);
}

/** A seek table of the given entries. */
export function seekTable(
  sizes: readonly { readonly compressedBytes: number; readonly bytes: number }[],
  descriptor = 0,
): Buffer {
  const hasChecksums = (descriptor & 0x80) !== 0;
  const entryBytes = hasChecksums ? 12 : 8;
  const table = Buffer.alloc(17 + sizes.length * entryBytes);
  table.writeUInt32LE(0x184d2a5e, 0);
  table.writeUInt32LE(table.length - 8, 4);
  sizes.forEach(({ compressedBytes, bytes }, index) => {
    const at = 8 + index * entryBytes;
    table.writeUInt32LE(compressedBytes, at);
    table.writeUInt32LE(bytes, at + 4);
    if (hasChecksums) table.writeUInt32LE(index + 1, at + 8);
  });
  table.writeUInt32LE(sizes.length, table.length - 9);
  table.writeUInt8(descriptor, table.length - 5);
  table.writeUInt32LE(0x8f92eab1, table.length - 4);
  return table;
}
