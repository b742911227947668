/**
 * Is somebody still writing a run? Nothing in a run says so: no pid, no lock, no heartbeat. What is known is put
 * together with its reasons (spec 05 section 6); a long training step looks like a dead writer, so "dead" is never said.
 */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { readlink, stat, statfs } from 'node:fs/promises';
import type { WriterState } from '../core/snapshot.js';

export type WriterEvidence = { readonly state: WriterState; readonly reasons: readonly string[] };

export type WriterQuestion = {
  /** Files that a writer of this stream appends to: plain chunks, the index, what a seal writes. Absolute paths. */
  readonly growing: readonly string[];
  readonly hasSealedChunks: boolean;
  /** Whether traces of episodes in flight lie beside the stream. */
  readonly hasLiveTraces: boolean;
  /** Epoch milliseconds. */
  readonly nowMs: number;
  /** A file untouched for as long as this counts as idle; default 300 s. */
  readonly idleMs?: number;
};

const IDLE_MS = 300_000;

/** O_WRONLY and O_RDWR in the flags of an open file. */
const WRITE_MODES = 0o3;

/** The first PID namespace of a machine; only from there all its processes can be seen. */
const FIRST_PID_NAMESPACE = 'pid:[4026531836]';

/** statfs types of file systems that no other machine writes: ext, xfs, btrfs, tmpfs, overlay, zfs, f2fs. */
const LOCAL_FILE_SYSTEMS = new Set([0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x794c7630, 0x2fc12fc1, 0xf2f52010]);

/** Weighs the evidence; reads file times and the open files of processes, changes nothing. */
export async function findWriter(question: WriterQuestion): Promise<WriterEvidence> {
  const { growing, hasSealedChunks, hasLiveTraces, nowMs, idleMs = IDLE_MS } = question;
  const view = await lookAtOpenFiles(growing);
  if (view.holder !== null) return { state: 'live', reasons: [view.holder] };
  if (growing.length === 0 && hasSealedChunks && !hasLiveTraces) {
    return { state: 'finished', reasons: ['all chunks are sealed and nothing is in flight'] };
  }
  if (view.isComplete) {
    return { state: 'idle', reasons: ['no process of this machine has the stream open for writing'] };
  }
  const youngestMs = await youngestChange(growing);
  if (youngestMs === null) return { state: 'unknown', reasons: ['the stream has no chunk yet'] };
  const ageSeconds = Math.max(0, Math.round((nowMs - youngestMs) / 1000));
  const reasons = [`the stream changed ${ageSeconds} s ago`, view.blindness];
  return { state: nowMs - youngestMs >= idleMs ? 'idle' : 'unknown', reasons };
}

type OpenFilesView = {
  /** Who has a file open for writing; null when nobody that can be seen. */
  readonly holder: string | null;
  /** Whether nobody can have been overlooked. */
  readonly isComplete: boolean;
  readonly blindness: string;
};

async function lookAtOpenFiles(paths: readonly string[]): Promise<OpenFilesView> {
  const wanted = new Set(paths);
  const processes = namesIn('/proc');
  if (processes.length === 0) return { holder: null, isComplete: false, blindness: 'open files cannot be seen here' };
  for (const pid of processes) {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) continue;
    const path = writtenBy(pid, wanted);
    if (path !== null) {
      return { holder: `process ${pid} has ${path} open for writing`, isComplete: true, blindness: '' };
    }
  }
  const blindness = await findBlindness(paths);
  return { holder: null, isComplete: blindness === null, blindness: blindness ?? '' };
}

/** Synchronous, since a thousand turns through the thread pool cost more than these reads of kernel memory. */
function writtenBy(pid: string, wanted: ReadonlySet<string>): string | null {
  for (const file of namesIn(`/proc/${pid}/fd`)) {
    const target = linkTarget(`/proc/${pid}/fd/${file}`);
    if (!wanted.has(target)) continue;
    const flags = Number.parseInt(/^flags:\s*(\d+)/m.exec(textOf(`/proc/${pid}/fdinfo/${file}`))?.[1] ?? '0', 8);
    if ((flags & WRITE_MODES) !== 0) return target;
  }
  return null;
}

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch {
    return []; // ended, another user's, or not Linux
  }
}

function linkTarget(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return ''; // closed meanwhile
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // closed meanwhile
  }
}

/** Why a writer could be there and not be seen; null when it could not. */
async function findBlindness(paths: readonly string[]): Promise<string | null> {
  const namespace = await readlink('/proc/self/ns/pid').catch(() => ''); // hidden
  if (namespace !== FIRST_PID_NAMESPACE) return 'a process outside of this container could have it open';
  for (const path of paths) {
    const [stats, system] = await Promise.all([stat(path), statfs(path)]).catch(() => [null, null]); // gone meanwhile
    if (stats === null || system === null) continue;
    if (!LOCAL_FILE_SYSTEMS.has(system.type)) return 'another machine could have it open';
    if (process.getuid?.() !== 0 && stats.uid !== process.getuid?.())
      return 'the open files of its owner cannot be seen';
  }
  return null;
}

async function youngestChange(paths: readonly string[]): Promise<number | null> {
  let youngest: number | null = null;
  for (const path of paths) {
    const stats = await stat(path).catch(() => null); // gone meanwhile
    if (stats !== null) youngest = Math.max(youngest ?? 0, stats.mtimeMs);
  }
  return youngest;
}
