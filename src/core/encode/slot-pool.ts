/**
 * Where encoded bytes go: a few slots of the kernel's memory, filled one after the other. What is complete becomes a
 * part; a slot is used again when all parts in it are released. So bytes are written once and never move.
 */
import type { EncodedPart } from './types.js';

/** The kernel's memory, as far as output goes. */
export type SlotMemory = {
  readonly bytes: Uint8Array;
  slotAddress(slot: number): number;
};

export class SlotPool {
  readonly #memory: SlotMemory;
  readonly #slotBytes: number;
  /** Parts of each slot that are not released. */
  readonly #held: Int32Array;
  readonly #parts: EncodedPart[] = [];
  readonly #waiting: (() => void)[] = [];
  /** The slot being filled. */
  #slot = 0;
  /** Where the next part begins. */
  #start: number;

  constructor(memory: SlotMemory, slots: number, slotBytes: number) {
    this.#memory = memory;
    this.#slotBytes = slotBytes;
    this.#held = new Int32Array(slots);
    this.#start = memory.slotAddress(0);
  }

  /** Where the bytes of the next part begin. */
  get start(): number {
    return this.#start;
  }

  /** First address behind the slot being filled. */
  get end(): number {
    return this.#memory.slotAddress(this.#slot) + this.#slotBytes;
  }

  /** Makes what lies between `start` and `end` a part; what follows goes into the same slot. */
  close(end: number): void {
    if (end === this.#start) return;
    const slot = this.#slot;
    this.#held[slot] = (this.#held[slot] as number) + 1;
    const bytes = this.#memory.bytes.subarray(this.#start, end);
    this.#parts.push({ bytes, release: () => this.#release(slot) });
    this.#start = end;
  }

  /** Turns to a slot that nobody holds; false when there is none. What is not closed must be closed before. */
  advance(): boolean {
    const slots = this.#held.length;
    for (let step = 0; step < slots; step += 1) {
      const slot = (this.#slot + step) % slots;
      if (this.#held[slot] !== 0) continue;
      this.#slot = slot;
      this.#start = this.#memory.slotAddress(slot);
      return true;
    }
    return false;
  }

  /** Whether `advance` would find a slot. */
  get hasFree(): boolean {
    return this.#held.includes(0);
  }

  /** The parts closed since the last call, in order. They are the caller's to release. */
  take(): EncodedPart[] {
    return this.#parts.splice(0);
  }

  /** Resolves when a part has been released. */
  released(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #release(slot: number): void {
    this.#held[slot] = (this.#held[slot] as number) - 1;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
