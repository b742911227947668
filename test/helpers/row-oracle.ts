/**
 * The index row of a record, restated straight from spec 04 on JSON.parse: the judge of core/index and of every walker,
 * so it shares no code with them. Slow and plain on purpose. Numbers are told apart as Python does it: an integer is a
 * bigint, a float is a number. A key gets `=` in front before parsing, so that keys like `10` or `__proto__` keep their
 * place; of a repeated key the last value stands where the first one stood, as in a Python dict.
 */

export type OracleOptions = {
  readonly line: number;
  readonly offset: number;
  /** Null leaves the key out, as in the layout before chunks. */
  readonly chunk: number | null;
  /** `auto`: stored counts if the record has both as integers. */
  readonly tokens: 'auto' | 'derived';
  /** `exact` does not count null parents, passes over null stops and knows the older name `context_length`. */
  readonly mode: 'compat' | 'exact';
};

type Numeric = bigint | number;
type Fields = { readonly [key: string]: Json };
type Json = null | boolean | string | Numeric | readonly Json[] | Fields;

const LIMITS = ['max_turns', 'max_input_tokens', 'max_output_tokens', 'max_total_tokens', 'compaction_failed'];
/** A string, with the colon that makes it a key. */
const STRING = /"([^"\\]*(?:\\.[^"\\]*)*)"(\s*:)?/gs;
const MIN_INT = -(2n ** 63n);
const MAX_INT = 2n ** 64n - 1n;

/**
 * The row without its line end. Takes one line with or without LF: an episode, or a bare trace, which is wrapped.
 * A lone surrogate escape is printed in lower case.
 * @throws SyntaxError or TypeError for what is no JSON or no UTF-8
 */
export function oracleRow(line: Uint8Array, options: OracleOptions): string {
  const record = asEpisode(
    parseKeepingNumbers(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(line)),
  );
  const traces = elements(record, 'traces');
  const rewards = traces.filter((trace) => memberCount(member(trace, 'rewards')) > 0).map(rewardOf);
  const advantages = traces.map((trace) => path(trace, 'info', 'advantage')).filter(isNumeric);
  const costs = traces.flatMap((trace) => elements(trace, 'calls').map((call) => path(call, 'usage', 'cost')));
  const nodes = traces.flatMap((trace) => elements(trace, 'nodes'));
  const dispatch = path(traces[0], 'info', 'dispatch', 'time');
  const arrival = path(traces[0], 'info', 'arrival', 'time');
  const tokens = countsOf(record, traces, options.tokens);
  const row: Record<string, Json | undefined> = {
    cost: costs.some(isNumeric) ? pythonSum(costs.filter(isNumeric)) : null,
    line: BigInt(options.line),
    offset: BigInt(options.offset),
    id: stringOrNull(member(record, 'id')),
    kind: kindOf(record, traces),
    trace_ids: traces.map((trace) => stringOrNull(member(trace, 'id')) ?? '').filter((id) => id !== ''),
    env: envOf(record),
    group: stringOrNull(path(record, 'group', 'id')),
    ok: booleanOrNull(member(record, 'ok')),
    num_errors: BigInt(elements(record, 'errors').length),
    reward: meanOf(rewards),
    advantage: meanOf(advantages),
    input_tokens: tokens.input,
    output_tokens: tokens.output,
    turns: BigInt(nodes.filter((node) => path(node, 'message', 'role') === 'assistant').length),
    branches: BigInt(traces.reduce<number>((sum, trace) => sum + branchesOf(trace, options.mode), 0)),
    stop_condition: stopOf(traces, options.mode),
    truncated: traces.some((trace) => isTruncated(trace, options.mode)),
    dispatch: isNumeric(dispatch) ? dispatch : null,
    arrival: isNumeric(arrival) ? arrival : null,
    duration: durationOf(traces, dispatch, arrival),
  };
  if (options.chunk !== null) row.chunk = BigInt(options.chunk);
  return `{${Object.entries(row).map(([key, value]) => `${JSON.stringify(key)}:${print(value ?? null)}`)}}`;
}

/** The text as values whose keys all have `=` in front. A number out of the range of 64 bits is a float, as orjson reads it. */
export function parseKeepingNumbers(text: string): Json {
  const marked = text.replace(STRING, (_whole, body, colon) => (colon === undefined ? `"${body}"` : `"=${body}":`));
  const reviver = (_key: string, value: Json, context: { readonly source: string }): Json => {
    if (typeof value !== 'number') return value;
    if (/[.eE]/.test(context.source)) return value;
    const exact = BigInt(context.source);
    return exact >= MIN_INT && exact <= MAX_INT ? exact : value;
  };
  // The library's types do not know the third argument yet.
  return JSON.parse(marked, reviver as (key: string, value: Json) => Json);
}

/** A bare trace as the episode that spec 01 section 2 makes of it. */
function asEpisode(record: Json): Json {
  if (Array.isArray(member(record, 'traces')) || member(record, 'nodes') === undefined) return record;
  const info = member(record, 'info') ?? null;
  return {
    '=traces': [record],
    '=ok': member(record, 'ok') ?? null,
    '=errors': [],
    '=run': member(record, 'run') ?? null,
    '=env': { '=id': member(info, 'env_name') ?? null },
    '=group': { '=id': member(info, 'group_id') ?? null },
  };
}

/** 4.1 */
function kindOf(record: Json, traces: readonly Json[]): string {
  for (const trace of traces) {
    const kind = path(trace, 'info', 'kind');
    if (kind === 'train' || kind === 'eval') return kind;
  }
  const types = [path(record, 'run', 'work', 'type'), path(record, 'run', 'type'), 'eval'];
  return types.find((type): type is string => typeof type === 'string' && type !== '') ?? 'eval';
}

/** 4.7 */
function envOf(record: Json): Json {
  const name = path(record, 'env', 'name');
  return typeof name === 'string' && name !== '' ? name : stringOrNull(path(record, 'env', 'id'));
}

/** 4.2: the value of one trace whose rewards are a non-empty map. */
function rewardOf(trace: Json): Numeric {
  const entries = Object.values(member(trace, 'rewards') as Fields).filter(isObject);
  return pythonSum(
    entries.map((entry) => {
      const [score, weight] = [member(entry, 'score'), member(entry, 'weight')];
      const factor = isNumeric(weight) ? weight : 1n;
      // `score or 0` of Python: also 0.0 becomes the integer.
      return isNumeric(score) && Number(score) !== 0 ? times(score, factor) : times(0n, factor);
    }),
  );
}

/** 4.3 */
function countsOf(
  record: Json,
  traces: readonly Json[],
  tokens: 'auto' | 'derived',
): { input: bigint; output: bigint } {
  const [input, output] = [member(record, 'num_input_tokens'), member(record, 'num_output_tokens')];
  if (tokens === 'auto' && typeof input === 'bigint' && typeof output === 'bigint') return { input, output };
  const sums = { input: 0n, output: 0n };
  for (const trace of traces) {
    const derived = derivedCounts(trace);
    sums.input += derived.input;
    sums.output += derived.output;
  }
  return sums;
}

/** 02 section 5: increments over distinct calls, completions once a branch. */
function derivedCounts(trace: Json): { input: bigint; output: bigint } {
  const counts = { input: 0n, output: 0n };
  const calls = elements(trace, 'calls');
  const seen = new Set<Json>();
  for (const branch of branchPaths(trace)) {
    let previous = 0n;
    for (const node of branch) {
      const call = calls.findLast((one) => member(one, 'node') === BigInt(node));
      const usage = member(call, 'usage');
      if (call === undefined || !isObject(usage)) continue;
      const input = countIn(usage, 'prompt_tokens') + countIn(usage, 'cached_input_tokens');
      const completion = countIn(usage, 'completion_tokens');
      if (!seen.has(call) && input > previous) counts.input += input - previous;
      seen.add(call);
      counts.output += completion;
      previous = input + completion;
    }
  }
  return counts;
}

/** Indexes of nodes from root to leaf. A parent that is no index of a node is none, and a walk stops where it was. */
function branchPaths(trace: Json): number[][] {
  const nodes = elements(trace, 'nodes');
  const parents = nodes.map((node) => {
    const parent = member(node, 'parent');
    return typeof parent === 'bigint' && parent >= 0n && parent < BigInt(nodes.length) ? Number(parent) : null;
  });
  const leaves = nodes.map((_, index) => index).filter((index) => !parents.includes(index));
  return leaves.map((leaf) => {
    const walked: number[] = [];
    for (let at: number | null = leaf; at !== null && !walked.includes(at); at = parents[at] ?? null) walked.push(at);
    return walked.reverse();
  });
}

/** 4.4, by Python's equality: 1, 1.0 and true are one value. Lists are one, objects another: Python refuses both. */
function branchesOf(trace: Json, mode: 'compat' | 'exact'): number {
  const nodes = elements(trace, 'nodes');
  const parents = nodes.map((node) => member(node, 'parent')).filter((parent) => parent !== undefined);
  const counted = mode === 'exact' ? parents.filter((parent) => parent !== null) : parents;
  return Math.max(0, nodes.length - new Set(counted.map(pythonKey)).size);
}

function pythonKey(parent: Json): Json {
  if (typeof parent === 'boolean') return parent ? 1n : 0n;
  if (typeof parent === 'object' && parent !== null) return Array.isArray(parent) ? 'a list' : 'an object';
  if (typeof parent === 'string') return `"${parent}"`;
  return typeof parent === 'number' && Number.isInteger(parent) ? BigInt(parent) : parent;
}

/** 4.5; what is no string counts as null. */
function stopOf(traces: readonly Json[], mode: 'compat' | 'exact'): string | null {
  let stop: string | null = null;
  for (const trace of traces) {
    const value = member(trace, 'stop_condition');
    if (typeof value === 'string') stop = value;
    else if (value !== undefined && mode === 'compat') stop = null;
  }
  return stop;
}

function isTruncated(trace: Json, mode: 'compat' | 'exact'): boolean {
  const stop = member(trace, 'stop_condition');
  if (typeof stop === 'string' && (LIMITS.includes(stop) || (mode === 'exact' && stop === 'context_length')))
    return true;
  const last = elements(trace, 'calls').findLast((call) => isObject(call) && (member(call, 'error') ?? null) === null);
  return member(last, 'finish_reason') === 'length';
}

/** 4.6 */
function durationOf(traces: readonly Json[], dispatch: Json | undefined, arrival: Json | undefined): Json {
  if (isNumeric(dispatch) && isNumeric(arrival)) {
    const span = minus(arrival, dispatch);
    if (span > 0) return span;
    return 0; // also for no number, as Python's max
  }
  const phases = new Map<string, number>();
  const add = (name: string, seconds: Numeric) => phases.set(name, (phases.get(name) ?? 0) + Number(seconds));
  const visit = (span: Fields, prefix: string) => {
    const [duration, start, end] = [member(span, 'duration'), member(span, 'start'), member(span, 'end')];
    if (isNumeric(duration)) add(prefix, duration);
    else if (isNumeric(start) && isNumeric(end)) add(prefix, minus(end, start));
    for (const [key, value] of Object.entries(span)) {
      if (isObject(value)) visit(value, prefix === '' ? key.slice(1) : `${prefix}/${key.slice(1)}`);
    }
  };
  for (const trace of traces) {
    const timing = member(trace, 'timing');
    if (isObject(timing)) visit(timing, '');
  }
  const outer = [...phases].filter(([name]) => !name.includes('/')).map(([, seconds]) => seconds);
  return outer.length === 0 ? null : pythonSum(outer);
}

/** 3: the built-in sum of Python 3.12 and newer. */
export function pythonSum(items: readonly Numeric[]): Numeric {
  let total: Numeric = 0n;
  let lost = 0;
  for (const item of items) {
    if (typeof total === 'bigint') {
      total = typeof item === 'bigint' ? total + item : Number(total) + item;
    } else if (typeof item === 'bigint') {
      total += Number(item);
    } else {
      const sum: number = total + item;
      lost += Math.abs(total) >= Math.abs(item) ? total - sum + item : item - sum + total;
      total = sum;
    }
  }
  return typeof total === 'number' && lost !== 0 && Number.isFinite(lost) ? total + lost : total;
}

function meanOf(values: readonly Numeric[]): Json {
  if (values.length === 0) return null;
  const total = pythonSum(values);
  return typeof total === 'number' ? total / values.length : divideRounded(total, BigInt(values.length));
}

/** A quotient of integers, rounded once: 64 bits behind the point, the last of which stands for all that follow. */
function divideRounded(total: bigint, count: bigint): number {
  const size = total < 0n ? -total : total;
  const scaled = (size << 64n) / count;
  const rest = (size << 64n) % count === 0n ? 0n : 1n;
  const quotient = Number((scaled << 1n) | rest) / 2 ** 65;
  return total < 0n ? -quotient : quotient;
}

function times(left: Numeric, right: Numeric): Numeric {
  return typeof left === 'bigint' && typeof right === 'bigint' ? left * right : Number(left) * Number(right);
}

function minus(left: Numeric, right: Numeric): Numeric {
  return typeof left === 'bigint' && typeof right === 'bigint' ? left - right : Number(left) - Number(right);
}

/** Text as orjson 3.11.7 and newer prints it. */
function print(value: Json): string {
  if (typeof value === 'number') return printFloat(value);
  if (typeof value === 'bigint') return String(value);
  if (Array.isArray(value)) return `[${value.map(print)}]`;
  return JSON.stringify(value);
}

/** Shortest digits; positional from 1e-5 up to but without 1e16. */
function printFloat(value: number): string {
  if (!Number.isFinite(value)) return 'null';
  if (value === 0) return Object.is(value, -0) ? '-0.0' : '0.0';
  const [mantissa = '', exponentText = ''] = Math.abs(value).toExponential().split('e');
  const digits = mantissa.replace('.', '');
  const exponent = Number(exponentText);
  const sign = value < 0 ? '-' : '';
  if (exponent < -5 || exponent >= 16) return `${sign}${mantissa}e${exponent < 0 ? '-' : '+'}${Math.abs(exponent)}`;
  if (exponent < 0) return `${sign}0.${'0'.repeat(-exponent - 1)}${digits}`;
  const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, '0');
  return `${sign}${whole}.${digits.slice(exponent + 1) || '0'}`;
}

function isObject(value: Json | undefined): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isNumeric(value: Json | undefined): value is Numeric {
  return typeof value === 'bigint' || typeof value === 'number';
}

function member(value: Json | undefined, key: string): Json | undefined {
  return isObject(value) ? value[`=${key}`] : undefined;
}

function path(value: Json | undefined, ...keys: readonly string[]): Json | undefined {
  return keys.reduce(member, value);
}

function elements(value: Json | undefined, key: string): readonly Json[] {
  const list = member(value, key);
  return Array.isArray(list) ? list : [];
}

function memberCount(value: Json | undefined): number {
  return isObject(value) ? Object.keys(value).length : 0;
}

function countIn(usage: Fields, key: string): bigint {
  const count = member(usage, key);
  return typeof count === 'bigint' ? count : 0n;
}

function stringOrNull(value: Json | undefined): string | null {
  return typeof value === 'string' ? value : null;
}

function booleanOrNull(value: Json | undefined): boolean | null {
  return typeof value === 'boolean' ? value : null;
}
