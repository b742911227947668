/**
 * How the members of a model are written: their order, their rules and their names as bytes, worked out once for each
 * set of keys and remembered. Episodes hold thousands of nodes and calls with the same few sets.
 */
import type { MemberRule, ModelRule } from './record-rules.js';

export type KeyPlan = {
  /** As `Object.keys` gives them. */
  readonly keys: readonly string[];
  /** As they are written; keys that are left out are not among them. */
  readonly names: readonly string[];
  readonly rules: readonly MemberRule[];
  /** `"name":` of each, escaped. */
  readonly texts: readonly Uint8Array[];
};

/** Sets of keys remembered for each model. */
const REMEMBERED = 8;

/** Objects with more keys are no models but maps with names of their own; a plan would not be used twice. */
const MOST_KEYS = 64;

export class KeyPlanner {
  readonly #plans = new Map<ModelRule, KeyPlan[]>();

  planFor(model: ModelRule, keys: readonly string[]): KeyPlan {
    let plans = this.#plans.get(model);
    if (plans === undefined) {
      plans = [];
      this.#plans.set(model, plans);
    }
    for (let index = 0; index < plans.length; index += 1) {
      const plan = plans[index] as KeyPlan;
      if (!isSame(plan.keys, keys)) continue;
      if (index > 0) {
        // The one used last is looked at first.
        plans.copyWithin(1, 0, index);
        plans[0] = plan;
      }
      return plan;
    }
    const plan = makePlan(model, keys);
    if (keys.length <= MOST_KEYS) {
      plans.unshift(plan);
      if (plans.length > REMEMBERED) plans.pop();
    }
    return plan;
  }
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  if (one.length !== other.length) return false;
  for (let index = 0; index < one.length; index += 1) {
    if (one[index] !== other[index]) return false;
  }
  return true;
}

function makePlan(model: ModelRule, keys: readonly string[]): KeyPlan {
  const members = keys
    .map((name) => ({ name, rule: model.members.get(name) ?? model.other }))
    .filter(({ rule }) => !rule.isLeftOut)
    .sort((one, other) => one.rule.rank - other.rule.rank);
  return {
    keys,
    names: members.map(({ name }) => name),
    rules: members.map(({ rule }) => rule),
    texts: members.map(({ name }) => keyText(name)),
  };
}

/** Well-formed or not is for the encoder to say: it looks at each name before it asks for a plan's text. */
function keyText(name: string): Uint8Array {
  return Buffer.from(`${JSON.stringify(name)}:`);
}
