/** Flags that mean the same in every command: sizes, durations and rates, and how progress is shown. */
import { boolean, custom, integer } from '@oclif/core/flags';
import { PrlError } from '../core/errors.js';
import { parseDuration, parseRate, parseSize, writeDuration, writeSize } from '../core/units.js';

/** The least and the most a flag takes, in its base unit (bytes, milliseconds, bytes per second); both included. */
type Bounds = { readonly min?: number; readonly max?: number };

function within(value: number, text: string, bounds: Bounds, write: (value: number) => string): number {
  const { min = 0, max = Number.MAX_SAFE_INTEGER } = bounds;
  if (value >= min && value <= max) return value;
  const allowed = max === Number.MAX_SAFE_INTEGER ? `at least ${write(min)}` : `${write(min)} to ${write(max)}`;
  throw new PrlError('PRL_ERR_USAGE', `${text} is out of range: ${allowed}`);
}

/** Shows a default as a user would type it, not as the number it is kept as. */
function defaultText(write: (value: number) => string) {
  return async ({ options }: { readonly options: { readonly default?: unknown } }): Promise<string | undefined> =>
    typeof options.default === 'number' ? write(options.default) : undefined;
}

function writeRate(bytesPerSecond: number): string {
  return `${writeSize(bytesPerSecond)}/s`;
}

/** A flag holding bytes: `--batch 30MiB`. */
export const sizeFlag = custom<number, Bounds>({
  helpValue: '<size>',
  defaultHelp: defaultText(writeSize),
  parse: async (text, _context, options) => within(parseSize(text), text, options, writeSize),
});

/** A flag holding milliseconds: `--max-wait 15m`. */
export const durationFlag = custom<number, Bounds>({
  helpValue: '<duration>',
  defaultHelp: defaultText(writeDuration),
  parse: async (text, _context, options) => within(parseDuration(text), text, options, writeDuration),
});

/** A flag holding bytes per second: `--bwlimit 40MiB/s`. */
export const rateFlag = custom<number, Bounds>({
  helpValue: '<rate>',
  defaultHelp: defaultText(writeRate),
  parse: async (text, _context, options) => within(parseRate(text), text, options, writeRate),
});

/** A flag holding text; `--url "$UNSET"` is a mistake, never the default. */
export const textFlag = custom<string>({
  parse: async (text) => {
    if (text.trim() !== '') return text;
    throw new PrlError('PRL_ERR_USAGE', 'it is empty', { hint: 'give it a value or leave the flag out' });
  },
});

/** A flag holding a whole number: `--concurrency 4`. Range checked by oclif. */
export const countFlag = integer;

/** How progress is shown; spread into the flags of a command that has a live view. */
export const screenFlags = {
  tui: boolean({
    allowNo: true,
    helpGroup: 'OUTPUT',
    summary: 'Show the live view, or plain lines. Default: the live view on a terminal, outside CI.',
  }),
  'progress-interval': durationFlag({
    helpGroup: 'OUTPUT',
    default: 30_000,
    max: 86_400_000,
    summary: 'Time between two plain lines; 0 prints none but the first and the summary.',
  }),
};
