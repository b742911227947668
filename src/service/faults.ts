/**
 * The trouble a service can be asked to make, as values: `--fault NAME=VALUE` of serve and loadtest, parsed. What each
 * fault does is in docs/serve.md; `fault-injector.ts` does it.
 */
import { PrlError } from '../core/errors.js';
import { parseDuration, parseRate } from '../core/units.js';

/** Zero everywhere: no trouble. */
export type Faults = {
  /** Added before every answer; the request itself is read at once. */
  readonly latencyMs: number;
  /** Bytes a second over all connections together, uploads and raw documents; 0 is unbounded. */
  readonly bandwidthBytesPerSecond: number;
  /** Share of requests, 0 to 1, declined with 429, 502 or 503. */
  readonly errorsRatio: number;
  /** From the first upload on, for this long, nothing is read and nothing answered. */
  readonly stallMs: number;
  /** Share of stored uploads, 0 to 1, whose connection is cut instead of the receipt being sent. */
  readonly lostResponseRatio: number;
  /** From the first upload on, for this long, every request is declined with 503 and Retry-After. */
  readonly stormMs: number;
};

export const NO_FAULTS: Faults = {
  latencyMs: 0,
  bandwidthBytesPerSecond: 0,
  errorsRatio: 0,
  stallMs: 0,
  lostResponseRatio: 0,
  stormMs: 0,
};

type FaultName = { readonly key: keyof Faults; readonly parse: (text: string) => number | null; readonly form: string };

const FAULT_NAMES: ReadonlyMap<string, FaultName> = new Map([
  ['latency', { key: 'latencyMs', parse: asFlag(parseDuration), form: 'a duration such as 80ms' }],
  ['bandwidth', { key: 'bandwidthBytesPerSecond', parse: asFlag(parseRate), form: 'a rate such as 40MB/s' }],
  ['errors', { key: 'errorsRatio', parse: share, form: 'a share such as 5%' }],
  ['stall', { key: 'stallMs', parse: asFlag(parseDuration), form: 'a duration such as 10s' }],
  ['lost-response', { key: 'lostResponseRatio', parse: share, form: 'a share such as 1%' }],
  ['storm', { key: 'stormMs', parse: asFlag(parseDuration), form: 'a duration such as 30s' }],
]);

/**
 * Parses the values of a repeated `--fault`; the last of one name counts.
 *
 * @throws PrlError PRL_ERR_USAGE naming the unknown name or the bad value.
 */
export function parseFaults(texts: readonly string[]): Faults {
  const faults: Record<keyof Faults, number> = { ...NO_FAULTS };
  for (const text of texts) {
    const [name = '', value] = text.split(/=(.*)/s);
    const known = FAULT_NAMES.get(name);
    if (known === undefined) {
      const names = [...FAULT_NAMES.keys()].join(', ');
      throw new PrlError('PRL_ERR_USAGE', `--fault ${text}: unknown fault "${name}", known are ${names}`);
    }
    const parsed = value === undefined ? null : known.parse(value);
    if (parsed === null) {
      throw new PrlError('PRL_ERR_USAGE', `--fault ${text}: ${name} takes ${known.form}, not "${value ?? ''}"`);
    }
    faults[known.key] = parsed;
  }
  return faults;
}

function share(text: string): number | null {
  const percent = Number(/^(\d{1,9}(?:\.\d{1,6})?)%$/.exec(text)?.[1]);
  return percent <= 100 ? percent / 100 : null;
}

/** What a flag of the command line would make of the text (cli.md: one way to write a size, a duration, a rate). */
function asFlag(parse: (text: string) => number): (text: string) => number | null {
  return (text) => {
    try {
      return parse(text);
    } catch (error) {
      if (error instanceof PrlError) return null; // the caller says which fault takes what
      throw error;
    }
  };
}
