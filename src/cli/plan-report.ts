/** What `prl upload --dry-run` tells a person: what would go where, and what would not (demands C11, P7). */
import type { Format } from './format.js';
import type { UploadDocument } from './upload-document.js';

/** The lines of the plan, without colour. */
export function planReport(document: UploadDocument, format: Format): string[] {
  const { plan, filter, already, rejected, damaged, dry_run: next } = document;
  const total = (totals: { episodes: number; bytes: number }): string =>
    `${format.count(totals.episodes)} ${totals.episodes === 1 ? 'episode' : 'episodes'}, ${format.size(totals.bytes)}`;
  const requests = next === undefined ? 0 : next.requests;
  return [
    `run       ${format.text(document.run)}   run id ${format.text(document.run_id ?? 'none')}`,
    `service   ${format.text(document.url)}   nothing was sent and nothing was written`,
    ...(filter === undefined ? [`holds     ${total(plan)}`] : filterLines(filter, total, format)),
    `already   ${total(already)}, as the journal knows`,
    `would go  ${total(next ?? { episodes: 0, bytes: 0 })} in ${format.count(requests)} ${requests === 1 ? 'request' : 'requests'}`,
    ...rejected.map(
      ({ line, chunk, offset, code }) =>
        `rejected  line ${line} (chunk ${chunk}, offset ${format.count(offset)})  ${format.text(code)}`,
    ),
    ...damaged.map(
      ({ file, offset, bytes, kind }) =>
        `damaged   ${format.text(file)} (offset ${format.count(offset)}) ${format.size(bytes)}  ${kind}`,
    ),
  ].map((line) => ` ${line}`);
}

/** What is left out is told before what would go (demand P5). */
function filterLines(
  { text, selected, left_out: leftOut }: NonNullable<UploadDocument['filter']>,
  total: (totals: UploadDocument['plan']) => string,
  format: Format,
): string[] {
  const episodes = selected.episodes + leftOut.episodes;
  return [
    `holds     ${total({ episodes, bytes: selected.bytes + leftOut.bytes })}`,
    `selected  ${total(selected)}   ${format.text(text)}`,
    `left out  ${total(leftOut)}`,
  ];
}
