/**
 * Several runs in one upload: each has a report of its own, and one that fails stops no other. Their document has the
 * keys that one run's has, summed up, so that a script reads either; what became of each run stands under `runs`.
 */
import type { EpisodeTotals } from '../core/snapshot.js';
import { STATUS_MEANING } from './exit-codes.js';
import type { Failure, FailureCode } from './failure.js';
import type { Format } from './format.js';
import { shellLine } from './shell-words.js';
import type { UploadDocument } from './upload-document.js';

/** What became of one run; `document` and `failure` are both there when it was stopped, or verified and differs. */
export type RunResult = {
  /** As typed. */
  readonly run: string;
  readonly document: UploadDocument | null;
  readonly failure: Failure | null;
  /** What it alone would have ended in. */
  readonly status: number;
};

type FailureEntry = { readonly code: FailureCode; readonly message: string; readonly hint: string | null };

/** A run's own document, with `error` where it failed; of a run that came to nothing the error alone. */
export type RunEntry =
  | (UploadDocument & { readonly error?: FailureEntry })
  | { readonly run: string; readonly error: FailureEntry };

export type UploadRunsDocument = UploadDocument & { readonly runs: readonly RunEntry[] };

/** What is known beside the results: the service, and of the whole command the time and the memory. */
export type RunsSurroundings = {
  readonly url: string;
  readonly seconds: number;
  readonly peakRssBytes: number;
};

/** The document of several runs: sums, lists one behind the other with the run of each entry, and every run's own. */
export function uploadRunsDocument(results: readonly RunResult[], surroundings: RunsSurroundings): UploadRunsDocument {
  const documents = results.flatMap(({ document }) => document ?? []);
  const runIds = new Set(documents.map(({ run_id }) => run_id));
  const [runId = null] = runIds;
  const isEach = documents.length === results.length && results.every(({ failure }) => failure === null);
  const withRun = <Entry>(entries: (document: UploadDocument) => readonly Entry[]): Entry[] =>
    documents.flatMap((document) => entries(document).map((entry) => ({ ...entry, run: document.run })));
  const verified = documents.flatMap((document) => document.verified ?? []);
  return {
    schema: 'prl.upload/1',
    run: shellLine(results.map(({ run }) => run)),
    url: surroundings.url,
    run_id: runIds.size === 1 ? runId : null,
    plan: totalOf(documents, ({ plan }) => plan),
    ...filterOf(documents),
    sent: {
      ...totalOf(documents, ({ sent }) => sent),
      wire_bytes: sumOf(documents, ({ sent }) => sent.wire_bytes),
      requests: sumOf(documents, ({ sent }) => sent.requests),
    },
    already: totalOf(documents, ({ already }) => already),
    rejected: withRun(({ rejected }) => rejected),
    damaged: withRun(({ damaged }) => damaged),
    retries: sumOf(documents, ({ retries }) => retries),
    seconds: Math.round(surroundings.seconds * 1000) / 1000,
    peak_rss_bytes: surroundings.peakRssBytes,
    verified:
      verified.length === 0
        ? null
        : { episodes: sumOf(verified, ({ episodes }) => episodes), ok: verified.every(({ ok }) => ok) },
    complete: isEach && documents.every(({ complete }) => complete),
    partial: results.some(({ document, failure }) => document?.partial === true || isInterruption(failure)),
    ...dryRunOf(documents),
    runs: results.map(entryOf),
  };
}

/** A signal is told by the status of the command; it is no failure of a run. */
export function isInterruption(failure: Failure | null): boolean {
  return failure?.code === 'PRL_ERR_INTERRUPTED';
}

function entryOf({ run, document, failure }: RunResult): RunEntry {
  if (failure === null && document !== null) return document;
  const { code, message, hint } = failure ?? { code: 'PRL_ERR_BUG', message: 'no result', hint: null };
  const error = { code, message, hint };
  return document === null ? { run, error } : { ...document, error };
}

function filterOf(documents: readonly UploadDocument[]): Pick<UploadDocument, 'filter'> {
  const filters = documents.flatMap(({ filter }) => filter ?? []);
  const [first] = filters;
  if (first === undefined) return {};
  const selected = totalOf(filters, (filter) => filter.selected);
  return { filter: { text: first.text, selected, left_out: totalOf(filters, (filter) => filter.left_out) } };
}

function dryRunOf(documents: readonly UploadDocument[]): Pick<UploadDocument, 'dry_run'> {
  const plans = documents.flatMap(({ dry_run: plan }) => plan ?? []);
  if (plans.length === 0) return {};
  return { dry_run: { ...totalOf(plans, (plan) => plan), requests: sumOf(plans, ({ requests }) => requests) } };
}

function totalOf<T>(items: readonly T[], totals: (item: T) => EpisodeTotals): EpisodeTotals {
  return {
    episodes: sumOf(items, (item) => totals(item).episodes),
    bytes: sumOf(items, (item) => totals(item).bytes),
  };
}

function sumOf<T>(items: readonly T[], value: (item: T) => number): number {
  return items.reduce((sum, item) => sum + value(item), 0);
}

/** The last line of a report over several runs: how many came to their end, and what became of the others. */
export function uploadRunsLine(results: readonly RunResult[], format: Format): string {
  const done = results.filter(({ status, failure }) => status === 0 && failure === null).length;
  const others = results
    .filter(({ status, failure }) => status !== 0 || failure !== null)
    .map(({ run, status }) => `${format.text(run)} ended in ${status} (${STATUS_MEANING[status] ?? 'unknown'})`);
  return ` runs      ${[`${format.count(done)} of ${format.count(results.length)} done`, ...others].join('; ')}`;
}
