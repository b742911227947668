/**
 * Random episodes: the fields of spec 02 as producers write them, and as nobody should: missing, null, of the wrong
 * type, numbers of every size and spelling, graphs with cycles and parents that are none.
 */
import fc from 'fast-check';
import { array, type JsonTree, literal, object, string } from './json-tree.js';

type Tree = fc.Arbitrary<JsonTree>;

const text: fc.Arbitrary<string> = fc.oneof(
  { weight: 6, arbitrary: fc.string({ maxLength: 12 }) },
  { weight: 3, arbitrary: fc.string({ unit: 'binary', maxLength: 12 }) },
  // Every code unit, so with surrogates that have no pair.
  { weight: 1, arbitrary: fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 6 }).map(fromUnits) },
);
const anyString: Tree = text.map(string);

const smallInteger: Tree = fc.nat(5000).map((value) => literal(String(value)));
const anyInteger: Tree = fc
  .oneof(
    fc.integer().map(String),
    fc.maxSafeInteger().map(String),
    fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }).map(String),
    fc.constantFrom('0', '-0', '9007199254740993', '9223372036854775807', '-9223372036854775809'),
    fc.constantFrom('18446744073709551615', '18446744073709551616', `1${'0'.repeat(40)}`),
  )
  .map(literal);

const plainFloat: Tree = fc
  .integer({ min: -100_000, max: 1_000_000 })
  .map((value) => literal((value / 100).toFixed(2)));
const anyFloat: Tree = fc
  .tuple(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.nat(4))
  .map(([value, spelling]) => literal(floatText(value, spelling)));

const time: Tree = fc.nat(10_000_000).map((value) => literal((1_790_000_000 + value / 1000).toFixed(3)));
/** Numbers whose sums show whether rounding is made up for, and now and then one of any size. */
function summand(...usual: readonly string[]): Tree {
  return fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...usual).map(literal) },
    { weight: 4, arbitrary: plainFloat },
    { weight: 2, arbitrary: smallInteger },
    { weight: 1, arbitrary: anyFloat },
    { weight: 1, arbitrary: anyInteger },
  );
}

const cost = summand('0.1', '0.2', '0.3', '1.5e-6', '0', '-0.0', '1e16', '-1e16', '1', '1.0');
const score = summand('0', '1', '0.0', '-0.0', '1.0', '0.1', '0.25', '-1', '1e16', '-1e16');
const moment: Tree = fc.oneof({ weight: 4, arbitrary: time }, { weight: 1, arbitrary: cost });

/** A value of any kind where another belongs. */
const odd: Tree = fc.oneof(
  fc.constantFrom('null', 'true', 'false', '0', '1', '-1', '1.0').map(literal),
  anyFloat,
  anyString,
  fc.constantFrom(array([]), object([]), array([literal('null')]), object([['id', string('x')]])),
);

/** Members that all may be missing or of another type, in this order, and now and then one that nobody knows. */
function record(members: Readonly<Record<string, Tree>>): Tree {
  const fields = Object.entries(members).map(([key, value]) =>
    fc.oneof(
      { weight: 20, arbitrary: value.map((tree) => [key, tree] as const) },
      { weight: 2, arbitrary: fc.constant(null) },
      { weight: 1, arbitrary: odd.map((tree) => [key, tree] as const) },
    ),
  );
  const unknown = fc.oneof(
    { weight: 8, arbitrary: fc.constant(null) },
    { weight: 1, arbitrary: fc.tuple(text, payload) },
  );
  return fc.tuple(...fields, unknown).map((found) => object(found.filter((member) => member !== null)));
}

/** Anything, nested: what stands where no row looks. */
const payload: Tree = fc.letrec<{ tree: JsonTree }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 3 },
    { weight: 3, arbitrary: fc.oneof(anyString, smallInteger, anyFloat, fc.constant(literal('null'))) },
    { weight: 1, arbitrary: fc.array(tie('tree'), { maxLength: 4 }).map(array) },
    { weight: 1, arbitrary: fc.array(fc.tuple(text, tie('tree')), { maxLength: 3 }).map(object) },
  ),
})).tree;

const numbers: Tree = fc.array(fc.oneof(smallInteger, plainFloat), { maxLength: 12 }).map(array);
const message = record({
  role: fc.constantFrom('user', 'assistant', 'assistant', 'system', 'tool', 'Assistant').map(string),
  content: fc.oneof(anyString, payload),
  tool_calls: payload,
});

/** Mostly the node before, else any earlier one, itself, a later one, or no index at all. */
function parentOf(index: number): Tree {
  return fc.oneof(
    { weight: 12, arbitrary: fc.constant(literal(String(Math.max(0, index - 1)))) },
    { weight: 6, arbitrary: fc.nat(Math.max(0, index - 1)).map((parent) => literal(String(parent))) },
    { weight: 2, arbitrary: fc.nat(index + 3).map((parent) => literal(String(parent))) },
    { weight: 1, arbitrary: fc.constantFrom('-1', '1.0', 'null', '99999999999', '0e0', 'true').map(literal) },
    { weight: 1, arbitrary: anyString },
  );
}

