/** Query parameters as typed values, strictly: an unknown name or a bad value is refused, never passed over. */
import { parseInstant } from './instant.js';
import { rejected } from './refusal.js';

/** Reads each parameter at most once, then refuses what nobody has read. */
export class QueryValues {
  readonly #query: URLSearchParams;
  readonly #read = new Set<string>();

  constructor(query: URLSearchParams) {
    this.#query = query;
  }

  text(name: string): string | null {
    const values = this.texts(name);
    if (values.length > 1) throw refuse(name, `it is given ${values.length} times, and one value is taken`);
    return values[0] ?? null;
  }

  /** All values of a parameter that may be repeated. */
  texts(name: string): string[] {
    this.#read.add(name);
    return this.#query.getAll(name);
  }

  flag(name: string): boolean | null {
    const text = this.text(name);
    if (text === null) return null;
    if (text === 'true' || text === 'false') return text === 'true';
    throw refuse(name, `"${text}" is neither true nor false`);
  }

  number(name: string): number | null {
    const text = this.text(name);
    if (text === null) return null;
    const value = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : Number.NaN;
    if (!Number.isFinite(value)) throw refuse(name, `"${text}" is not a number`);
    return value;
  }

  integer(name: string, range: { readonly min: number; readonly max: number }): number | null {
    const value = this.number(name);
    if (value === null) return null;
    const { min, max } = range;
    if (!Number.isInteger(value) || value < min || value > max) {
      throw refuse(name, `${value} is not a whole number from ${min} to ${max}`);
    }
    return value;
  }

  /** Epoch microseconds of an ISO 8601 time. */
  instantUs(name: string): number | null {
    const text = this.text(name);
    if (text === null) return null;
    const atUs = parseInstant(text);
    if (atUs === null) throw refuse(name, `"${text}" is not an ISO 8601 time`);
    return atUs;
  }

  /** All `context.<key>` parameters: each key once. */
  context(): [string, string][] {
    const keys = new Set([...this.#query.keys()].filter((name) => name.startsWith('context.')));
    return [...keys].sort().map((name) => [name.slice('context.'.length), this.text(name) ?? '']);
  }

  /** @throws Refusal 400 `invalid_filter` for a parameter that this route does not have. */
  finish(): void {
    for (const name of this.#query.keys()) {
      if (!this.#read.has(name)) throw refuse(name, 'this route has no such parameter');
    }
  }
}

function refuse(name: string, what: string): Error {
  return rejected('invalid_filter', `query parameter ${name}: ${what}`);
}
