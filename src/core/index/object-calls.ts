/** From the calls of a trace in memory to its facts, some at a time (item-steps). */
import { NumberFact } from './number-fact.js';
import { isPlainObject, jsonValueOf, memberOf, NO_ELEMENTS, type ObjectValues } from './object-values.js';
import { COUNT, MAX_INDEX, type TraceFacts } from './trace-facts.js';

export class ObjectCalls {
  readonly #trace: TraceFacts;
  readonly #values: ObjectValues;
  readonly #number = new NumberFact();
  #calls = NO_ELEMENTS;
  #at = 0;

  constructor(trace: TraceFacts, values: ObjectValues) {
    this.#trace = trace;
    this.#values = values;
  }

  begin(calls: readonly unknown[]): void {
    this.#calls = calls;
    this.#at = 0;
  }

  step(items: number): number {
    const calls = this.#calls;
    const from = this.#at;
    const to = Math.min(calls.length, from + items);
    for (let index = from; index < to; index += 1) this.#takeCall(jsonValueOf(calls[index]));
    this.#at = to;
    return items - (to - from);
  }

  #takeCall(call: unknown): void {
    if (!isPlainObject(call)) {
      this.#values.noteOdd(call);
      return;
    }
    const trace = this.#trace;
    trace.addCall();
    const index = trace.callCount - 1;
    if (this.#values.isNumber(this.#number, memberOf(call, 'node'))) {
      const { value, isInt } = this.#number;
      if (isInt && value >= 0 && value <= MAX_INDEX) trace.callNodes[index] = value;
    }
    trace.isCutByLength[index] = memberOf(call, 'finish_reason') === 'length' ? 1 : 0;
    trace.hasError[index] = (memberOf(call, 'error') ?? null) === null ? 0 : 1;
    this.#takeUsage(memberOf(call, 'usage'));
  }

  #takeUsage(usage: unknown): void {
    const trace = this.#trace;
    if (!isPlainObject(usage)) {
      this.#values.noteOdd(usage);
      return;
    }
    trace.hasUsage[trace.callCount - 1] = 1;
    this.#takeCount(COUNT.PROMPT, memberOf(usage, 'prompt_tokens'));
    this.#takeCount(COUNT.COMPLETION, memberOf(usage, 'completion_tokens'));
    this.#takeCount(COUNT.CACHED, memberOf(usage, 'cached_input_tokens'));
    if (this.#values.takeFloat(this.#number, memberOf(usage, 'cost'))) {
      const { value, isInt, big } = this.#number;
      trace.setCost(value, isInt, big);
    }
  }

  #takeCount(column: number, count: unknown): void {
    if (!this.#values.takeNumber(this.#number, count)) return;
    const { value, isInt, big } = this.#number;
    if (isInt) this.#trace.setCount(column, value, big);
    else this.#values.noteOdd(count);
  }
}
