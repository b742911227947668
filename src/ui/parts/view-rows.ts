/** What the rows of every view are made of; what is cut in a narrow window is decided in row.ts. */
import { bar } from './bar.js';
import type { Glyphs } from './glyphs.js';
import type { Segment } from './row.js';

/** A row of a view; in a low window the rows of the lowest priority go first. */
export type ViewRow = { readonly key: string; readonly priority: number; readonly segments: readonly Segment[] };

const BAR_LEAST_COLUMNS = 8;
const BAR_MOST_COLUMNS = 40;

/** A bar that takes what the figures beside it leave. */
export function barSegment(share: number, glyphs: Glyphs): Segment {
  const draw = (columns: number): string => bar(share, columns, glyphs);
  return { text: draw(BAR_LEAST_COLUMNS), priority: 4, tone: 'good', stretch: { most: BAR_MOST_COLUMNS, draw } };
}

/** What the keys do, or how to stop where none can be read. */
export function keysSegment(hasKeys: boolean): Segment {
  return {
    text: hasKeys ? 'q stop   ? help' : 'Ctrl-C stop',
    priority: 3,
    gap: 2,
    tone: 'quiet',
    atRight: true,
  };
}

/** The lines of a help. */
export function helpRows(lines: readonly string[]): ViewRow[] {
  return lines.map((line, index) => ({
    key: `help${index}`,
    priority: 8,
    segments: [{ text: `   ${line}`, priority: 1, tone: 'quiet', shrinkTo: 1 }],
  }));
}

/** The rows that fit into a window, in their order: those of the lowest priority go first, the lower one of two equals. */
export function rowsThatFit(rows: readonly ViewRow[], height: number): ViewRow[] {
  const kept = new Set(rows.toSorted((a, b) => b.priority - a.priority).slice(0, Math.max(1, height)));
  return rows.filter((row) => kept.has(row));
}
