/**
 * One row of `metrics.jsonl` (spec 01 section 3), character for character as Python's `json.dumps` prints the same
 * values: the readers of that file expect its spaces, escapes and floats. Pure.
 */
import { PrlError } from '../core/errors.js';

/** Metrics by name: numbers, strings, booleans, null, and lists or objects of those. */
export type Metrics = { readonly [name: string]: unknown };

export type MetricsRow = {
  /** With its LF; ASCII. */
  readonly text: string;
  /** Paths of the values left out because they are no finite numbers. */
  readonly dropped: readonly string[];
};

/** What a row says besides the metrics. `timeS`: epoch seconds, always printed as a float. */
export type MetricsRowFacts = {
  readonly step: number | null;
  readonly timeS: number;
  readonly producer: string;
};

/** Lists and objects in each other; no metric is that deep, and a value that holds itself ends here. */
const MAX_DEPTH = 64;

/** Neither the library's types nor Node's know these yet. */
const rawJson = JSON as unknown as {
  rawJSON(text: string): { readonly rawJSON: string };
  isRawJSON(value: unknown): value is { readonly rawJSON: string };
};

/**
 * The row of some metrics: `step`, `time`, the metrics in their order, `producer`. A metric that is called like one of
 * those takes its place, but for the producer's value, as a Python dict would have it.
 *
 * A whole JS number and a bigint are integers, any other number a float; `JSON.rawJSON('1.0')` is a float that is whole.
 * What is not finite is left out, null inside a list. Members that are undefined are not there.
 *
 * @throws PrlError `PRL_ERR_REJECTED` for what JSON has no form for (a function, a symbol, half a surrogate pair, a value
 *   inside itself), naming its path
 */
export function metricsRow(metrics: Metrics, { step, timeS, producer }: MetricsRowFacts): MetricsRow {
  const members = new Map<string, unknown>([
    ['step', step],
    ['time', rawJson.rawJSON(pythonFloat(timeS))],
  ]);
  for (const [name, value] of Object.entries(metrics)) if (value !== undefined) members.set(name, value);
  members.set('producer', producer);
  const printer = new Printer();
  const texts: string[] = [];
  for (const [name, value] of members) {
    const text = printer.print(value, name, 0);
    if (text !== undefined) texts.push(`${printer.quote(name, name)}: ${text}`);
  }
  return { text: `{${texts.join(', ')}}\n`, dropped: printer.dropped };
}

/** A double as Python's `repr` prints it: `1.0`, `1e-05`, `1e+16`. @param value finite */
export function pythonFloat(value: number): string {
  const [mantissa = '', exponentText = ''] = value.toExponential().split('e');
  const exponent = Number(exponentText);
  if (Object.is(value, -0)) return '-0.0';
  if (exponent < -4 || exponent >= 16) {
    return `${mantissa}e${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`;
  }
  const text = String(value);
  return text.includes('.') ? text : `${text}.0`;
}

class Printer {
  readonly dropped: string[] = [];

  /** The text of a value; undefined when its member is left out. */
  print(value: unknown, path: string, depth: number): string | undefined {
    switch (typeof value) {
      case 'undefined':
        return undefined;
      case 'boolean':
      case 'bigint':
        return String(value);
      case 'number':
        return this.#number(value, path);
      case 'string':
        return this.quote(value, path);
      case 'object':
        return value === null ? 'null' : this.#object(value, path, depth);
      default:
        throw rejected(path, `a ${typeof value}`);
    }
  }

  quote(text: string, path: string): string {
    if (!text.isWellFormed()) throw rejected(path, 'half a surrogate pair');
    const escapeUnit = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
    return JSON.stringify(text).replace(/[\x7f-\uffff]/g, escapeUnit);
  }

  #number(value: number, path: string): string | undefined {
    if (!Number.isFinite(value)) {
      this.dropped.push(path);
      return undefined;
    }
    // As an integer JavaScript prints all digits up to 1e21; beyond that it counts as a float everywhere.
    return Number.isInteger(value) && Math.abs(value) < 1e21 ? String(value + 0) : pythonFloat(value);
  }

  #object(value: object, path: string, depth: number): string | undefined {
    if (depth === MAX_DEPTH) throw rejected(path, `more than ${MAX_DEPTH} values inside each other`);
    if (rawJson.isRawJSON(value)) return this.#literal(value.rawJSON, path);
    if (Array.isArray(value) || ArrayBuffer.isView(value)) {
      const list: readonly unknown[] = Array.isArray(value) ? value : Array.from(value as Float64Array);
      const texts = list.map((element, index) => this.print(element, `${path}[${index}]`, depth + 1) ?? 'null');
      return `[${texts.join(', ')}]`;
    }
    const texts: string[] = [];
    for (const [name, member] of Object.entries(value)) {
      const inside = `${path}.${name}`;
      const text = this.print(member, inside, depth + 1);
      if (text !== undefined) texts.push(`${this.quote(name, inside)}: ${text}`);
    }
    return `{${texts.join(', ')}}`;
  }

  /** A literal keeps its kind and takes Python's form; V8 lets scalars through only. */
  #literal(text: string, path: string): string | undefined {
    if (/^-?\d+$/.test(text)) return text === '-0' ? '0' : text;
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'number') return this.print(value, path, 0);
    if (Number.isFinite(value)) return pythonFloat(value);
    this.dropped.push(path);
    return undefined;
  }
}

function rejected(path: string, what: string): PrlError {
  return new PrlError('PRL_ERR_REJECTED', `the metric ${path} holds ${what}, which JSON has no form for`, {
    hint: 'log numbers, strings, booleans, null, and lists or objects of those',
  });
}
