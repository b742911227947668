/**
 * From the timing of a trace in memory to the seconds of its phases, some at a time (item-steps). A member named `""`
 * stands for the root again (upstream's rule), at any depth, so that open objects are kept on a stack.
 */
import type { KeptText } from './kept-text.js';
import type { NumberFact } from './number-fact.js';
import { isPlainObject, memberOf, type ObjectValues, type PlainObject } from './object-values.js';
import type { Phases } from './phases.js';

/** An object that is being gone through. */
type Open = { readonly from: PlainObject; readonly names: readonly string[]; next: number };

export class ObjectTiming {
  readonly #phases: Phases;
  readonly #kept: KeptText;
  readonly #values: ObjectValues;
  readonly #open: Open[] = [];

  /** @param kept lends its room to the name at hand */
  constructor(phases: Phases, kept: KeptText, values: ObjectValues) {
    this.#phases = phases;
    this.#kept = kept;
    this.#values = values;
  }

  /** Lists names in one go, as ObjectRewards. */
  begin(timing: unknown): void {
    this.#open.length = 0;
    if (isPlainObject(timing)) this.#enter(timing);
  }

  step(items: number): number {
    let left = items;
    let top = this.#open.at(-1);
    while (top !== undefined && left > 0) {
      const { from, names, next } = top;
      if (next === names.length) {
        this.#open.pop();
      } else {
        top.next += 1;
        left -= 1;
        this.#takeMember(names[next] as string, memberOf(from, names[next] as string));
      }
      top = this.#open.at(-1);
    }
    return left;
  }

  #takeMember(name: string, member: unknown): void {
    if (!isPlainObject(member)) return;
    if (name === '') this.#enter(member);
    else if (!name.includes('/')) this.#addSpan(name, member);
  }

  #enter(from: PlainObject): void {
    this.#addSpan('', from);
    this.#open.push({ from, names: Object.keys(from), next: 0 });
  }

  #addSpan(name: string, from: PlainObject): void {
    const { span } = this.#phases;
    this.#take(span.start, from, 'start');
    this.#take(span.end, from, 'end');
    this.#take(span.duration, from, 'duration');
    const kept = this.#kept;
    const mark = kept.length;
    const length = kept.keepString(name);
    if (length >= 0) this.#phases.addSpan(kept.bytes, kept.start, kept.start + length);
    kept.length = mark;
  }

  /** A phase may be named as a member of a span is, which is nothing odd. */
  #take(fact: NumberFact, from: PlainObject, name: string): void {
    const member = memberOf(from, name);
    this.#values.takeFloat(fact, isPlainObject(member) ? undefined : member);
  }
}
