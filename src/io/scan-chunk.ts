/** Opens chunks for scanning: descriptors that every thread can read from, and the frames of sealed ones. */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import type { FrameMap } from '../core/stream/frame-map.js';
import { parseSeekFooter, parseSeekTable, SEEK_FOOTER_BYTES } from '../core/stream/seek-table.js';
import { isZstd } from '../core/stream/zstd-frames.js';
import { MAX_WHOLE_FRAME_BYTES } from './chunk-decode.js';
import { eitherForm } from './chunk-open.js';
import { describeReadError, systemErrorCode } from './run-fault.js';
import type { ChunkFile } from './run-types.js';
import type { ScanChunk } from './scan-types.js';

const SEALED_SUFFIX = '.zst';

export type OpenedForScan =
  | {
      readonly kind: 'open';
      readonly chunk: ScanChunk;
      /** Uncompressed offsets at which frames begin; null for a plain chunk. */
      readonly borders: readonly number[] | null;
    }
  /** Only the slow readers can read it: no seek table, huge frames, a document, standard input. */
  | { readonly kind: 'slow' }
  | { readonly kind: 'lost'; readonly bytes: number; readonly reason: string };

/**
 * Opens a chunk by what it holds now, plain first, then sealed, then plain again (R-CHK-5). The caller closes the
 * descriptor. Never throws for a file that cannot be read.
 */
export function openForScan(file: ChunkFile, hasChunks: boolean): OpenedForScan {
  if (file.form === 'document' || file.form === 'stdin') return { kind: 'slow' };
  let descriptor: number;
  try {
    descriptor = openEitherForm(file.path);
  } catch (error) {
    return { kind: 'lost', bytes: file.uncompressedBytes ?? 0, reason: describeReadError(error) };
  }
  try {
    const opened = inspect(descriptor, file, hasChunks);
    if (opened.kind !== 'open') closeSync(descriptor);
    return opened;
  } catch (error) {
    closeSync(descriptor);
    return { kind: 'lost', bytes: file.uncompressedBytes ?? 0, reason: describeReadError(error) };
  }
}

function openEitherForm(path: string): number {
  let failure: unknown;
  for (const candidate of eitherForm(path)) {
    try {
      return openSync(candidate, 'r');
    } catch (error) {
      failure ??= error;
      if (systemErrorCode(error) !== 'ENOENT') throw error;
    }
  }
  throw failure;
}

function inspect(descriptor: number, file: ChunkFile, hasChunks: boolean): OpenedForScan {
  const fileBytes = fstatSync(descriptor).size;
  const head = Buffer.alloc(4);
  const headBytes = readSync(descriptor, head, 0, head.length, 0);
  const rowChunk = hasChunks ? file.chunk : null;
  const common = { descriptor, fileBytes, file: file.relativePath, chunk: file.chunk, rowChunk };
  if (!isZstd(head.subarray(0, headBytes))) {
    if (fileBytes === 0 && file.path.endsWith(SEALED_SUFFIX)) return { kind: 'slow' };
    // What was appended since the run was opened belongs to the next pass (I10, U17).
    const bytes = file.form === 'sealed' ? fileBytes : file.sizeBytes;
    return { kind: 'open', chunk: { ...common, form: 'plain', bytes }, borders: null };
  }
  const frames = readFrames(descriptor, fileBytes);
  if (frames === null) return { kind: 'slow' };
  const borders: number[] = [];
  for (let index = 0; index < frames.count; index += 1) {
    const { offset, bytes } = frames.at(index);
    if (bytes > MAX_WHOLE_FRAME_BYTES) return { kind: 'slow' };
    borders.push(offset);
  }
  return { kind: 'open', chunk: { ...common, form: 'sealed', bytes: frames.uncompressedBytes }, borders };
}

/** The frames by the seek table; null without a table that holds. @throws the system's error */
export function readFrames(descriptor: number, fileBytes: number): FrameMap | null {
  const footer = parseSeekFooter(readTail(descriptor, fileBytes, Math.min(SEEK_FOOTER_BYTES, fileBytes)), fileBytes);
  if (!footer.ok) return null;
  const table = parseSeekTable(readTail(descriptor, fileBytes, footer.tableBytes), fileBytes);
  return table.ok ? table.frames : null;
}

function readTail(descriptor: number, fileBytes: number, bytes: number): Buffer {
  const tail = Buffer.alloc(bytes);
  readSync(descriptor, tail, 0, bytes, fileBytes - bytes);
  return tail;
}