const nodes: Tree = fc.integer({ min: 0, max: 7 }).chain((count) => {
  const list = Array.from({ length: count }, (_, index) => {
    const fields = {
      message,
      sampled: fc.constantFrom('true', 'false').map(literal),
      token_ids: numbers,
      logprobs: numbers,
    };
    return orOdd(index === 0 ? record(fields) : record({ parent: parentOf(index), ...fields }), 40);
  });
  return fc.tuple(...list).map(array);
});

const usage = record({
  prompt_tokens: smallInteger,
  completion_tokens: fc.oneof({ weight: 8, arbitrary: smallInteger }, { weight: 1, arbitrary: anyInteger }),
  cached_input_tokens: smallInteger,
  reasoning_tokens: smallInteger,
  cost,
});

const goodCall = record({
  node: fc.nat(8).map((node) => literal(String(node))),
  model: anyString,
  finish_reason: fc.constantFrom('stop', 'length', 'tool_calls').map(string),
  usage,
  time: payload,
});
const failedCall = record({
  error: fc.oneof(payload, fc.constant(object([['type', string('ProviderError')]]))),
  finish_reason: fc.constantFrom('stop', 'length').map(string),
});
const calls: Tree = fc
  .array(orOdd(fc.oneof({ weight: 5, arbitrary: goodCall }, { weight: 1, arbitrary: failedCall }), 40), {
    maxLength: 6,
  })
  .map(array);

const reward = fc.oneof({ weight: 8, arbitrary: record({ score, weight: score }) }, { weight: 1, arbitrary: odd });
const rewards: Tree = fc
  .array(fc.tuple(fc.oneof(fc.constantFrom('correct', 'format', '1', '10', '2', '__proto__'), text), reward), {
    maxLength: 5,
  })
  .map(object);

const span = record({ start: moment, end: moment });
const timing = record({
  start: moment,
  boot: span,
  setup: record({ start: moment, end: moment, duration: cost }),
  agent: record({ start: moment, end: moment, model: record({ duration: cost }), harness: record({ duration: cost }) }),
  'a/b': span,
  '': record({ duration: cost, inner: span }),
  scoring: span,
});

const info = record({
  kind: fc.constantFrom('train', 'eval', 'test', '').map(string),
  dispatch: record({ step: smallInteger, time: moment }),
  arrival: record({ step: smallInteger, time: moment }),
  advantage: score,
  env_name: anyString,
  group_id: anyString,
  notes: payload,
});

const stop = fc
  .constantFrom('agent_completed', 'max_turns', 'compaction_failed', 'context_length', 'error', '')
  .map(string);

const traceFields = {
  id: fc.oneof(fc.uuid().map(string), anyString, fc.constant(string(''))),
  task: payload,
  nodes,
  calls,
  rewards,
  metrics: payload,
  // Rarely, since with both stamps no phase counts.
  info: fc.oneof({ weight: 2, arbitrary: info }, { weight: 3, arbitrary: fc.constant(object([])) }),
  ok: fc.constantFrom('true', 'false').map(literal),
  stop_condition: stop,
  timing,
} satisfies Record<string, Tree>;

/** A trace as it stands in an episode, or alone on a line of the oldest layout. */
export const bareTrace: Tree = record({ ...traceFields, run: record({ type: anyString, id: anyString }) });

/** An episode. */
export const episode: Tree = record({
  id: fc.oneof(fc.uuid().map(string), anyString),
  env: record({ id: anyString, name: anyString }),
  task: payload,
  group: record({ id: anyString }),
  run: record({ type: anyString, id: anyString, work: record({ type: anyString, step: smallInteger }) }),
  ok: fc.constantFrom('true', 'false').map(literal),
  errors: fc.array(payload, { maxLength: 3 }).map(array),
  traces: fc.array(orOdd(record(traceFields), 40), { maxLength: 3 }).map(array),
  num_input_tokens: fc.oneof(smallInteger, anyInteger),
  num_output_tokens: smallInteger,
});

function orOdd(arbitrary: Tree, weight: number): Tree {
  return fc.oneof({ weight, arbitrary }, { weight: 1, arbitrary: odd });
}

function fromUnits(units: readonly number[]): string {
  return String.fromCharCode(...units);
}

/** One of the ways to spell a float, all of them with a point or an exponent. */
function floatText(value: number, spelling: number): string {
  if (spelling === 0) return value.toExponential();
  if (spelling === 1) return value.toExponential().replace('e', 'E');
  if (spelling === 2) return value.toExponential(30);
  const plain = String(value);
  return /[.e]/.test(plain) ? plain : `${plain}.0`;
}
