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

/**
 * Writes the hash of an id as two words: two rounds of FNV-1a that mix differently. Never both 0, which is what a row
 * without an id has.
 */
export function hashId(id: Uint8Array, target: Uint32Array, at: number): void {
  let high = 0x811c9dc5;
  let low = 0x1b873593;
  for (let index = 0; index < id.length; index += 1) {
    const byte = id[index] as number;
    high = Math.imul(high ^ byte, 0x01000193);
    low = Math.imul(low ^ byte, 0x85ebca6b);
    low ^= low >>> 13;
  }
  target[at] = high;
  target[at + 1] = high === 0 && low === 0 ? 1 : low;
}
