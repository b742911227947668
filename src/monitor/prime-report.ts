/** The account of a prime monitor: what its source and its uploads have counted, put together (spec 07 section 5.4). Pure. */
import type { RejectedRecord } from '../io/upload-messages.js';
import type { PrimeLedger } from './prime-ledger.js';
import type { SourceCounts } from './prime-source.js';
import type { FinishReport, PrimeCounts } from './prime-types.js';

type Settled = Pick<PrimeLedger, 'adopted' | 'stored' | 'rejected' | 'unanswered'>;

export function countsOf(source: SourceCounts, { adopted, stored, rejected, unanswered }: Settled): PrimeCounts {
  const { submitted, admitted, dropped, afterClose, inStream, waiting, refused, failed, skipped } = source;
  // What is in the stream may be stored before it is counted as being there.
  const open = Math.max(0, inStream + waiting + adopted - stored - rejected);
  const unknown = Math.min(unanswered, open);
  return {
    ...{ submitted, admitted, dropped, afterClose, adopted, stored, failed, skipped, unknown },
    rejected: refused + rejected,
    unsent: open - unknown,
  };
}

export type ReportFacts = {
  readonly counts: PrimeCounts;
  /** Records that are only in memory. */
  readonly waiting: number;
  /** Records that `log` was told of and that never came into the stream that is followed. */
  readonly missing: number;
  /** Whether everything in the stream is counted, what an earlier process left there as well. */
  readonly isCounted: boolean;
  readonly directory: string;
  readonly rejected: readonly RejectedRecord[];
  readonly stopped: FinishReport['stopped'];
};

export function reportOf(facts: ReportFacts): FinishReport {
  const { counts, waiting, missing, isCounted, directory, rejected, stopped } = facts;
  const { dropped, failed, skipped, unsent, unknown } = counts;
  const records = unsent + unknown - waiting;
  return {
    counts,
    isComplete: isCounted && dropped + failed + skipped + unsent + unknown === 0,
    left: records > 0 || !isCounted ? { directory, records, isCounted } : null,
    lost: waiting,
    missing,
    rejected,
    stopped,
  };
}

/** What is worth a line at the end, one for each; none when everything is settled. */
export function leftOvers({ left, lost, missing }: FinishReport): string[] {
  const lines: string[] = [];
  if (left !== null) {
    const { records, directory, isCounted } = left;
    const what = records > 0 ? [`${episodesAre(records)} not confirmed by the service and kept in ${directory}`] : [];
    const more = isCounted ? [] : [`what else lies in ${directory} was not counted in time`];
    lines.push(`${[...what, ...more].join('; ')}; \`prl upload\` of it sends what is left`);
  }
  if (lost > 0) lines.push(`${episodesAre(lost)} lost: the disk did not take them in time`);
  if (missing > 0) {
    lines.push(`${episodesAre(missing)} not in the stream that is followed; log them to its monitor as well`);
  }
  return lines;
}

export const WERE = ['was', 'were'] as const;

export function episodesAre(count: number, verb: readonly [one: string, many: string] = ['is', 'are']): string {
  return count === 1 ? `1 episode ${verb[0]}` : `${count} episodes ${verb[1]}`;
}
