/**
 * The record rules against verifiers: its classes, member by member, and the lines that it writes for random episodes
 * with every optional member there or not, byte for byte.
 */
import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { encodeToBuffer } from '../../src/core/encode/drivers.js';
import { RecordEncoder } from '../../src/core/encode/record-encoder.js';
import { EPISODE_RULES, type MemberRule, type ModelRule } from '../../src/core/encode/record-rules.js';
import { type RunInfo, recordRun } from '../../src/core/encode/record-run.js';
import { wasmModule } from '../../src/io/wasm-modules.js';
import { ask, judge } from './python.js';

const SEED = 20261130;
const EPISODES = 200;

/**
 * What record_rules.py says of a member; `isFloat` is null where no number can stand, `isModel` where no object can.
 * `isDumpedByOwner`: written as a plain dict, whose nulls stay.
 */
type Field = {
  readonly name: string;
  readonly isFloat: boolean | null;
  readonly isModel: boolean | null;
  readonly stream: MemberRule['stream'];
  readonly isMap: boolean;
  readonly isLeftOut: boolean;
  readonly dropsEmpty: boolean;
  readonly isDumpedByOwner: boolean;
  readonly models: readonly string[];
};
type Model = { readonly fields: readonly Field[]; readonly computed: readonly string[] };
type Models = { readonly root: string; readonly models: Readonly<Record<string, Model>> };

/** Lines of one episode in base64; the numbers of `full` are marked strings. */
type Lines = { readonly full: string; readonly rounded: string; readonly exact: string; readonly keyed: string };

/** A class, the rule that is to write it, and whether its nulls stay. */
type Pair = { readonly rule: ModelRule; readonly name: string; readonly onNull: MemberRule['onNull'] };

/** Every class with its rule, as far as members lead from the episode. */
function pairsOf({ root, models }: Models): Pair[] {
  const pairs: Pair[] = [{ rule: EPISODE_RULES, name: root, onNull: 'drop' }];
  const seen = new Set<string>();
  for (const { rule, name } of pairs) {
    for (const field of modelNamed(models, name).fields) {
      const inside = rule.members.get(field.name)?.inside;
      if (!inside) continue;
      for (const next of field.models) {
        const key = `${inside.name} ${next} ${field.isDumpedByOwner}`;
        if (!seen.has(key)) pairs.push({ rule: inside, name: next, onNull: field.isDumpedByOwner ? 'keep' : 'drop' });
        seen.add(key);
      }
    }
  }
  return pairs;
}

function modelNamed(models: Models['models'], name: string): Model {
  const model = models[name];
  if (model === undefined) throw new Error(`no class ${name}`);
  return model;
}

/** What the rules say, in the words of record_rules.py. */
function ourFact(rule: ModelRule, name: string): object {
  const { isFloat, stream, isMap, isLeftOut, onEmpty, onNull, inside } = rule.members.get(name) ?? rule.other;
  // How something is written that is never written is no matter.
  if (isLeftOut) return { name, isLeftOut };
  return { name, isFloat, stream, isMap, dropsEmpty: onEmpty === 'drop', onNull, isModel: inside !== null };
}

function theirFact(field: Field, { rule, onNull }: Pair): object {
  const { name, stream, isMap, isLeftOut, dropsEmpty } = field;
  if (isLeftOut) return { name, isLeftOut };
  const member = rule.members.get(name) ?? rule.other;
  // Where no number or no object can stand, another class of the same rule decides.
  const isFloat = field.isFloat ?? member.isFloat;
  const isModel = field.isModel ?? member.inside !== null;
  return { name, isFloat, stream, isMap, dropsEmpty, onNull, isModel };
}

