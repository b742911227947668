/** From the nodes of a trace in memory to its facts, some at a time (item-steps). */
import { NumberFact } from './number-fact.js';
import { memberOf, NO_ELEMENTS, type ObjectValues } from './object-values.js';
import { MAX_INDEX, NO_PARENT, type TraceFacts } from './trace-facts.js';

export class ObjectNodes {
  readonly #trace: TraceFacts;
  readonly #values: ObjectValues;
  readonly #number = new NumberFact();
  #nodes = NO_ELEMENTS;
  #at = 0;

  constructor(trace: TraceFacts, values: ObjectValues) {
    this.#trace = trace;
    this.#values = values;
  }

  begin(nodes: readonly unknown[]): void {
    this.#nodes = nodes;
    this.#at = 0;
  }

  step(items: number): number {
    const trace = this.#trace;
    const nodes = this.#nodes;
    const from = this.#at;
    const to = Math.min(nodes.length, from + items);
    for (let index = from; index < to; index += 1) {
      const node = nodes[index];
      trace.addNode();
      this.#takeParent(this.#values.modelMember(node, 'parent'));
      if (memberOf(memberOf(node, 'message'), 'role') === 'assistant') trace.turns += 1;
    }
    this.#at = to;
    return items - (to - from);
  }

  #takeParent(parent: unknown): void {
    const trace = this.#trace;
    if (parent === undefined) return;
    if (parent === null) trace.setParent(NO_PARENT.NULL);
    else if (this.#values.takeNumber(this.#number, parent)) {
      const { value, isInt, big } = this.#number;
      if (isInt && value >= 0 && value <= MAX_INDEX) trace.setParent(value);
      else if (big !== null || Number.isInteger(value)) trace.setOddParent(String(big ?? BigInt(value)));
      else trace.setOddParent(String(value));
    } else if (typeof parent === 'boolean') trace.setOddParent(parent ? '1' : '0');
    else if (typeof parent === 'string') trace.setOddParent(`"${parent}`);
    else trace.setOddParent(Array.isArray(parent) ? '[' : '{');
  }
}
