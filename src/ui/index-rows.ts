/** The view of an indexing as two rows of segments, and what a person can do about it. */
import type { IndexProgress } from '../core/snapshot.js';
import type { ViewFormat } from './format.js';
import type { Glyphs } from './parts/glyphs.js';
import type { Segment } from './parts/row.js';
import { barSegment, helpRows, keysSegment, type ViewRow } from './parts/view-rows.js';

export type IndexRowsOptions = {
  readonly progress: IndexProgress;
  readonly format: ViewFormat;
  readonly glyphs: Glyphs;
  readonly version: string;
  /** Keys can be read, so they are named. */
  readonly hasKeys: boolean;
  readonly showHelp: boolean;
};

/** How far it is; without a total only how much was read, and no bar that would have to lie. */
function shareSegments({ progress, format, glyphs }: IndexRowsOptions): Segment[] {
  const { bytes, totalBytes } = progress;
  if (totalBytes === null) return [{ text: format.size(bytes), priority: 9, gap: 3 }];
  // What grew since it was looked at must not show more done than there is.
  const done = `${format.size(Math.min(bytes, totalBytes))} / ${format.size(totalBytes)}`;
  return [
    { ...barSegment(bytes / totalBytes, glyphs), gap: 2 },
    { text: done, priority: 9, gap: 2 },
  ];
}

function workRow(options: IndexRowsOptions): ViewRow {
  const { progress, format, version } = options;
  const { bytesPerSecond, remainingMs } = progress;
  return {
    key: 'work',
    priority: 9,
    segments: [
      { text: ` ${format.text(progress.run)}`, priority: 6, tone: 'strong', shrinkTo: 12 },
      { text: progress.work, priority: 5, gap: 2 },
      ...shareSegments(options),
      { text: bytesPerSecond === null ? '' : format.rate(bytesPerSecond), priority: 7, gap: 3 },
      { text: remainingMs === null ? '' : `eta ${format.remaining(remainingMs)}`, priority: 8, gap: 3 },
      { text: `prl ${version}`, priority: 1, gap: 2, tone: 'quiet', atRight: true },
    ],
  };
}

function counted(count: number, noun: string, format: ViewFormat): string {
  return `${format.count(count)} ${noun}${count === 1 ? '' : 's'}`;
}

function countsRow({ progress, format, hasKeys }: IndexRowsOptions): ViewRow {
  const { episodes, chunks, sealed, damaged, threads } = progress;
  const isSealed = sealed === 0 ? '' : ` (${format.count(sealed)} sealed)`;
  return {
    key: 'counts',
    priority: 7,
    segments: [
      { text: ` ${counted(episodes, 'record', format)}`, priority: 9 },
      { text: `in ${counted(chunks, 'chunk', format)}${isSealed}`, priority: 5 },
      { text: `damaged ${format.count(damaged)}`, priority: 8, gap: 3, tone: damaged > 0 ? 'bad' : 'plain' },
      { text: counted(threads, 'thread', format), priority: 4, gap: 3 },
      keysSegment(hasKeys),
    ],
  };
}

const HELP: Readonly<Record<IndexProgress['work'], string>> = {
  index: 'q or Ctrl-C  stop; the index on disk stays as it was',
  check: 'q or Ctrl-C  stop; nothing is changed in any case',
  rows: 'q or Ctrl-C  stop; the rows that were written stay',
};

/** All rows of the view, top to bottom. */
export function indexRows(options: IndexRowsOptions): ViewRow[] {
  const help = helpRows([
    HELP[options.progress.work],
    'a second one leaves at once',
    '?            this help, on and off',
  ]);
  return [workRow(options), countsRow(options), ...(options.showHelp ? help : [])];
}
