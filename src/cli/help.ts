/** Help as people read it (demand C13): examples first, then usage and flags in groups, then the exit statuses. */
import type { Command } from '@oclif/core';
// The subpath, as in base-command.ts: the whole of oclif takes a third of the time that help may take.
import { CommandHelp, Help } from '@oclif/core/help';
import { STATUS_MEANING } from './exit-codes.js';

/** Statuses that every command can end with. */
const COMMON_STATUSES = [0, 1, 2, 130, 143];

/** The statuses a command declares in `static exitStatuses`, with the common ones, in order. */
function statusesOf(command: Command.Loadable): number[] {
  const own: unknown = Reflect.get(command, 'exitStatuses');
  const declared = Array.isArray(own) ? own.filter((status) => typeof status === 'number') : [];
  return [...new Set([...COMMON_STATUSES, ...declared])].sort((a, b) => a - b);
}

class PrlCommandHelp extends CommandHelp {
  protected override sections(): ReturnType<CommandHelp['sections']> {
    const sections = super.sections();
    const examples = sections.filter((section) => section.header === 'EXAMPLES');
    const others = sections.filter((section) => section.header !== 'EXAMPLES');
    const statuses = statusesOf(this.command);
    const body = statuses.map((status): [string, string] => [String(status), STATUS_MEANING[status] ?? '']);
    const header = 'EXIT STATUS';
    return [...examples, ...others, { header, generate: () => [{ header, body }] }];
  }
}

/** Named in the `oclif` section of package.json as `helpClass`. */
export default class PrlHelp extends Help {
  protected override CommandHelpClass = PrlCommandHelp;

  /** Shows the defaults that the manifest holds: ours depend on nothing, so no command has to be loaded to ask it again. */
  override async showHelp(argv: string[]): Promise<void> {
    for (const command of this.config.commands) command.hasDynamicHelp = false;
    await super.showHelp(argv);
  }
}
