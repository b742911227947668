/**
 * The final report of an indexing for a person: the same for a finished, an interrupted and a piped run, made from the
 * JSON document alone and what to type next (demands X2, X3, C9).
 */
import { counted, damageLines, INDENT, LISTED_ENTRIES, labelled, restLine, type TableFormat } from './damage-lines.js';
import { differenceLines } from './difference-lines.js';
import type { Format } from './format.js';
import { damageOf, type IndexDocument, type StreamEntry } from './index-document.js';
import { type LookedAtFile, lookCommand } from './look-command.js';
import { oddityLines } from './oddity-lines.js';
import { shellLine } from './shell-words.js';

export type IndexReportOptions = TableFormat & {
  readonly document: IndexDocument;
  readonly work: 'index' | 'check' | 'rows';
  /** The files of the run, for the command that shows a damaged place. */
  readonly files: readonly LookedAtFile[];
  /** What was typed, word by word, so that it can be typed again: `prl index ./run`. */
  readonly words: readonly string[];
  /** The same command goes on where a signal stopped this one. */
  readonly canContinue?: boolean;
  /** An error with its own next step is printed below. */
  readonly endsWithFailure?: boolean;
};

/** The lines of the report, without colour, in the order they are printed; the most important one is the last. */
export function indexReport(options: IndexReportOptions): string[] {
  const { document } = options;
  const { streams } = document;
  return [
    headline(options),
    ...damageLines(streams.flatMap(damageOf), options),
    ...streams.flatMap((stream) => oddityLines(stream, options)),
    ...streams.flatMap((stream) => repeatedLines(stream, options)),
    ...streams.flatMap((stream) => orderLines(stream, options)),
    ...streams.flatMap((stream) => tokenLines(stream, options)),
    ...streams.flatMap((stream) => growingLines(stream, options)),
    ...streams.flatMap((stream) => resumedLines(stream, options)),
    ...streams.flatMap((stream) => differenceLines(stream, options)),
    ...streams.map((stream) => indexLine(stream, options)),
    costLine(options),
    ...nextLines(options),
  ];
}

const DEEDS = { index: 'indexed', check: 'checked', rows: 'wrote the rows of' } as const;

function headline({ document, work, format }: IndexReportOptions): string {
  const { episodes, bytes, seconds, bytes_per_second: rate, partial, streams } = document;
  const damaged = streams.reduce((sum, stream) => sum + damageOf(stream).length, 0);
  const what = streams.every(({ holds }) => holds === 'episodes') ? 'episode' : 'record';
  const read = `${DEEDS[work]} ${counted(episodes, what, format)}, ${format.size(bytes)}`;
  const pace = `in ${format.span(seconds * 1000)} (${format.rate(rate)})`;
  const found = damaged > 0 ? `; ${counted(damaged, 'damaged place', format)}` : '';
  return ` ${partial ? 'partial: ' : ''}${read} ${pace}${found}`;
}

/** Episodes that stand in a stream more than once: both rows are right, and somebody may want to know. */
function repeatedLines({ stream, repeated }: StreamEntry, { format }: TableFormat): string[] {
  if (repeated.count === 0) return [];
  const again = repeated.count === 1 ? '1 episode comes' : `${format.count(repeated.count)} episodes come`;
  return [
    labelled('repeated', `${again} again in ${format.text(stream)}; every row is kept`),
    ...listedLines(repeated, format, ({ line, first_line: first }) => {
      return `line ${format.count(line)} repeats line ${format.count(first)}`;
    }),
  ];
}

/** Episodes that stand behind one of a later step, as when a run was taken up again at an earlier one. */
function orderLines({ stream, out_of_order: found }: StreamEntry, { format }: TableFormat): string[] {
  if (found.count === 0) return [];
  const arrived = `${counted(found.count, 'episode', format)} of an earlier step than one before`;
  return [
    labelled('order', `${arrived} in ${format.text(stream)}; every row is kept`),
    ...listedLines(found, format, ({ line, step, after }) => {
      return `line ${format.count(line)} is of step ${format.count(step)}, after step ${format.count(after)}`;
    }),
  ];
}

/** The first entries, a line each, and how many more there are. */
function listedLines<T>(
  { count, first }: { readonly count: number; readonly first: readonly T[] },
  format: Format,
  print: (entry: T) => string,
): string[] {
  const listed = first.slice(0, LISTED_ENTRIES);
  return [...listed.map((entry) => INDENT + print(entry)), ...restLine(count, listed.length, '', format)];
}

function tokenLines({ stream, token_differences: count }: StreamEntry, { format }: TableFormat): string[] {
  if (count === 0) return [];
  const told = `${counted(count, 'record', format)} of ${format.text(stream)} with other token counts than the calls add up to`;
  return [labelled('remark', `${told}; legal between versions of the writer`)];
}

function growingLines({ torn, growing }: StreamEntry, { format }: TableFormat): string[] {
  if (torn === null || !growing) return [];
  const place = `${format.text(torn.file)} at offset ${format.count(torn.offset)}`;
  return [labelled('growing', `${place}: ${counted(torn.bytes, 'byte', format)} of a line on its way, without a row`)];
}

function resumedLines({ stream, resumed_bytes: bytes }: StreamEntry, { format }: TableFormat): string[] {
  if (bytes === 0) return [];
  const taken = `${format.size(bytes)} of ${format.text(stream)} were settled by an earlier command`;
  return [labelled('resumed', `${taken} and not read again`)];
}

/** What became of one index. */
function indexLine(stream: StreamEntry, { format, work }: IndexReportOptions): string {
  const { index, check, complete, changed, rows_written: written } = stream;
  const stopped = complete ? '' : '; stopped before the end';
  const rows = counted(written, 'row', format);
  if (index === null) return labelled('rows', `${rows} of ${format.text(stream.stream)} to stdout${stopped}`);
  const name = format.text(index);
  if (!complete) return labelled('index', `${name}   ${work === 'check' ? 'not compared' : 'not written'}${stopped}`);
  if (check === null) return labelled('index', `${name}   ${changed ? 'written' : 'unchanged'}, ${rows}`);
  const figures = `${counted(check.rows, 'row', format)} on disk, ${format.count(check.rebuilt)} rebuilt`;
  return labelled('index', `${name}   ${check.ok ? 'right' : 'WRONG'}: ${figures}`);
}

function costLine({ document, format }: IndexReportOptions): string {
  const { threads, peak_rss_bytes: peak } = document;
  return labelled('took', `${counted(threads, 'thread', format)}, ${format.size(peak)} of memory at most`);
}

/** Last what to do: one command to repair, or to look. */
function nextLines(options: IndexReportOptions): string[] {
  const { document, format, files, words, canContinue = false, endsWithFailure = false } = options;
  if (endsWithFailure) return [];
  const command = format.text(shellLine(words));
  if (document.partial) {
    return [labelled('next', `${command}   (${canContinue ? 'continues where this stopped' : 'begins anew'})`)];
  }
  const damaged = document.streams.flatMap(damageOf);
  const isUnreadable = damaged.some(({ kind }) => kind === 'unreadable');
  const isHole = damaged.some(({ kind }) => kind === 'hole');
  if (isUnreadable) return [labelled('next', `make the unreadable files readable, then: ${command}`)];
  if (isHole) return [labelled('next', `put the missing chunks back, if they are anywhere, then: ${command}`)];
  const look = lookCommand(damaged, files);
  return look === null ? [] : [labelled('next', `look at a damaged place: ${format.text(look)}`)];
}
