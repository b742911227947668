/**
 * Which episodes were seen, in 12 bytes an episode: hashes of 64 bits in an open table. Two ids with one hash are
 * told apart by nobody; among ten million ids that happens with a chance of one in 300,000.
 */

const FIRST_CAPACITY = 4096;

export class SeenIds {
  #capacity = FIRST_CAPACITY;
  #hashes = new Uint32Array(FIRST_CAPACITY * 2);
  #lines = new Uint32Array(FIRST_CAPACITY);
  #count = 0;

  /** Notes an id, as two words of which one at least is not 0; returns the line it was first seen at, else 0. */
  add(high: number, low: number, line: number): number {
    if (this.#count * 2 >= this.#capacity) this.#grow();
    const slot = this.#slotOf(high, low);
    const known = this.#lines[slot] as number;
    if (known !== 0) return known;
    this.#hashes[slot * 2] = high;
    this.#hashes[slot * 2 + 1] = low;
    this.#lines[slot] = line;
    this.#count += 1;
    return 0;
  }

  /** Where the id is, or the free slot that it would take. */
  #slotOf(high: number, low: number): number {
    const mask = this.#capacity - 1;
    for (let slot = (high ^ low) & mask; ; slot = (slot + 1) & mask) {
      if (this.#lines[slot] === 0) return slot;
      if (this.#hashes[slot * 2] === high && this.#hashes[slot * 2 + 1] === low) return slot;
    }
  }

  #grow(): void {
    const [hashes, lines, capacity] = [this.#hashes, this.#lines, this.#capacity];
    this.#capacity = capacity * 2;
    this.#hashes = new Uint32Array(this.#capacity * 2);
    this.#lines = new Uint32Array(this.#capacity);
    for (let index = 0; index < capacity; index += 1) {
      const line = lines[index] as number;
      if (line === 0) continue;
      const [high, low] = [hashes[index * 2] as number, hashes[index * 2 + 1] as number];
      const slot = this.#slotOf(high, low);
      this.#hashes[slot * 2] = high;
      this.#hashes[slot * 2 + 1] = low;
      this.#lines[slot] = line;
    }
  }
}
