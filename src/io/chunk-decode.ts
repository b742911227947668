/**
 * Decompresses one zstd frame, cut out by its exact length: Node's decoder stops silently after the first frame of
 * its input, and ignores what follows (spec 03 section 5.2).
 */
import type { FileHandle } from 'node:fs/promises';
import { promisify } from 'node:util';
import { createZstdDecompress, zstdDecompress } from 'node:zlib';
import { messageOf } from '../core/errors.js';
import { READ_BYTES } from './chunk-source.js';
import { systemErrorCode } from './run-fault.js';

const decompress = promisify(zstdDecompress);

/** Frames up to this size are decompressed in one call in the thread pool; larger ones in pieces. */
export const MAX_WHOLE_FRAME_BYTES = 67_108_864;

/** Where a frame lies in its file. */
export type FrameRange = { readonly compressedOffset: number; readonly compressedBytes: number };

/**
 * The content of a frame whose size is known, up to MAX_WHOLE_FRAME_BYTES.
 * @throws Error with the reason when the frame is damaged or holds another number of bytes
 */
export async function decodeFrame(handle: FileHandle, frame: FrameRange, expectedBytes: number): Promise<Buffer> {
  const compressed = Buffer.allocUnsafe(frame.compressedBytes);
  const { bytesRead } = await handle.read(compressed, 0, compressed.length, frame.compressedOffset);
  if (bytesRead < compressed.length) throw new Error('the file ends inside the frame');
  // A little more room than the frame needs lets one output buffer hold it (design/scanning.md section 4).
  const content = await decompress(compressed, { chunkSize: expectedBytes + 64, maxOutputLength: expectedBytes + 64 });
  if (content.length !== expectedBytes) throw new Error(sizeMismatch(content.length, expectedBytes));
  return content;
}

/**
 * The content of a frame of any size, in pieces; `expectedBytes` null when unknown.
 * @throws Error with the reason, after the pieces that came before the damage
 */
export async function* streamFrame(
  handle: FileHandle,
  frame: FrameRange,
  expectedBytes: number | null,
): AsyncGenerator<Buffer, void> {
  const decoder = createZstdDecompress({ chunkSize: READ_BYTES });
  const feeding = feed(handle, frame, decoder).catch((error: unknown) => {
    decoder.destroy(error instanceof Error ? error : new Error(String(error)));
  });
  let bytes = 0;
  try {
    for await (const piece of decoder as AsyncIterable<Buffer>) {
      bytes += piece.length;
      yield piece;
    }
    if (expectedBytes !== null && bytes !== expectedBytes) throw new Error(sizeMismatch(bytes, expectedBytes));
  } finally {
    decoder.destroy();
    await feeding;
  }
}

async function feed(
  handle: FileHandle,
  { compressedOffset, compressedBytes }: FrameRange,
  decoder: ReturnType<typeof createZstdDecompress>,
): Promise<void> {
  const end = compressedOffset + compressedBytes;
  for (let at = compressedOffset; at < end && !decoder.destroyed; ) {
    const part = Buffer.allocUnsafe(Math.min(READ_BYTES, end - at));
    const { bytesRead } = await handle.read(part, 0, part.length, at);
    if (bytesRead === 0) throw new Error('the file ends inside the frame');
    at += bytesRead;
    const hasRoom = decoder.write(part.subarray(0, bytesRead));
    if (!hasRoom) await writable(decoder);
  }
  if (!decoder.destroyed) decoder.end();
}

/** Resolves when the decoder takes more, or takes nothing ever again. */
function writable(decoder: ReturnType<typeof createZstdDecompress>): Promise<void> {
  return new Promise((resolve) => {
    if (decoder.destroyed || !decoder.writableNeedDrain) {
      resolve();
      return;
    }
    const settle = (): void => {
      decoder.off('drain', settle);
      decoder.off('close', settle);
      resolve();
    };
    decoder.on('drain', settle);
    decoder.on('close', settle);
  });
}

function sizeMismatch(bytes: number, expectedBytes: number): string {
  return `it holds ${bytes} bytes where ${expectedBytes} are announced`;
}

/** Why a frame could not be decompressed, in one clause. */
export function describeFrameError(error: unknown): string {
  const code = systemErrorCode(error);
  if (code === 'Z_BUF_ERROR') return 'the frame is cut short';
  if (code === 'ERR_BUFFER_TOO_LARGE') return 'it holds more bytes than announced';
  return code?.startsWith('ZSTD_') === true ? `${messageOf(error)} (${code})` : messageOf(error);
}
