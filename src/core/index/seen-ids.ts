/**
 * Which episodes were seen, in 24 bytes an episode: hashes of 64 bits in open tables. Two ids with one hash are told
 * apart by nobody; among ten million ids that happens with a chance of one in 300,000.
 */

const FIRST_CAPACITY = 4096;

/** Slots of one table: a hash of two words, and the line it was first seen at, 0 for a free slot. */
class Table {
  readonly capacity: number;
  readonly #hashes: Uint32Array;
  readonly #lines: Uint32Array;
  count = 0;

  /** `capacity`: a power of two. */
  constructor(capacity: number) {
    this.capacity = capacity;
    this.#hashes = new Uint32Array(capacity * 2);
    this.#lines = new Uint32Array(capacity);
  }

  /** The line of an id, 0 when it is not there. */
  find(high: number, low: number): number {
    return this.#lines[this.#slotOf(high, low)] as number;
  }

  /** The line of an id that is there; else notes it under this line and returns 0. There must be a free slot. */
  add(high: number, low: number, line: number): number {
    const slot = this.#slotOf(high, low);
    const known = this.#lines[slot] as number;
    if (known !== 0) return known;
    this.#hashes[slot * 2] = high;
    this.#hashes[slot * 2 + 1] = low;
    this.#lines[slot] = line;
    this.count += 1;
    return 0;
  }

  /** The same in a table of twice the size. */
  grown(): Table {
    const grown = new Table(this.capacity * 2);
    for (let slot = 0; slot < this.capacity; slot += 1) {
      const line = this.#lines[slot] as number;
      if (line !== 0) grown.add(this.#hashes[slot * 2] as number, this.#hashes[slot * 2 + 1] as number, line);
    }
    return grown;
  }

  /** Where the id is, or the free slot that it would take. */
  #slotOf(high: number, low: number): number {
    const mask = this.capacity - 1;
    for (let slot = (high ^ low) & mask; ; slot = (slot + 1) & mask) {
      if (this.#lines[slot] === 0) return slot;
      if (this.#hashes[slot * 2] === high && this.#hashes[slot * 2 + 1] === low) return slot;
    }
  }
}

export class SeenIds {
  readonly #maxIds: number;
  #table = new Table(FIRST_CAPACITY);
  /** The ids before those of the table. */
  #older: Table | null = null;

  /** `maxIds`: ids that are remembered at least, twice as many at most; the oldest are forgotten. Bounds the memory. */
  constructor(maxIds: number) {
    this.#maxIds = maxIds;
  }

  /** Notes an id, as two words of which one at least is not 0; returns the line it was first seen at, else 0. */
  add(high: number, low: number, line: number): number {
    const older = this.#older?.find(high, low) ?? 0;
    if (older !== 0) return older;
    if (this.#table.count >= this.#maxIds) {
      this.#older = this.#table;
      this.#table = new Table(this.#older.capacity);
    } else if (this.#table.count * 2 >= this.#table.capacity) this.#table = this.#table.grown();
    return this.#table.add(high, low, line);
  }
}

/**
 * Writes the hash of the id in `bytes[start, start + length)` as two words: two rounds of FNV-1a that mix differently. Never both 0, which is what a row
 * without an id has.
 */
export function hashId(bytes: Uint8Array, start: number, length: number, target: Uint32Array, at: number): void {
  let high = 0x811c9dc5;
  let low = 0x1b873593;
  for (let index = start; index < start + length; index += 1) {
    const byte = bytes[index] as number;
    high = Math.imul(high ^ byte, 0x01000193);
    low = Math.imul(low ^ byte, 0x85ebca6b);
    low ^= low >>> 13;
  }
  target[at] = high;
  target[at + 1] = high === 0 && low === 0 ? 1 : low;
}
