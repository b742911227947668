/**
 * The final report of an upload for a person (screens.md, "Final report"): the same for a finished, an interrupted and a
 * piped run, made from the JSON document alone and what to type next (demands P2, P3, C9).
 */
import { counted, damageLines, grouped, LISTED_ENTRIES, quoted, restLine } from './damage-lines.js';
import type { Format } from './format.js';
import { shellLine } from './shell-words.js';
import type { RejectedEntry, UploadDocument } from './upload-document.js';

export type UploadReportOptions = {
  readonly document: UploadDocument;
  readonly format: Format;
  /** Columns of the window; null where lines may be of any length. */
  readonly columns: number | null;
  /** Path of the journal, null when none could be kept. */
  readonly journal: string | null;
  /** What was typed, word by word, so that it can be typed again: `prl upload ./run --local`. */
  readonly words: readonly string[];
  /** Receipts that named another upload than ours, one line each. */
  readonly mismatches?: readonly string[];
  /** An error with its own next step is printed below. */
  readonly endsWithFailure?: boolean;
};

/** The lines of the report, without colour, in the order they are printed; the most important one is the last. */
export function uploadReport(options: UploadReportOptions): string[] {
  const { document, format, columns } = options;
  return [
    ` ${headline(document, format)}`,
    ...filterLines(document, format),
    ...damageLines(document.damaged, { format, columns }),
    ...grouped(document.rejected, (entry) => entry.code).flatMap((group) => rejectedLines(group, format)),
    ...[
      costLine(document, format),
      ...mismatchLines(options),
      ...verifiedLines(document, format),
      ...nextLines(options),
    ].map((line) => ` ${line}`),
  ];
}

function headline(document: UploadDocument, format: Format): string {
  const { sent, already, rejected, damaged, seconds, partial } = document;
  const others = [
    ...(already.episodes > 0 ? [`${format.count(already.episodes)} already there`] : []),
    ...(rejected.length > 0 ? [`${format.count(rejected.length)} rejected`] : []),
    ...(damaged.length > 0 ? [`${format.count(damaged.length)} damaged`] : []),
  ];
  const done = `uploaded ${counted(sent.episodes, 'episode', format)}, ${format.size(sent.bytes)}`;
  const wire = `(${format.size(sent.wire_bytes)} on the wire) in ${format.span(seconds * 1000)}`;
  return `${partial ? 'partial: ' : ''}${done} ${wire}${others.length > 0 ? `; ${others.join(', ')}` : ''}`;
}

function filterLines({ filter }: UploadDocument, format: Format): string[] {
  if (filter === undefined) return [];
  const { selected, left_out } = filter;
  const total = selected.episodes + left_out.episodes;
  const share = `${format.count(selected.episodes)} of ${counted(total, 'episode', format)} selected`;
  return [` filter    ${share}, ${format.count(left_out.episodes)} left out   ${format.text(filter.text)}`];
}

function rejectedLines(group: readonly RejectedEntry[], format: Format): string[] {
  const lines = group.slice(0, LISTED_ENTRIES).map((entry) => {
    const id = entry.id === null ? 'without an id' : format.text(entry.id);
    const place = `line ${format.count(entry.line)} (chunk ${entry.chunk}, offset ${format.count(entry.offset)})`;
    return ` rejected  ${place} episode ${id}  ${format.text(entry.code)}: ${quoted(entry.message, format)}`;
  });
  return [...lines, ...restLine(group.length, LISTED_ENTRIES, `with ${format.text(group[0]?.code ?? '')}`, format)];
}

function costLine(document: UploadDocument, format: Format): string {
  const { sent, retries, peak_rss_bytes } = document;
  const requests = counted(sent.requests, 'request', format);
  return `took      ${requests}, ${format.count(retries)} ${retries === 1 ? 'retry' : 'retries'}, ${format.size(peak_rss_bytes)} of memory at most`;
}

function mismatchLines({ mismatches = [], format }: UploadReportOptions): string[] {
  const [first] = mismatches;
  if (first === undefined) return [];
  const receipts = `${format.count(mismatches.length)} ${mismatches.length === 1 ? 'receipt does' : 'receipts do'}`;
  return [`warning   ${receipts} not match what was sent; the first: ${format.text(first)}`];
}

function verifiedLines(document: UploadDocument, format: Format): string[] {
  if (document.verified === null) return [];
  const { episodes: count, ok } = document.verified;
  return [`verified  ${counted(count, 'episode', format)} read back: ${ok ? 'all the same' : 'NOT the same as sent'}`];
}

/** What was typed, to send what was rejected: a retry looks at what is known, and follows nothing. */
function retryWords(words: readonly string[]): string[] {
  const others = words.filter((word) => !['-f', '--follow', '--retry-rejected'].includes(word));
  return [...others, '--retry-rejected'];
}

/** Where the state is, and last what to do about whatever is not stored. */
function nextLines({ document, format, journal, words, endsWithFailure = false }: UploadReportOptions): string[] {
  const { plan, filter, sent, already, rejected, damaged, complete, partial } = document;
  const command = format.text(shellLine(words));
  const retry = format.text(shellLine(retryWords(words)));
  // A batch without a receipt may be stored: no verdict on its lines, so the journal does not call them rejected.
  const unconfirmed = rejected.filter(({ code }) => code === 'bad_receipt').length;
  const unsent = Math.max(0, plan.episodes - sent.episodes - already.episodes - rejected.length);
  const state = journal === null ? 'none kept' : format.text(journal);
  const left = unsent + unconfirmed;
  // With a filter nothing is said of the run, and what was selected can be done all the same.
  const isDone = complete || (filter !== undefined && !partial && unconfirmed === 0);
  // What ended early has not read the run to its end: there may be more than it knows of.
  const count = `${partial ? 'at least ' : ''}${counted(left, 'episode', format)}`;
  const nothing = `nothing left to send${filter === undefined ? '' : ' of what was selected'}`;
  // Who stops following a run stops most often when all that there is was sent.
  const known = isDone ? nothing : 'nothing that was read is left to send';
  const rest = left === 0 && (isDone || partial) ? known : `${count} left to send`;
  const continues = journal === null ? 'what is stored is not stored twice' : 'continues where this stopped';
  const unreadable = damaged.some(({ kind }) => kind === 'unreadable');
  return [
    `journal   ${state}   ${rest}`,
    ...(unreadable ? [`next      make the unreadable files readable, then: ${command}`] : []),
    ...(rejected.length > unconfirmed ? [`next      keep or fix what was rejected, then: ${retry}`] : []),
    ...(unconfirmed > 0 ? [`next      check the URL of the service, then: ${command}`] : []),
    ...(isDone || endsWithFailure ? [] : [`next      ${command}   (${continues})`]),
  ];
}
