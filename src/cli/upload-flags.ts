/** The flags of `prl upload`, grouped as its help shows them (cli.md, "prl upload"). */
import { Flags } from '@oclif/core';
import { PrlError } from '../core/errors.js';
import {
  DEFAULT_BUDGET_BYTES,
  DEFAULT_MAX_WAIT_MS,
  DEFAULT_TARGET_BATCH_BYTES,
  FIRST_ATTEMPTS,
  MAX_BATCH_BYTES,
  MAX_CONCURRENCY,
} from '../core/upload/limits.js';
import { filterFlags } from './filter-flags.js';
import { countFlag, durationFlag, rateFlag, screenFlags, sizeFlag, textFlag } from './flags.js';

export const uploadFlags = {
  url: textFlag({
    helpValue: '<url>',
    helpGroup: 'SERVICE',
    exclusive: ['local'],
    summary: 'The service. Default: $PRIME_TRACES_URL, else traces_url of ~/.prime/config.json.',
  }),
  local: Flags.boolean({
    helpGroup: 'SERVICE',
    summary: 'The embedded service, for the length of the command; its data is kept in $PRL_DATA_DIR, else XDG.',
  }),
  insecure: Flags.boolean({
    helpGroup: 'SERVICE',
    summary: 'Allow the API key over plain HTTP to another machine.',
  }),
  'run-id': textFlag({
    helpValue: '<id>',
    helpGroup: 'RECORDS',
    summary: "The run the episodes belong to. Default: the records' own, else $PRL_RUN_ID, else $RUN_ID.",
  }),
  stamp: Flags.boolean({
    helpGroup: 'RECORDS',
    allowNo: true,
    default: true,
    summary: 'Write the run into records that do not name it everywhere; --no-stamp sends every byte as it is.',
  }),
  context: Flags.string({
    helpGroup: 'RECORDS',
    multiple: true,
    multipleNonGreedy: true,
    helpValue: '<key=value>',
    summary: 'A label for every request, repeatable.',
  }),
  'retry-rejected': Flags.boolean({
    helpGroup: 'RECORDS',
    summary: 'Send only what an earlier upload recorded as rejected.',
  }),
  ...filterFlags,
  concurrency: countFlag({
    helpValue: '<n>',
    helpGroup: 'LIMITS',
    min: 1,
    max: MAX_CONCURRENCY,
    summary: 'Requests in flight. Default: between 1 and 8, as many as the service answers without slowing down.',
  }),
  batch: sizeFlag({
    helpGroup: 'LIMITS',
    default: DEFAULT_TARGET_BATCH_BYTES,
    defaultHelp: async () => '30MiB',
    min: 1,
    max: MAX_BATCH_BYTES,
    summary: 'Uncompressed bytes a request aims at.',
  }),
  budget: sizeFlag({
    helpGroup: 'LIMITS',
    default: DEFAULT_BUDGET_BYTES,
    min: 1024 * 1024,
    summary: 'Everything held in memory: read, waiting, in flight, kept for a retry, being compressed.',
  }),
  bwlimit: rateFlag({
    helpValue: '<rate>',
    helpGroup: 'LIMITS',
    min: 1024,
    summary: 'Bytes of request bodies a second, all requests together, e.g. 10MiB/s. Default: no limit.',
  }),
  'max-attempts': countFlag({
    helpValue: '<n>',
    helpGroup: 'LIMITS',
    min: 1,
    summary: `Attempts for one request, the first included. Default: ${FIRST_ATTEMPTS}, and no limit once the service has stored something, or with --follow.`,
  }),
  'max-wait': durationFlag({
    helpGroup: 'LIMITS',
    default: DEFAULT_MAX_WAIT_MS,
    summary: 'Longest time the service may ask to wait; when it asks for more, the upload ends with status 5.',
  }),
  compress: Flags.option({ options: ['gzip', 'none'] as const })({
    helpGroup: 'LIMITS',
    default: 'gzip',
    summary: 'How request bodies travel.',
  }),
  follow: Flags.boolean({
    char: 'f',
    helpGroup: 'WORK',
    exclusive: ['dry-run', 'retry-rejected'],
    summary: 'Go on while the run grows; end when it is finished and all of it is settled.',
  }),
  'dry-run': Flags.boolean({
    helpGroup: 'WORK',
    summary: 'Read the run and tell what would go where; no request, no write.',
  }),
  verify: Flags.boolean({
    helpGroup: 'WORK',
    exclusive: ['dry-run'],
    summary: 'Read the episodes back afterwards and compare them; a difference is exit status 7.',
  }),
  ...screenFlags,
};

/** Who follows a run for days is there when the service comes; who uploads what there is wants to know that none is there. */
export function maxAttemptsOf(given: number | undefined, follows: boolean): number | undefined {
  return given ?? (follows ? Number.POSITIVE_INFINITY : undefined);
}

/** @throws PrlError `PRL_ERR_USAGE` when several runs are to be followed: the first might never end */
export function refuseSeveralFollowed(runs: readonly string[], follows: boolean): void {
  if (!follows || runs.length < 2) return;
  throw new PrlError('PRL_ERR_USAGE', `--follow takes one run, not ${runs.length}`, {
    hint: 'start one prl for each run that is to be followed',
  });
}

/** @throws PrlError `PRL_ERR_USAGE` when standard input, which can be read once, is among the runs twice */
export function refuseRepeatedStdin(runs: readonly string[]): void {
  if (runs.filter((run) => run === '-').length < 2) return;
  throw new PrlError('PRL_ERR_USAGE', 'standard input is named twice among the runs', { hint: 'leave one - out' });
}

/**
 * The batch context of `--context key=value`; a later value of a key wins, a value may contain `=`.
 *
 * @throws PrlError PRL_ERR_USAGE for a pair without `=` or with an empty key
 */
export function parseContext(pairs: readonly string[]): Readonly<Record<string, string>> {
  const context = new Map<string, string>();
  for (const pair of pairs) {
    const at = pair.indexOf('=');
    if (at < 1) {
      throw new PrlError('PRL_ERR_USAGE', `--context takes key=value, not ${JSON.stringify(pair)}`, {
        hint: 'give a key, an equals sign and a value, e.g. --context source=nightly',
      });
    }
    context.set(pair.slice(0, at), pair.slice(at + 1));
  }
  return Object.fromEntries(context);
}
