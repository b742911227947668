/**
 * Finds the frames of a zstd file that has no usable seek table, one header at a time and without decompressing
 * (spec 03 section 5.2). Costs one small read a block, which is at most 128 KiB of content.
 */
import type { FileHandle } from 'node:fs/promises';
import {
  BLOCK_HEADER_BYTES,
  CHECKSUM_BYTES,
  MAX_FRAME_HEADER_BYTES,
  parseBlockHeader,
  parseFrameHeader,
} from '../core/stream/zstd-frames.js';

export type WalkedFrame =
  | {
      readonly kind: 'frame';
      readonly compressedOffset: number;
      readonly compressedBytes: number;
      /** Uncompressed bytes, null when the writer streamed the frame. */
      readonly bytes: number | null;
    }
  /** The walk ends here: the file is cut or damaged, and nothing tells where a next frame would begin. */
  | { readonly kind: 'broken'; readonly compressedOffset: number; readonly reason: string };

/** Walks a file of `fileBytes` from its first byte; skippable frames, a seek table among them, are passed over. */
export async function* walkFrames(handle: FileHandle, fileBytes: number): AsyncGenerator<WalkedFrame, void> {
  let at = 0;
  while (at < fileBytes) {
    const header = parseFrameHeader(await readAt(handle, at, Math.min(MAX_FRAME_HEADER_BYTES, fileBytes - at)));
    if (header.kind === 'skippable' && at + header.frameBytes <= fileBytes) {
      at += header.frameBytes;
      continue;
    }
    if (header.kind === 'invalid') {
      yield broken(at, header.reason);
      return;
    }
    if (header.kind !== 'zstd') {
      yield broken(at, 'the file ends inside a frame header');
      return;
    }
    const end = await findFrameEnd(handle, at + header.headerBytes, header.hasChecksum, fileBytes);
    if (typeof end === 'string') {
      yield broken(at, end);
      return;
    }
    yield { kind: 'frame', compressedOffset: at, compressedBytes: end - at, bytes: header.contentBytes };
    at = end;
  }
}

/** Passes over the blocks of one frame; returns where it ends, or why it does not. */
async function findFrameEnd(
  handle: FileHandle,
  firstBlock: number,
  hasChecksum: boolean,
  fileBytes: number,
): Promise<number | string> {
  let at = firstBlock;
  for (;;) {
    if (at + BLOCK_HEADER_BYTES > fileBytes) return 'the file ends inside a frame';
    const block = parseBlockHeader(await readAt(handle, at, BLOCK_HEADER_BYTES));
    if (!block.ok) return block.reason;
    at += BLOCK_HEADER_BYTES + block.bodyBytes;
    if (block.isLast) break;
  }
  if (hasChecksum) at += CHECKSUM_BYTES;
  return at > fileBytes ? 'the file ends inside a frame' : at;
}

async function readAt(handle: FileHandle, position: number, length: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length);
  const { bytesRead } = await handle.read(bytes, 0, length, position);
  // A file that shrank under the walk reads as zeros, which are no valid header.
  return bytesRead === length ? bytes : bytes.fill(0, bytesRead);
}

function broken(compressedOffset: number, reason: string): WalkedFrame {
  return { kind: 'broken', compressedOffset, reason };
}
