/** Help as people read it (demand C13): examples first, then usage and flags in groups, then the exit statuses. */
import type { Command } from '@oclif/core';
// The subpath, as in base-command.ts: the whole of oclif takes a third of the time that help may take.
import { CommandHelp, Help } from '@oclif/core/help';
import type { HelpList } from './base-command.js';
import { STATUS_MEANING } from './exit-codes.js';

/** Statuses that every command can end with. */
const COMMON_STATUSES = [0, 1, 2, 130, 143];

/** The statuses a command declares in `static exitStatuses`, with the common ones, in order. */
function statusesOf(command: Command.Loadable): number[] {
  const own: unknown = Reflect.get(command, 'exitStatuses');
  const declared = Array.isArray(own) ? own.filter((status) => typeof status === 'number') : [];
  return [...new Set([...COMMON_STATUSES, ...declared])].sort((a, b) => a - b);
}

/** The lists a command declares in `static helpLists`; from the manifest, so their shape is looked at. */
function listsOf(command: Command.Loadable): HelpList[] {
  const own: unknown = Reflect.get(command, 'helpLists');
  return Array.isArray(own) ? own : [];
}

class PrlCommandHelp extends CommandHelp {
  /** The summary stands on top already. */
  protected override description(): string | undefined {
    const { description } = this.command;
    return description === undefined ? undefined : this.wrap(description);
  }

  /** Groups of flags in the order the command declares them, those that every command has last. */
  protected override groupFlags(flags: Command.Flag.Any[]): ReturnType<CommandHelp['groupFlags']> {
    const { mainFlags, flagGroups } = super.groupFlags(flags);
    const declared = Object.values(this.command.flags).map(({ helpGroup }) => helpGroup ?? '');
    const place = (group: string): number => (group === 'GLOBAL' ? declared.length : declared.indexOf(group));
    const groups = Object.entries(flagGroups).sort(([a], [b]) => place(a) - place(b));
    return { mainFlags, flagGroups: Object.fromEntries(groups) };
  }

  protected override sections(): ReturnType<CommandHelp['sections']> {
    const sections = super.sections();
    const examples = sections.filter((section) => section.header === 'EXAMPLES');
    const others = sections.filter((section) => section.header !== 'EXAMPLES');
    const statuses = statusesOf(this.command);
    const lists: HelpList[] = [
      ...listsOf(this.command),
      {
        header: 'EXIT STATUS',
        entries: statuses.map((status): [string, string] => [String(status), STATUS_MEANING[status] ?? '']),
      },
    ];
    return [
      ...examples,
      ...others,
      ...lists.map(({ header, entries }) => ({
        header,
        generate: () => [{ header, body: entries.map(([name, text]): [string, string] => [name, text]) }],
      })),
    ];
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
