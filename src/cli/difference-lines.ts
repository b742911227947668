/** How `prl index --check` lists where an index and a rebuilt one part (demand X3): which rows, and in which fields. */
import type { DifferenceKind, FieldDifference, RowDifference } from '../core/index/compare.js';
import { counted, INDENT, labelled, restLine, type TableFormat } from './damage-lines.js';
import type { Format } from './format.js';
import type { StreamEntry } from './index-document.js';

/** Columns of a value that are shown; long ones are lists of trace ids and the facts of annotations. */
const VALUE_COLUMNS = 60;

/** The differences of one stream; none when its index is right. */
export function differenceLines(stream: StreamEntry, { format }: TableFormat): string[] {
  const { check, index, holds } = stream;
  if (check === null) return [];
  const counts = Object.entries(check.counts) as [DifferenceKind, number][];
  const total = counts.reduce((sum, [, count]) => sum + count, 0);
  if (total === 0) return [];
  const kinds = counts.map(([kind, count]) => `${format.count(count)} ${kind}`).join(', ');
  const name = format.text(index ?? '');
  const label = check.ok ? 'remark' : 'differs';
  const legal = check.ok ? '; legal: rows before them were never written' : '';
  return [
    labelled(label, `${name}: ${counted(total, 'difference', format)} (${kinds})${legal}`),
    ...check.differences.flatMap((difference) => oneDifference(difference, holds, format)),
    ...restLine(total, check.differences.length, '', format),
  ];
}

function oneDifference(difference: RowDifference, holds: StreamEntry['holds'], format: Format): string[] {
  return [
    `${INDENT}${difference.kind}  ${differencePlace(difference, holds, format)}`,
    ...difference.fields.map((field) => `${INDENT}  ${fieldText(field, format)}`),
  ];
}

/** Where a difference is, as far as it can be told: `line 12 of the index, chunk 0, offset 1,234, episode e1`. */
export function differencePlace(
  { index_line: line, chunk, offset, id }: RowDifference,
  holds: StreamEntry['holds'],
  format: Format,
): string {
  const what = holds === 'episodes' ? 'episode' : 'trace';
  return [
    ...(line === null ? [] : [`line ${format.count(line)} of the index`]),
    ...(chunk === null ? [] : [`chunk ${chunk}`]),
    ...(offset === null ? [] : [`offset ${format.count(offset)}`]),
    ...(id === null ? [] : [`${what} ${format.text(id)}`]),
  ].join(', ');
}

/** `reward: 0.5 on disk, 1.0 rebuilt`. */
export function fieldText({ key, disk, rebuilt }: FieldDifference, format: Format): string {
  return `${key}: ${valueText(disk, format)} on disk, ${valueText(rebuilt, format)} rebuilt`;
}

function valueText(value: string | null, format: Format): string {
  return value === null ? 'absent' : format.fit(format.text(value), VALUE_COLUMNS);
}
