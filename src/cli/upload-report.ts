/**
 * The final report of an upload for a person (screens.md, "Final report"): the same for a finished, an interrupted and a
 * piped run, made from the JSON document alone and what to type next (demands P2, P3, C9).
 */
import type { Format } from './format.js';
import type { DamagedEntry, RejectedEntry, UploadDocument } from './upload-document.js';

/** Entries of one kind that are listed; the rest are counted. The document of `--json` holds them all. */
export const LISTED_ENTRIES = 20;

export type UploadReportOptions = {
  readonly document: UploadDocument;
  readonly format: Format;
  /** Path of the journal, null when none could be kept. */
  readonly journal: string | null;
  /** What was typed, so that it can be typed again: `prl upload ./run`. */
  readonly commandLine: string;
};

/** The lines of the report, without colour, in the order they are printed; the most important one is the last. */
export function uploadReport(options: UploadReportOptions): string[] {
  const { document, format } = options;
  return [
    headline(document, format),
    ...grouped(document.damaged, (entry) => entry.kind).flatMap((group) => damagedLines(group, format)),
    ...grouped(document.rejected, (entry) => entry.code).flatMap((group) => rejectedLines(group, format)),
    costLine(document, format),
    ...verifiedLines(document, format),
    ...nextLines(options),
  ].map((line) => ` ${line}`);
}

function headline(document: UploadDocument, format: Format): string {
  const { sent, already, rejected, damaged, seconds, partial } = document;
  const others = [
    ...(already.episodes > 0 ? [`${format.count(already.episodes)} already there`] : []),
    ...(rejected.length > 0 ? [`${format.count(rejected.length)} rejected`] : []),
    ...(damaged.length > 0 ? [`${format.count(damaged.length)} damaged`] : []),
  ];
  const done = `uploaded ${episodes(sent.episodes, format)}, ${format.size(sent.bytes)}`;
  const wire = `(${format.size(sent.wire_bytes)} on the wire) in ${format.span(seconds * 1000)}`;
  return `${partial ? 'partial: ' : ''}${done} ${wire}${others.length > 0 ? `; ${others.join(', ')}` : ''}`;
}

function episodes(count: number, format: Format): string {
  return `${format.count(count)} ${count === 1 ? 'episode' : 'episodes'}`;
}

/** Entries with the same key together, in the order each key first came. */
function grouped<T>(entries: readonly T[], key: (entry: T) => string): T[][] {
  const groups = new Map<string, T[]>();
  for (const entry of entries) {
    const group = groups.get(key(entry));
    if (group === undefined) groups.set(key(entry), [entry]);
    else group.push(entry);
  }
  return [...groups.values()];
}

/** `and 980 more …`, when a group is longer than what is listed of it. */
function restLine(count: number, what: string, format: Format): string[] {
  return count > LISTED_ENTRIES ? [`          and ${format.count(count - LISTED_ENTRIES)} more ${what}`] : [];
}

function rejectedLines(group: readonly RejectedEntry[], format: Format): string[] {
  const lines = group.slice(0, LISTED_ENTRIES).map((entry) => {
    const id = entry.id === null ? 'without an id' : format.text(entry.id);
    const place = `line ${format.count(entry.line)} (chunk ${entry.chunk}, offset ${format.count(entry.offset)})`;
    return `rejected  ${place} episode ${id}  ${format.text(entry.code)}: ${quoted(entry.message, format)}`;
  });
  return [...lines, ...restLine(group.length, `with ${format.text(group[0]?.code ?? '')}`, format)];
}

function damagedLines(group: readonly DamagedEntry[], format: Format): string[] {
  const lines = group.slice(0, LISTED_ENTRIES).map((entry) => {
    const place = `${format.text(entry.file)} (chunk ${entry.chunk}, offset ${format.count(entry.offset)})`;
    const kept = entry.recovered ? '; the record after it was sent' : '';
    return `damaged   ${place} ${format.size(entry.bytes)}  ${entry.kind}: ${quoted(entry.message, format)}${kept}`;
  });
  return [...lines, ...restLine(group.length, `that are ${group[0]?.kind ?? ''}`, format)];
}

function quoted(message: string, format: Format): string {
  return `"${format.text(message)}"`;
}

function costLine(document: UploadDocument, format: Format): string {
  const { sent, retries, peak_rss_bytes } = document;
  const requests = `${format.count(sent.requests)} ${sent.requests === 1 ? 'request' : 'requests'}`;
  return `took      ${requests}, ${format.count(retries)} retries, ${format.size(peak_rss_bytes)} of memory at most`;
}

function verifiedLines(document: UploadDocument, format: Format): string[] {
  if (document.verified === null) return [];
  const { episodes: count, ok } = document.verified;
  return [`verified  ${episodes(count, format)} read back: ${ok ? 'all the same' : 'NOT the same as sent'}`];
}

/** Where the state is, and last what to do about whatever is not stored. */
function nextLines({ document, format, journal, commandLine }: UploadReportOptions): string[] {
  const { plan, sent, already, rejected, complete } = document;
  const left = Math.max(0, plan.episodes - sent.episodes - already.episodes - rejected.length);
  const command = format.text(commandLine);
  const state = journal === null ? 'none kept' : format.text(journal);
  const rest = complete ? 'nothing left to send' : `${episodes(left, format)} left to send`;
  return [
    `journal   ${state}   ${rest}`,
    ...(rejected.length > 0 ? [`next      keep or fix what was rejected, then: ${command} --retry-rejected`] : []),
    ...(complete ? [] : [`next      ${command}   (continues where this stopped)`]),
  ];
}
