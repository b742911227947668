/** oclif's hook for a command that does not exist: the form of every other failure, with one suggestion (demand C13). */
import type { Hook } from '@oclif/core';
import { PrlError } from '../core/errors.js';
import { describeFailure, failureDocument, failureLines } from './failure.js';
import { nearest } from './suggest.js';

/** Many command lines have a help command; whoever types it wants what `--help` shows. */
function helpAsked(typed: string, bin: string): string | null {
  const [first, ...topic] = typed.split(' ');
  return first === 'help' && topic.length > 0 ? `see ${[bin, ...topic].join(' ')} --help` : null;
}

const commandNotFound: Hook<'command_not_found'> = async function (options) {
  const { bin } = this.config;
  const typed = options.id.replaceAll(':', ' ');
  const suggestion = nearest(options.id, this.config.commandIDs);
  const next =
    helpAsked(typed, bin) ?? (suggestion === null ? `see ${bin} --help` : `did you mean ${bin} ${suggestion}?`);
  const error = new PrlError('PRL_ERR_USAGE', `no such command: ${typed}`, { hint: next });
  const failure = describeFailure(error, { command: bin, flags: [] });
  if (options.argv?.includes('--json')) {
    process.stdout.write(`${JSON.stringify(failureDocument(failure))}\n`);
  } else {
    process.stderr.write(`${failureLines(failure, bin).join('\n')}\n`);
  }
  this.exit(failure.status);
};

export default commandNotFound;
