/** Opens a stream directory for one writer: its lock, the chunk to go on with, and the seals that a crash left undone. */
import { readdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import type { PrlError } from '../core/errors.js';
import { planResume, type ResumePlan } from '../core/stream/resume-plan.js';
import { MAX_FRAME_BYTES } from '../core/stream/seek-table.js';
import { ChunkSealer } from './chunk-sealer.js';
import { createChunk, type LiveChunk, removeMoving, reopenChunk } from './live-chunk.js';
import { makeDirectory } from './make-directory.js';
import { lockFile, type RunLock } from './run-lock.js';
import { STREAM_DEFAULTS, type StreamNotice, type StreamWriterOptions } from './stream-types.js';
import { writeFailure } from './write-failure.js';

export type StreamSettings = Required<Omit<StreamWriterOptions, 'onNotice' | 'workerUrl'>>;

/** What a writer works with; all of it is the writer's to end. */
export type OpenStream = {
  /** Absolute, links resolved. */
  readonly directory: string;
  readonly settings: StreamSettings;
  readonly chunk: LiveChunk;
  readonly lock: RunLock | null;
  readonly sealer: ChunkSealer;
  readonly onNotice: (notice: StreamNotice) => void;
};

/** @throws as StreamWriter.open */
export async function openStream(path: string, options: StreamWriterOptions): Promise<OpenStream> {
  const { onNotice = () => {}, workerUrl, ...given } = options;
  const settings: StreamSettings = { ...STREAM_DEFAULTS, ...given };
  refuseOutOfRange(settings);
  const directory = await makeRealDirectory(path);
  const lock = await lockStream(directory, onNotice);
  try {
    const names = await readdir(directory);
    await removeMoving(directory, names);
    const plan = planResume(names);
    const { level, frameBytes } = settings;
    const onFailure = ({ message }: PrlError): void => onNotice({ kind: 'seal', message });
    const sealer = new ChunkSealer({ level, frameBytes, onFailure, workerUrl });
    const chunk = await openChunk(directory, plan, onNotice);
    if (settings.compress) for (const { name } of plan.unsealed) sealer.add(join(directory, name));
    return { directory, settings, chunk, lock, sealer, onNotice };
  } catch (error) {
    await lock?.release();
    throw writeFailure(`open ${directory} for writing`, error, null);
  }
}

async function makeRealDirectory(path: string): Promise<string> {
  try {
    await makeDirectory(path);
    return await realpath(path);
  } catch (error) {
    throw writeFailure(`make ${path}`, error, null);
  }
}

/** Beside the directory, which holds chunks alone. */
async function lockStream(directory: string, onNotice: OpenStream['onNotice']): Promise<RunLock | null> {
  const path = `${directory}.lock`;
  const lock = await lockFile(path, directory);
  if (lock === null) {
    onNotice({
      kind: 'lock',
      message: `no lock can be kept at ${path}; nothing keeps a second prl from writing there`,
    });
  }
  return lock;
}

async function openChunk(
  directory: string,
  { live, next }: ResumePlan,
  onNotice: OpenStream['onNotice'],
): Promise<LiveChunk> {
  if (live === null) return createChunk(directory, next);
  const { torn, ...chunk } = await reopenChunk(directory, live);
  if (torn !== null) {
    const place = `${torn.bytes} bytes of a torn line at byte ${torn.offset}`;
    onNotice({ kind: 'torn', message: `${chunk.path} ended in ${place}; an LF now ends it` });
  }
  return chunk;
}

function refuseOutOfRange({ chunkBytes, level, frameBytes }: StreamSettings): void {
  refuseOutside('chunkBytes', chunkBytes, Number.MAX_SAFE_INTEGER);
  refuseOutside('level', level, 22);
  refuseOutside('frameBytes', frameBytes, MAX_FRAME_BYTES);
}

function refuseOutside(name: string, value: number, most: number): void {
  if (Number.isSafeInteger(value) && value >= 1 && value <= most) return;
  throw new RangeError(`${name} ${value}; it must be a whole number from 1 to ${most}`);
}
