/** What `prl index` refuses before it begins, and what it fails with at its end. */
import { PrlError } from '../core/errors.js';
import type { RowDifference } from '../core/index/compare.js';
import { differencePlace } from './difference-lines.js';
import type { Format } from './format.js';
import { countDifferences, type IndexDocument } from './index-document.js';
import { shellLine } from './shell-words.js';

/**
 * @throws PrlError `PRL_ERR_USAGE` for flags that do not go together, where oclif's own rules do not reach
 */
export function refuseCombination(flags: {
  readonly rows: boolean;
  readonly json: boolean;
  readonly out: string | undefined;
}): void {
  if (flags.rows && flags.json) {
    throw new PrlError('PRL_ERR_USAGE', '--rows and --json: rows and a document cannot share stdout', {
      hint: 'leave one of them out; --out FILE --json gives both',
    });
  }
  if (flags.out === '-') {
    throw new PrlError('PRL_ERR_USAGE', '--out - names no file', { hint: 'use --rows to write the rows to stdout' });
  }
}

/** The command that repairs what a check found wrong: the same without the check. */
export function repairWords(words: readonly string[]): string[] {
  return words.filter((word) => word !== '--check' && word !== '--json');
}

/** The failure of a check: how many differences, the first of them, and how to repair it. Null when all is right. */
export function indexFailure(document: IndexDocument, repair: readonly string[], format: Format): PrlError | null {
  const wrong = document.streams.filter(({ check }) => check?.ok === false);
  const [stream] = wrong;
  if (stream === undefined) return null;
  const count = countDifferences(document.streams);
  const first = stream.check?.differences.find(({ kind }) => kind !== 'line_gap');
  const fields =
    first === undefined || first.fields.length === 0 ? '' : ` (${first.fields.map(({ key }) => key).join(', ')})`;
  const what =
    first === undefined ? '' : `; the first: ${first.kind} at ${differencePlace(first, stream.holds, format)}${fields}`;
  const differences = count === 1 ? '1 difference' : `${format.count(count)} differences`;
  return new PrlError(
    'PRL_ERR_INTEGRITY',
    `${differences} between ${stream.index} and the rows of ${stream.stream}${what}`,
    { hint: hintFor(first, repair) },
  );
}

/** A row is made again from the stream; nothing makes the stream again. */
function hintFor(first: RowDifference | undefined, repair: readonly string[]): string {
  if (first?.kind !== 'changed_data') return `rebuild it: ${shellLine(repair)}`;
  return `restore the chunk from a copy, or take it as it is now: ${shellLine([...repair, '--full'])}`;
}
