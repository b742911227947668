/** From the rewards of a trace in memory to their sum, some at a time (item-steps). */
import { isPlainObject, memberOf, NO_MEMBERS, type ObjectValues } from './object-values.js';
import type { Rewards } from './rewards.js';

export class ObjectRewards {
  readonly #rewards: Rewards;
  readonly #values: ObjectValues;
  #map = NO_MEMBERS;
  #names: readonly string[] = [];
  #at = 0;

  constructor(rewards: Rewards, values: ObjectValues) {
    this.#rewards = rewards;
    this.#values = values;
  }

  /** Lists the names, which the language does in one go: 1 ms for 10,000 of them, 13 for 100,000. */
  begin(rewards: unknown): void {
    this.#map = isPlainObject(rewards) ? rewards : NO_MEMBERS;
    this.#names = Object.keys(this.#map);
    this.#at = 0;
  }

  step(items: number): number {
    const from = this.#at;
    const to = Math.min(this.#names.length, from + items);
    for (let index = from; index < to; index += 1) this.#take(memberOf(this.#map, this.#names[index] as string));
    this.#at = to;
    return items - (to - from);
  }

  #take(entry: unknown): void {
    if (entry === undefined) return;
    const rewards = this.#rewards;
    rewards.entries += 1;
    if (!isPlainObject(entry)) {
      this.#values.noteOdd(entry);
      return;
    }
    this.#values.takeFloat(rewards.score, memberOf(entry, 'score'));
    this.#values.takeFloat(rewards.weight, memberOf(entry, 'weight'));
    rewards.addProduct();
  }
}
