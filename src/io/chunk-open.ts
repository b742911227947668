/**
 * Opens the file that holds a chunk now: plain first, then sealed, then plain once more, because sealing renames and
 * unlinks while a run is read (R-CHK-5). What the file holds decides how it is read, never its name.
 */
import { type FileHandle, open } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { isZstd } from '../core/stream/zstd-frames.js';
import { PlainChunk } from './chunk-plain.js';
import { readSeekTable, SealedChunk, WalkedChunk } from './chunk-sealed.js';
import type { ChunkPiece, ChunkSource } from './chunk-source.js';
import { openStdin } from './chunk-stdin.js';
import { systemErrorCode } from './run-fault.js';
import type { ChunkFile, ChunkForm } from './run-types.js';

const SEALED_SUFFIX = '.zst';

/** No descriptor is left in this process, or on this machine. */
const SHORTAGES = new Set(['EMFILE', 'ENFILE']);
/** Three times as long in all as an idle connection is kept. */
const MAX_WAITS = 120;
const WAIT_MS = 100;

/** What a file is, told by its first bytes; `uncompressedBytes` null when only reading tells. */
export type ChunkShape = {
  readonly form: Extract<ChunkForm, 'plain' | 'sealed'>;
  readonly sizeBytes: number;
  readonly uncompressedBytes: number | null;
  /** Why a zstd file is read without its seek table; null when that is not so. */
  readonly tableFault: string | null;
};

/** An open chunk with the identity of the file that holds it now. */
export type OpenChunk = {
  readonly source: ChunkSource;
  readonly dev: number;
  readonly ino: number;
  readonly sizeBytes: number;
};

/**
 * Opens a chunk for reading. The caller closes the source. An abort ends a wait for standard input, now and later.
 * @throws the system's error when neither form of the chunk can be opened
 */
export async function openChunk(file: ChunkFile, signal?: AbortSignal): Promise<ChunkSource> {
  return (await openChunkFile(file, signal)).source;
}

/** The same, with the identity of the file that was opened. */
export async function openChunkFile(file: ChunkFile, signal?: AbortSignal): Promise<OpenChunk> {
  if (file.form === 'stdin') {
    return { source: await openStdin(process.stdin, signal), dev: 0, ino: 0, sizeBytes: 0 };
  }
  const handle = await openEitherForm(file.path, signal);
  try {
    const { source, shape } = await inspect(handle, file.path);
    const { dev, ino, size: sizeBytes } = await handle.stat();
    // What was appended since the run was opened belongs to the next pass (U17).
    const isBounded = shape.form === 'plain' && file.form !== 'sealed';
    return { source: isBounded ? new PlainChunk(handle, file.sizeBytes) : source, dev, ino, sizeBytes };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Looks at a chunk without keeping it open. @throws the system's error */
export async function inspectChunk(path: string): Promise<ChunkShape> {
  const handle = await open(path, 'r');
  try {
    return (await inspect(handle, path)).shape;
  } finally {
    await handle.close();
  }
}

/** Where a chunk may be found, in the order to try: as named, in its other form, and as named once more (R-CHK-5). */
export function eitherForm(path: string): readonly string[] {
  const isSealedName = path.endsWith(SEALED_SUFFIX);
  const other = isSealedName ? path.slice(0, -SEALED_SUFFIX.length) : path + SEALED_SUFFIX;
  return [path, other, path];
}

async function openEitherForm(path: string, signal: AbortSignal | undefined): Promise<FileHandle> {
  let failure: unknown;
  for (const candidate of eitherForm(path)) {
    try {
      return await openPatiently(candidate, signal);
    } catch (error) {
      failure ??= error;
      if (systemErrorCode(error) !== 'ENOENT') throw error;
    }
  }
  throw failure;
}

/** Waits while there is no descriptor: connections that nobody needs give theirs back after some seconds (U22). */
async function openPatiently(path: string, signal: AbortSignal | undefined): Promise<FileHandle> {
  for (let waits = 0; ; waits += 1) {
    try {
      return await open(path, 'r');
    } catch (error) {
      if (!SHORTAGES.has(systemErrorCode(error) ?? '') || waits >= MAX_WAITS) throw error;
    }
    await delay(WAIT_MS, undefined, signal === undefined ? {} : { signal });
  }
}

async function inspect(
  handle: FileHandle,
  path: string,
): Promise<{ readonly source: ChunkSource; readonly shape: ChunkShape }> {
  const { size: sizeBytes } = await handle.stat();
  const head = Buffer.alloc(4);
  const { bytesRead } = await handle.read(head, 0, head.length, 0);
  if (isZstd(head.subarray(0, bytesRead))) return inspectSealed(handle, sizeBytes);
  if (sizeBytes === 0 && path.endsWith(SEALED_SUFFIX)) {
    return {
      source: new LostChunk(handle, 'a sealed chunk of 0 bytes, as a power loss leaves it'),
      shape: { form: 'sealed', sizeBytes, uncompressedBytes: null, tableFault: null },
    };
  }
  return {
    source: new PlainChunk(handle, sizeBytes),
    shape: { form: 'plain', sizeBytes, uncompressedBytes: sizeBytes, tableFault: null },
  };
}

async function inspectSealed(
  handle: FileHandle,
  sizeBytes: number,
): Promise<{ readonly source: ChunkSource; readonly shape: ChunkShape }> {
  const table = await readSeekTable(handle, sizeBytes);
  if (typeof table === 'string') {
    return {
      source: new WalkedChunk(handle, sizeBytes),
      shape: { form: 'sealed', sizeBytes, uncompressedBytes: null, tableFault: table },
    };
  }
  return {
    source: new SealedChunk(handle, table),
    shape: { form: 'sealed', sizeBytes, uncompressedBytes: table.uncompressedBytes, tableFault: null },
  };
}

/** A chunk of which nothing is left: one loss, no bytes. */
class LostChunk implements ChunkSource {
  readonly #handle: FileHandle;
  readonly #reason: string;
  readonly uncompressedBytes = null;

  constructor(handle: FileHandle, reason: string) {
    this.#handle = handle;
    this.#reason = reason;
  }

  async *pieces(start: number): AsyncGenerator<ChunkPiece, void> {
    yield { kind: 'lost', offset: start, bytes: 0, damage: 'corrupt_frame', reason: this.#reason };
  }

  close(): Promise<void> {
    return this.#handle.close();
  }
}
