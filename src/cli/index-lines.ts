/** The plain-line form of the view of an indexing: the same figures, one line at a time. */
import type { IndexProgress } from '../core/snapshot.js';
import { counted } from './damage-lines.js';
import type { Format } from './format.js';

/** What is about to be done. */
export type IndexIntro = {
  readonly work: IndexProgress['work'];
  /** Name of the run, as a person would call it. Raw text. */
  readonly run: string;
  readonly chunks: number;
  /** Uncompressed bytes; null when only reading tells. */
  readonly bytes: number | null;
  /** The file of `--out`; null without it. */
  readonly out: string | null;
};

/** The first line, before anything is read (demand C7). */
export function indexIntro({ work, run, chunks, bytes, out }: IndexIntro, format: Format): string {
  const name = format.text(run);
  const file = out === null ? null : format.text(out);
  const deed = {
    index: file === null ? `indexing ${name}` : `indexing ${name} into ${file}`,
    check: file === null ? `checking the index of ${name}` : `checking ${file} against ${name}`,
    rows: `writing the rows of ${name}`,
  }[work];
  const files = counted(chunks, 'chunk', format);
  return `${deed}: ${bytes === null ? `${files} of unknown size` : `${format.size(bytes)} in ${files}`}`;
}

/** One line saying where the work is. */
export function indexLine(progress: IndexProgress, format: Format): string {
  const { bytes, totalBytes, bytesPerSecond, remainingMs, episodes, damaged, threads } = progress;
  return [
    `${format.clock(progress.takenAtMs)} ${progress.work}`,
    totalBytes === null ? format.size(bytes) : `${format.size(bytes)}/${format.size(totalBytes)}`,
    bytesPerSecond === null ? '-' : format.rate(bytesPerSecond),
    counted(episodes, 'record', format),
    `damaged ${format.count(damaged)}`,
    counted(threads, 'thread', format),
    remainingMs === null ? 'eta -' : `eta ${format.remaining(remainingMs)}`,
  ].join('  ');
}
