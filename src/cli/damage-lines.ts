/** How reports list what is damaged (demand X2): a table for each kind, every place with file, offset and length to the byte. */
import type { Damage } from '../core/scan/types.js';
import type { Format } from './format.js';

/** Entries of one kind that are listed; the rest are counted. The document of `--json` holds them all. */
export const LISTED_ENTRIES = 20;

/** Columns of the labels that lines of a report begin with, the blank before and the two after them included. */
const LABEL_COLUMNS = 11;

/** Before the lines below a labelled one. */
export const INDENT = '   ';

/** Least columns of a path that is cut to fit a window. */
const LEAST_PATH_COLUMNS = 12;

export type TableFormat = {
  readonly format: Format;
  /** Columns of the window; null where lines may be of any length, in a file for instance. */
  readonly columns: number | null;
};

/** ` damaged   …`. */
export function labelled(label: string, text: string): string {
  return ` ${label.padEnd(LABEL_COLUMNS - 1)}${text}`;
}

/** Entries with the same key together, in the order each key first came. */
export function grouped<T>(entries: readonly T[], key: (entry: T) => string): T[][] {
  const groups = new Map<string, T[]>();
  for (const entry of entries) {
    const group = groups.get(key(entry));
    if (group === undefined) groups.set(key(entry), [entry]);
    else group.push(entry);
  }
  return [...groups.values()];
}

/** `and 980 more …`, when there are more than are listed. */
export function restLine(count: number, listed: number, what: string, format: Format): string[] {
  return count > listed ? [`${INDENT}and ${format.count(count - listed)} more${what === '' ? '' : ` ${what}`}`] : [];
}

/** `3 places`, `1 place`. */
export function counted(count: number, noun: string, format: Format): string {
  return `${format.count(count)} ${noun}${count === 1 ? '' : 's'}`;
}

/** A message as it is quoted in a report. */
export function quoted(message: string, format: Format): string {
  return `"${format.text(message)}"`;
}

/** One table for each kind of damage, in the order of their first places. */
export function damageLines(damaged: readonly Damage[], table: TableFormat): string[] {
  return grouped(damaged, ({ kind }) => kind).flatMap((group) => kindLines(group, table));
}

function kindLines(group: readonly Damage[], table: TableFormat): string[] {
  const { format } = table;
  const kind = group[0]?.kind ?? '';
  const bytes = group.reduce((sum, entry) => sum + entry.bytes, 0);
  const total = `${kind}: ${counted(group.length, 'place', format)}, ${counted(bytes, 'byte', format)}`;
  return [
    labelled('damaged', total),
    ...placeLines(group.slice(0, LISTED_ENTRIES), table),
    ...restLine(group.length, LISTED_ENTRIES, `that are ${kind}`, format),
  ];
}

/** The rows of a table with its header; why a place is damaged goes below it where the window has no room beside it. */
function placeLines(entries: readonly Damage[], { format, columns }: TableFormat): string[] {
  const figures = alignRight(
    [
      ['chunk', 'offset', 'bytes'],
      ...entries.map(({ chunk, offset, bytes }) => [chunk, offset, bytes].map((figure) => format.count(figure))),
    ],
    format,
  );
  const states = ['', ...entries.map(({ recovered }) => (recovered ? 'recovered' : 'lost'))];
  const stateColumns = Math.max(...states.map((state) => state.length));
  const figureColumns = format.width(figures[0] ?? '');
  const room = columns === null ? Number.POSITIVE_INFINITY : columns - 1 - INDENT.length;
  const pathRoom = Math.max(LEAST_PATH_COLUMNS, room - figureColumns - stateColumns - 4);
  const paths = ['file', ...entries.map(({ file }) => fitEnd(format.text(file), pathRoom, format))];
  const pathColumns = Math.max(...paths.map((path) => format.width(path)));
  return figures.flatMap((figure, index) => {
    const path = padEnd(paths[index] ?? '', pathColumns, format);
    const row = `${path}  ${figure}  ${(states[index] ?? '').padEnd(stateColumns)}`;
    const entry = entries[index - 1];
    if (entry === undefined) return [INDENT + row.trimEnd()];
    const why = quoted(entry.message, format);
    if (format.width(row) + 2 + format.width(why) <= room) return [`${INDENT}${row}  ${why}`];
    return [INDENT + row.trimEnd(), `${INDENT}  ${why}`];
  });
}

/** Cells of each row joined into one text, every column as wide as its widest cell. */
function alignRight(rows: readonly (readonly string[])[], format: Format): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => format.width(row[column] ?? ''))));
  return rows.map((row) => row.map((cell, column) => cell.padStart(widths[column] ?? 0)).join('  '));
}

function padEnd(text: string, columns: number, format: Format): string {
  return text + ' '.repeat(Math.max(0, columns - format.width(text)));
}

/** A path in at most so many columns: its end is what tells it from others. */
function fitEnd(path: string, columns: number, format: Format): string {
  if (format.width(path) <= columns) return path;
  const ellipsis = format.ascii ? '...' : '…';
  let kept = '';
  for (const character of [...path].reverse()) {
    if (format.width(ellipsis + character + kept) > columns) break;
    kept = character + kept;
  }
  return ellipsis + kept;
}
