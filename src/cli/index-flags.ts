/** The flags of `prl index`, grouped as its help shows them (cli.md, "prl index"). */
import { Flags } from '@oclif/core';
import { countFlag, screenFlags, textFlag } from './flags.js';

/** More threads than any machine has cores for; each costs some 20 MiB. */
const MAX_JOBS = 256;

export const indexFlags = {
  check: Flags.boolean({
    helpGroup: 'WORK',
    exclusive: ['rows', 'force'],
    summary: 'Change nothing: compare the index on disk with a rebuilt one; a difference is exit status 7.',
  }),
  rows: Flags.boolean({
    helpGroup: 'WORK',
    exclusive: ['out', 'check', 'force'],
    summary: 'Write the rows to stdout as NDJSON and change nothing.',
  }),
  out: textFlag({
    helpValue: '<file>',
    helpGroup: 'WORK',
    summary: 'Write the index to this file instead; with --check, compare with it.',
  }),
  force: Flags.boolean({
    helpGroup: 'WORK',
    exclusive: ['out'],
    summary: 'Rebuild in place although a writer may be alive.',
  }),
  full: Flags.boolean({
    helpGroup: 'WORK',
    exclusive: ['check', 'rows', 'out'],
    summary: 'Read everything again, also what an earlier index in place has settled.',
  }),
  strict: Flags.boolean({
    helpGroup: 'RECORDS',
    summary: 'Parse every record in full as well, so that damage inside payloads is found.',
  }),
  tokens: Flags.option({ options: ['auto', 'stored', 'derived'] as const })({
    helpGroup: 'RECORDS',
    default: 'auto',
    summary: "Token counts: the record's own, those its calls add up to, or its own where it has them.",
  }),
  mode: Flags.option({ options: ['compat', 'exact'] as const })({
    helpGroup: 'RECORDS',
    summary:
      'Explicit nulls: as upstream counts them, or as if they were not there. Default: compat where upstream ' +
      'writes an index, else exact.',
  }),
  subset: Flags.option({ options: ['all', 'effective', 'both'] as const })({
    helpGroup: 'RECORDS',
    default: 'all',
    summary: 'Which rollouts of a run that keeps a file a step (July and August 2026).',
  }),
  jobs: countFlag({
    helpValue: '<n>',
    helpGroup: 'LIMITS',
    min: 1,
    max: MAX_JOBS,
    summary: 'Threads. Default: the number of cores, and one for a small run; the rows do not depend on it.',
  }),
  ...screenFlags,
};
