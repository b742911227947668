/** Branches of a trace by counts alone (spec 04 section 4.4), with no walk: nodes less distinct parents. */
import { NO_PARENT, type TraceFacts } from './trace-facts.js';

export class BranchCount {
  /** Result, once `step` is done. */
  branches = 0;
  /** Whether a parent was no index of a node. */
  isOdd = false;

  /** Whether a null is no parent; else it is one more value. */
  readonly #isExact: boolean;
  /** For each node the pass in which it was seen as a parent. */
  #seen = new Int32Array(64);
  #pass = 0;
  /** Nodes and odd parents taken. */
  #nodesTaken = 0;
  #oddTaken = 0;
  #distinct = 0;
  #isNullSeen = false;
  /** Distinct parents that are no index of a node. */
  readonly #odd = new Set<string>();

  constructor(isExact: boolean) {
    this.#isExact = isExact;
  }

  begin(trace: TraceFacts): void {
    if (trace.nodeCount > this.#seen.length) {
      this.#seen = new Int32Array(trace.nodeCount * 2);
      this.#pass = 0;
    }
    this.#pass += 1;
    this.#nodesTaken = 0;
    this.#oddTaken = 0;
    this.#distinct = 0;
    this.#isNullSeen = false;
    this.isOdd = false;
    if (this.#odd.size > 0) this.#odd.clear();
  }

  /** As item-steps says. The trace is the one that `begin` was given, unchanged. */
  step(trace: TraceFacts, items: number): number {
    let left = this.#takeNodes(trace, items);
    if (left > 0 && trace.oddParents.length > 0) left = this.#takeOdd(trace, left);
    const nulls = this.#isNullSeen && !this.#isExact ? 1 : 0;
    this.branches = Math.max(0, trace.nodeCount - this.#distinct - nulls - this.#odd.size);
    return left;
  }

  #takeNodes({ nodeCount, parents }: TraceFacts, items: number): number {
    const from = this.#nodesTaken;
    const to = Math.min(nodeCount, from + items);
    const seen = this.#seen;
    const pass = this.#pass;
    let distinct = 0;
    for (let node = from; node < to; node += 1) {
      const parent = parents[node] as number;
      if (parent >= nodeCount) this.#addOdd(String(parent));
      else if (parent >= 0) {
        if (seen[parent] === pass) continue;
        seen[parent] = pass;
        distinct += 1;
      } else if (parent === NO_PARENT.NULL) this.#isNullSeen = true;
    }
    this.#distinct += distinct;
    this.#nodesTaken = to;
    return items - (to - from);
  }

  /** A float or boolean that equals an index is the same value to Python, so all nodes come before. */
  #takeOdd({ nodeCount, oddParents }: TraceFacts, items: number): number {
    const from = this.#oddTaken;
    const to = Math.min(oddParents.length, from + items);
    for (let index = from; index < to; index += 1) {
      const key = oddParents[index] as string;
      const isIndex = /^\d{1,9}$/.test(key) && Number(key) < nodeCount && this.#seen[Number(key)] === this.#pass;
      if (isIndex) this.isOdd = true;
      else this.#addOdd(key);
    }
    this.#oddTaken = to;
    return items - (to - from);
  }

  #addOdd(key: string): void {
    this.isOdd = true;
    this.#odd.add(key);
  }
}
