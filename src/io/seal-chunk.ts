/**
 * Seals a chunk: plain to seekable zstd, with nothing taken away before its replacement is on the disk and was read
 * back (R-CHK-7, crash table of spec 03 section 4). Synchronous, for a thread of its own. Memory is a few frames.
 */
import { closeSync, fstatSync, fsyncSync, openSync, readSync, renameSync, unlinkSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { PrlError } from '../core/errors.js';
import type { FrameMap } from '../core/stream/frame-map.js';
import { encodeSeekTable } from '../core/stream/seek-table.js';
import { describeFrameError } from './chunk-decode.js';
import { freeMemory } from './free-memory.js';
import { systemErrorCode } from './run-fault.js';
import { readFrames } from './scan-chunk.js';

export type SealJob = {
  /** The plain chunk, which nobody appends to any more. */
  readonly path: string;
  /** Of zstd. */
  readonly level: number;
  /** Uncompressed bytes of a frame, at most 1 GiB. */
  readonly frameBytes: number;
};

/** `sealedBytes`: of the file that is there now; 0 for an empty chunk, of which nothing is left. */
export type Sealed = { readonly bytes: number; readonly sealedBytes: number };

/** Room for what does not get smaller: zstd adds less than one byte in 128 and a header. */
function roomFor(bytes: number): number {
  return bytes + (bytes >>> 7) + 1024;
}

/**
 * @throws the system's error, or PrlError `PRL_ERR_INTEGRITY` when what was written is not what the chunk holds. The
 *   plain chunk is then still there, and no leftover
 */
export function sealChunk(job: SealJob): Sealed {
  const { path } = job;
  const plain = openSync(path, 'r');
  try {
    const { size: bytes } = fstatSync(plain);
    const sealedPath = `${path}.zst`;
    if (bytes > 0) refuseShorter(sealedPath, bytes);
    const sealedBytes = bytes === 0 ? 0 : writeSealed(job, plain, bytes);
    unlinkSync(path);
    syncDirectory(dirname(path));
    return { bytes, sealedBytes };
  } finally {
    closeSync(plain);
  }
}

/** Makes the sealed file, under its name and on the disk. */
function writeSealed({ path, level, frameBytes }: SealJob, plain: number, bytes: number): number {
  const draft = `${path}.zst.tmp`;
  try {
    const file = openSync(draft, 'w+');
    let sealedBytes: number;
    try {
      sealedBytes = compress({ level, frameBytes }, { plain, bytes, sealed: file });
      fsyncSync(file);
      verify(path, { plain, bytes, sealed: file });
    } finally {
      closeSync(file);
    }
    renameSync(draft, `${path}.zst`);
    syncDirectory(dirname(path));
    return sealedBytes;
  } catch (error) {
    removeIfThere(draft);
    throw error;
  }
}

/** Open files: the chunk, of so many bytes, and what becomes of it. */
type SealFiles = { readonly plain: number; readonly bytes: number; readonly sealed: number };

function compress(
  { level, frameBytes }: Pick<SealJob, 'level' | 'frameBytes'>,
  { plain, bytes, sealed }: SealFiles,
): number {
  const params = { [constants.ZSTD_c_compressionLevel]: level, [constants.ZSTD_c_checksumFlag]: 1 };
  const content = Buffer.allocUnsafeSlow(Math.min(frameBytes, bytes));
  const frames: { compressedBytes: number; bytes: number }[] = [];
  let sealedBytes = 0;
  for (let at = 0; at < bytes; at += content.length) {
    const part = content.subarray(0, Math.min(content.length, bytes - at));
    readAll(plain, part, at);
    // One output buffer that holds all of it; Node would put it together from many small ones.
    const frame = zstdCompressSync(part, { params, chunkSize: roomFor(part.length) });
    writeAll(sealed, frame, sealedBytes);
    sealedBytes += frame.length;
    frames.push({ compressedBytes: frame.length, bytes: part.length });
    freeMemory(frame);
  }
  const table = encodeSeekTable(frames);
  writeAll(sealed, table, sealedBytes);
  return sealedBytes + table.length;
}

/** Reads the sealed file as everybody will, and compares each frame with the chunk. */
function verify(path: string, { plain, bytes, sealed }: SealFiles): void {
  const frames = readFrames(sealed, fstatSync(sealed).size);
  if (frames === null) throw notTheSame(path, 'its seek table cannot be read');
  if (frames.uncompressedBytes !== bytes) {
    throw notTheSame(path, `it holds ${frames.uncompressedBytes} bytes where the chunk has ${bytes}`);
  }
  const { size: bytesNow } = fstatSync(plain);
  if (bytesNow !== bytes) throw notTheSame(path, `the chunk grew from ${bytes} to ${bytesNow} bytes meanwhile`);
  for (let index = 0; index < frames.count; index += 1) compareFrame(path, { plain, sealed, frames, index });
}

function compareFrame(
  path: string,
  {
    plain,
    sealed,
    frames,
    index,
  }: { readonly plain: number; readonly sealed: number; readonly frames: FrameMap; readonly index: number },
): void {
  const frame = frames.at(index);
  const compressed = Buffer.allocUnsafeSlow(frame.compressedBytes);
  const expected = Buffer.allocUnsafeSlow(frame.bytes);
  readAll(sealed, compressed, frame.compressedOffset);
  readAll(plain, expected, frame.offset);
  let content: Buffer;
  try {
    content = zstdDecompressSync(compressed, { chunkSize: frame.bytes + 64, maxOutputLength: frame.bytes + 64 });
  } catch (error) {
    throw notTheSame(path, `frame ${index} cannot be read: ${describeFrameError(error)}`);
  }
  if (!content.equals(expected)) throw notTheSame(path, `frame ${index} is not what lies at byte ${frame.offset}`);
  freeMemory(compressed, expected, content);
}

/**
 * A sealed file that is there already was written of this chunk, by whoever was killed before the plain one was gone.
 * One that holds more is what a power loss may leave; it must not be replaced by less.
 */
function refuseShorter(sealedPath: string, bytes: number): void {
  let file: number;
  try {
    file = openSync(sealedPath, 'r');
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return;
    throw error;
  }
  try {
    const frames = readFrames(file, fstatSync(file).size);
    if (frames === null || frames.uncompressedBytes <= bytes) return;
    throw new PrlError(
      'PRL_ERR_INTEGRITY',
      `${sealedPath} holds ${frames.uncompressedBytes} bytes, and the plain chunk beside it only ${bytes}; both are left as they are`,
      { hint: 'keep the one that is right and move the other away' },
    );
  } finally {
    closeSync(file);
  }
}

function notTheSame(path: string, reason: string): PrlError {
  return new PrlError('PRL_ERR_INTEGRITY', `${path} was sealed and read back wrong: ${reason}; it stays plain`);
}

function readAll(file: number, target: Buffer, position: number): void {
  for (let at = 0; at < target.length; ) {
    const read = readSync(file, target, at, target.length - at, position + at);
    if (read === 0) throw new Error(`the file ends at byte ${position + at}, before what was written to it`);
    at += read;
  }
}

function writeAll(file: number, bytes: Buffer, position: number): void {
  for (let at = 0; at < bytes.length; ) {
    at += writeSync(file, bytes, at, bytes.length - at, position + at);
  }
}

function syncDirectory(path: string): void {
  const directory = openSync(path, 'r');
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}

function removeIfThere(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // Never made, or renamed already; a leftover is no data, and the next seal writes over it.
  }
}