describe.skipIf(judge.missing !== null)(`record rules against verifiers (${judge.missing ?? '0.4.0'})`, () => {
  let models: Models;
  let pairs: Pair[];

  beforeAll(async () => {
    models = (await ask('record_rules.py', { kind: 'models' })) as Models;
    pairs = pairsOf(models);
  });

  test('every class is written by a rule that says of each member what the class does', () => {
    expect(pairs.length).toBeGreaterThan(90);
    for (const pair of pairs) {
      const { rule, name, onNull } = pair;
      const { fields } = modelNamed(models.models, name);
      const ours = fields.map((field) => ourFact(rule, field.name));
      expect([name, ours]).toEqual([name, fields.map((field) => theirFact(field, pair))]);
      expect([name, rule.other.onNull]).toEqual([name, onNull]);
    }
  });

  test('members stand in the order of the class, whatever the order of the object', () => {
    for (const { rule, name } of pairs) {
      const { fields, computed } = modelNamed(models.models, name);
      const placed = fields.map((field) => rule.members.get(field.name)?.rank ?? rule.other.rank);
      const behind = computed.map((key) => rule.members.get(key)?.rank ?? Number.NaN);
      const ranks = [...placed, ...behind];
      // Members without a place keep the order of the object, behind those that have one.
      const isInOrder = ranks.every((rank, index) => {
        const before = ranks[index - 1] ?? -1;
        return rank > before || (rank === before && rank === rule.other.rank);
      });
      expect([name, ranks, isInOrder]).toEqual([name, ranks, true]);
      expect([name, behind.every((rank) => rank > rule.other.rank)]).toEqual([name, true]);
    }
  });

  test('only boxes and renderers have members without a place, and few rules are about more than the classes', () => {
    const declared = new Map<ModelRule, Set<string>>();
    const unplaced = new Set<string>();
    for (const { rule, name } of pairs) {
      const { fields, computed } = modelNamed(models.models, name);
      const names = declared.get(rule) ?? new Set();
      for (const key of [...fields.map((field) => field.name), ...computed]) names.add(key);
      declared.set(rule, names);
      if (fields.some((field) => (rule.members.get(field.name)?.rank ?? rule.other.rank) === rule.other.rank)) {
        unplaced.add(rule.name);
      }
    }
    expect([...unplaced].sort()).toEqual(['RendererConfig', 'RuntimeInfo']);
    const more = [...declared].flatMap(([rule, names]) =>
      [...rule.members.keys()].filter((key) => !names.has(key)).map((key) => `${rule.name}.${key}`),
    );
    expect(more.sort()).toEqual([
      'MessageNode.kept_tokens',
      'MessageNode.multi_modal_data',
      'Trace.pending',
      'Trace.run',
    ]);
  });
});

const NUMBER_MARK = '#number:';

/** Text of a JSON number as a value that is written as that text; NaN and the infinities as numbers. */
function spelled(text: string): unknown {
  const value = Number(text);
  return Number.isFinite(value) ? rawJson(text) : value;
}

function rawJson(text: string): unknown {
  return (JSON as unknown as { readonly rawJSON: (text: string) => unknown }).rawJSON(text);
}

/** A marked number by its rule; any other value as it is. */
type NumberOf = (text: string, rule: MemberRule) => unknown;

const PLAIN: MemberRule = { ...EPISODE_RULES.other, onNull: 'keep' };

/** How a producer has numbers and members. */
type Having = {
  readonly numberOf: NumberOf;
  readonly orderOf: (keys: readonly string[], model: ModelRule) => readonly string[];
};

/** A copy of a dump with its numbers, and with the members of each model in some order. */
function revived(value: unknown, rule: MemberRule, having: Having): unknown {
  if (typeof value === 'string') {
    return value.startsWith(NUMBER_MARK) ? having.numberOf(value.slice(NUMBER_MARK.length), rule) : value;
  }
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const elements = value.map((element) => revived(element, rule, having));
    return listOf(elements, rule);
  }
  const model = rule.isMap ? null : rule.inside;
  const keys = model === null ? Object.keys(value) : having.orderOf(Object.keys(value), model);
  const entry = rule.isMap ? { ...rule, isMap: false } : PLAIN;
  return Object.fromEntries(
    keys.map((key) => {
      const member = model === null ? entry : (model.members.get(key) ?? model.other);
      return [key, revived(Reflect.get(value, key), member, having)];
    }),
  );
}

/** Every other token stream as a typed array, where its values fit one. */
function listOf(values: unknown[], { stream }: MemberRule): unknown {
  if (stream === null || values.length % 2 === 0) return values;
  if (stream === 'flags') return Uint8Array.from(values, Number);
  if (!values.every((value) => typeof value === 'number')) return values;
  return stream === 'ints' ? Int32Array.from(values) : Float64Array.from(values);
}

