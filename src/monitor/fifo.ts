/** A queue whose head leaves in constant time, however many wait: an array moves them all. */

/** Places at the front that may stay empty before the rest moves up. */
const MAX_EMPTY = 1024;

export class Fifo<T> {
  #items: T[] = [];
  #head = 0;

  get length(): number {
    return this.#items.length - this.#head;
  }

  get first(): T | undefined {
    return this.#items[this.#head];
  }

  push(item: T): void {
    this.#items.push(item);
  }

  shift(): T | undefined {
    const item = this.#items[this.#head];
    if (this.length === 0) return undefined;
    // What has left must not be held.
    this.#items[this.#head] = undefined as T;
    this.#head += 1;
    if (this.#head > MAX_EMPTY && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }
}
