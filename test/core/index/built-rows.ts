/** Rows as the TypeScript walker and the row builder make them, for tests. */
import { NOTE, type RowFault } from '../../../src/core/index/notes.js';
import { DEFAULT_ROW_OPTIONS, type RowOptions } from '../../../src/core/index/record-facts.js';
import { RowBuffer } from '../../../src/core/index/row-buffer.js';
import { RowBuilder } from '../../../src/core/index/row-builder.js';
import { TextWalker } from '../../../src/core/scan/text-walker.js';
import { LINE } from '../../../src/core/scan/walker.js';

export type BuiltRow = {
  /** Null when the line has a fault or is none. */
  readonly row: string | null;
  readonly fault: RowFault | null;
  readonly notes: readonly (keyof typeof NOTE)[];
  readonly unit: string;
};

/** The rows of all lines of one chunk; `line` counts the rows. A builder that is given has its own options. */
export function buildRows(
  text: string | Uint8Array,
  options: Partial<RowOptions> = {},
  chunk: number | null = 0,
  builder = new RowBuilder({ ...DEFAULT_ROW_OPTIONS, ...options }),
): BuiltRow[] {
  const walker = new TextWalker({ sink: builder });
  const bytes = Buffer.from(text);
  let at = 0;
  const read = (target: Uint8Array): number => {
    const count = bytes.copy(target, 0, at, at + target.length);
    at += count;
    return count;
  };
  walker.reset({ read }, 0);
  const rows: BuiltRow[] = [];
  let line = 0;
  for (let kind = walker.next(); kind !== LINE.END; kind = walker.next()) {
    if (kind === LINE.BLANK) continue;
    const isRecord = kind === LINE.RECORD && builder.fault === null;
    let row: string | null = null;
    if (isRecord) {
      const target = new RowBuffer(16);
      line += 1;
      builder.writeRow(target, { line, offset: walker.lineStart, chunk });
      row = Buffer.from(target.view()).toString();
    }
    rows.push({ row, fault: builder.fault, notes: namesOf(builder.notes), unit: builder.unit });
  }
  return rows;
}

/** The row of one record, without its LF; throws when it has none. */
export function rowOf(text: string, options: Partial<RowOptions> = {}): string {
  const { row, fault } = buildRows(text, options)[0] ?? { row: null, fault: null };
  if (row === null) throw new Error(`no row: ${fault?.reason ?? 'no record'}`);
  return row.trimEnd();
}

/** One field of the row of a record, as the text that stands in the row. */
export function fieldOf(text: string, key: string, options: Partial<RowOptions> = {}): string {
  const row = rowOf(text, options);
  const start = row.indexOf(`"${key}":`) + key.length + 3;
  const next = /,"[a-z_]+":|\}$/.exec(row.slice(start));
  return row.slice(start, start + (next?.index ?? 0));
}

export function namesOf(notes: number): (keyof typeof NOTE)[] {
  return Object.entries(NOTE).flatMap(([name, bit]) => ((notes & bit) === 0 ? [] : [name as keyof typeof NOTE]));
}