/** Members that have a place in any order; the others follow as they come. */
function shuffled(keys: readonly string[], model: ModelRule): readonly string[] {
  const isPlaced = (key: string): boolean =>
    model.members.has(key) && model.members.get(key)?.rank !== model.other.rank;
  const placed = keys.filter(isPlaced);
  const orders = fc.shuffledSubarray(placed, { minLength: placed.length, maxLength: placed.length });
  const [order = []] = fc.sample(orders, { seed: SEED + keys.length, numRuns: 1 });
  return [...order, ...keys.filter((key) => !isPlaced(key))];
}

/** Rounding needs numbers; all else keeps its digits. */
const SPELLED: NumberOf = (text, { stream }) => (stream === 'rounded' ? Number(text) : spelled(text));

/** As code in JavaScript has them: 1 where a model has 1.0. Only what no number of JavaScript says stays as spelled. */
const OF_JAVASCRIPT: NumberOf = (text, { stream, isFloat }) => {
  const value = Number(text);
  if (isFloat || stream === 'rounded' || stream === 'floats') return value;
  return text === String(value) ? value : spelled(text);
};

/** Where a record first differs from their line; null when it does not. */
function difference(ours: Buffer, line: string): object | null {
  const theirs = Buffer.from(line, 'base64').subarray(0, -1);
  if (ours.equals(theirs)) return null;
  let at = 0;
  while (ours[at] === theirs[at]) at += 1;
  const around = (bytes: Buffer): string => bytes.subarray(Math.max(0, at - 80), at + 80).toString();
  return { at, ours: around(ours), theirs: around(theirs) };
}

describe.skipIf(judge.missing !== null)(`lines against verifiers (${judge.missing ?? '0.4.0'})`, () => {
  let episodes: Lines[];

  beforeAll(async () => {
    episodes = (await ask('record_rules.py', { kind: 'episodes', seed: SEED, count: EPISODES })) as Lines[];
  });

  test.each([
    [
      'numbers as they are spelled, members as they come',
      { numberOf: SPELLED, orderOf: (keys: readonly string[]) => keys },
    ],
    ['numbers of JavaScript, members in any order', { numberOf: OF_JAVASCRIPT, orderOf: shuffled }],
  ])('%s: the bytes of Episode.to_record, rounded and exact, and of the SDK when keyed', (_name, having) => {
    const rounding = new RecordEncoder(wasmModule('encoder'));
    const exact = new RecordEncoder(wasmModule('encoder'), { floatDecimals: null });
    const run: RunInfo = { type: 'train', id: 'r1', name: 'n', work: { type: 'train', step: 3 } };
    for (const lines of episodes) {
      const dump: unknown = JSON.parse(Buffer.from(lines.full, 'base64').toString());
      const episode = revived(dump, { ...PLAIN, inside: EPISODE_RULES }, having) as object;
      const differences = [
        difference(encodeToBuffer(rounding, episode, EPISODE_RULES), lines.rounded),
        difference(encodeToBuffer(exact, episode, EPISODE_RULES), lines.exact),
        difference(encodeToBuffer(rounding, recordRun(episode, run), EPISODE_RULES), lines.keyed),
      ];
      expect(differences).toEqual([null, null, null]);
    }
  });

  test('the episodes have what the comparison is about', () => {
    const having = (pattern: RegExp): number =>
      episodes.filter(({ full }) => pattern.test(Buffer.from(full, 'base64').toString())).length;
    expect(having(/"nodes":\[\{/)).toBeGreaterThan(EPISODES / 2);
    expect(having(/"logprobs":\["#number:/)).toBeGreaterThan(EPISODES / 4);
    expect(having(/"(routed_experts|ids)":\{"__nd__"/)).toBeGreaterThan(EPISODES / 4);
    expect(having(/"info":\{[^{}]*:null/)).toBeGreaterThan(EPISODES / 10);
    expect(having(/"extra_[^"]*":null/)).toBeGreaterThan(EPISODES / 4);
    expect(having(/"weight":"#number:-?\d+\.0"/)).toBeGreaterThan(EPISODES / 10);
    expect(having(/"cost":"#number:NaN"/)).toBeGreaterThan(0);
  });
});
