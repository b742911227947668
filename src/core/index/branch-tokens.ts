/**
 * Token counts derived from the branches of a trace (spec 02 section 5), in time linear in its nodes and calls. A branch
 * is the way from a leaf up to its root. The increment of a call depends only on the nearest call above it, so that one
 * pass over the nodes, parents first, gives all of them; a call's completion counts once for each leaf below it.
 *
 * Parents that run in a circle have no root. A walk up from a leaf then ends where it would meet itself; the first leaf,
 * in ascending order, settles what the calls on the circle add to the input.
 */
import { isSafe } from './exact-sum.js';
import type { TraceFacts } from './trace-facts.js';

const NO_NODE = -1;

/** States of a node while walks go up. */
const NEW = 0;
const ON_WALK = 1;
const DONE = 2;

export class BranchTokens {
  /** Results of `derive`. `big` values stand in for counts that a double cannot hold, else they are null. */
  input = 0;
  output = 0;
  bigInput: bigint | null = null;
  bigOutput: bigint | null = null;
  /** Whether a parent of the trace was no index of a node, or parents ran in a circle. */
  isOdd = false;

  #parents = new Int32Array(64);
  /** The call that counts for each node. */
  #callOf = new Int32Array(64);
  #leaves = new Int32Array(64);
  #order = new Int32Array(64);
  #orderLength = 0;
  /** Total of the nearest call at or above each node; NaN when there is none. */
  #above = new Float64Array(64);
  /** Circles of parents that were cut open: the node a walk entered by, and the one its chain of parents now ends at. */
  readonly #circles = new Map<number, number>();

  derive(trace: TraceFacts): void {
    const nodes = trace.nodeCount;
    this.input = 0;
    this.output = 0;
    this.bigInput = null;
    this.bigOutput = null;
    this.isOdd = false;
    if (nodes > this.#parents.length) this.#grow(nodes);
    const isForward = this.#copyParents(trace);
    if (isForward) this.#orderLength = nodes;
    else this.#sortFromLeaves(nodes);
    if (trace.callCount === 0 || !this.#assignCalls(trace)) return;
    this.#countLeaves(isForward);
    if (trace.bigs !== null || !this.#sum(trace, isForward)) this.#sumBig(trace, isForward);
  }

  #grow(nodes: number): void {
    const size = Math.max(nodes, this.#parents.length * 2);
    this.#parents = new Int32Array(size);
    this.#callOf = new Int32Array(size);
    this.#leaves = new Int32Array(size);
    this.#order = new Int32Array(size);
    this.#above = new Float64Array(size);
  }

  /** Parents that are nodes; true when each stands before its child, which makes the order of nodes good as it is. */
  #copyParents(trace: TraceFacts): boolean {
    const { nodeCount, parents } = trace;
    const copy = this.#parents;
    const leaves = this.#leaves;
    let isForward = true;
    for (let node = 0; node < nodeCount; node += 1) leaves[node] = 1;
    for (let node = 0; node < nodeCount; node += 1) {
      const parent = parents[node] as number;
      if (parent >= 0 && parent < nodeCount) {
        copy[node] = parent;
        leaves[parent] = 0;
        if (parent >= node) isForward = false;
      } else {
        copy[node] = NO_NODE;
        if (parent >= 0) this.isOdd = true;
      }
    }
    return isForward;
  }

  /** Puts the nodes of all branches into #order, parents first, cutting circles open. */
  #sortFromLeaves(nodes: number): void {
    const parents = this.#parents;
    const order = this.#order;
    const states = new Uint8Array(nodes);
    const walk = new Int32Array(nodes);
    this.#circles.clear();
    let length = 0;
    for (let leaf = 0; leaf < nodes; leaf += 1) {
      if (this.#leaves[leaf] === 0) continue;
      let walked = 0;
      let node = leaf;
      while (node !== NO_NODE && states[node] === NEW) {
        states[node] = ON_WALK;
        walk[walked] = node;
        walked += 1;
        node = parents[node] as number;
      }
      if (node !== NO_NODE && states[node] === ON_WALK) {
        const root = walk[walked - 1] as number;
        parents[root] = NO_NODE;
        this.#circles.set(node, root);
      }
      while (walked > 0) {
        walked -= 1;
        order[length] = walk[walked] as number;
        states[order[length] as number] = DONE;
        length += 1;
      }
    }
    this.#orderLength = length;
    // What no leaf leads to is a circle of its own.
    if (length < nodes || this.#circles.size > 0) this.isOdd = true;
  }

  /** The last call that names a node counts for it. False when no call does. */
  #assignCalls(trace: TraceFacts): boolean {
    const { nodeCount, callCount, callNodes } = trace;
    const callOf = this.#callOf;
    for (let node = 0; node < nodeCount; node += 1) callOf[node] = -1;
    let isAny = false;
    for (let call = 0; call < callCount; call += 1) {
      const node = callNodes[call] as number;
      if (node < 0 || node >= nodeCount) continue;
      callOf[node] = call;
      isAny = true;
    }
    return isAny;
  }

  /** Turns the marks of leaves into the number of leaves at or below each node. */
  #countLeaves(isForward: boolean): void {
    const parents = this.#parents;
    const leaves = this.#leaves;
    const order = this.#order;
    for (let index = this.#orderLength - 1; index >= 0; index -= 1) {
      const node = isForward ? index : (order[index] as number);
      const parent = parents[node] as number;
      if (parent !== NO_NODE) leaves[parent] = (leaves[parent] as number) + (leaves[node] as number);
    }
    if (isForward) return;
    for (const [entry, root] of this.#circles) {
      for (let node = entry; node !== NO_NODE; node = parents[node] as number) leaves[node] = leaves[root] as number;
    }
  }

  /** Both sums in doubles; false when they may have rounded. */
  #sum(trace: TraceFacts, isForward: boolean): boolean {
    const { hasUsage, prompts, completions, cached } = trace;
    const above = this.#above;
    let input = 0;
    let output = 0;
    let bound = 0;
    for (let index = 0; index < this.#orderLength; index += 1) {
      const node = isForward ? index : (this.#order[index] as number);
      const call = this.#callOf[node] as number;
      const parent = this.#parents[node] as number;
      const before = parent === NO_NODE ? Number.NaN : (above[parent] as number);
      if (call < 0 || hasUsage[call] === 0) {
        above[node] = before;
      } else {
        const ownInput = (prompts[call] as number) + (cached[call] as number);
        const completion = completions[call] as number;
        const increment = ownInput - (Number.isNaN(before) ? 0 : before);
        if (increment > 0) input += increment;
        output += completion * (this.#leaves[node] as number);
        bound += Math.abs(ownInput) + Math.abs(completion) * (this.#leaves[node] as number);
        above[node] = ownInput + completion;
      }
      if (!isForward && this.#circles.has(node)) this.#closeCircle(node);
    }
    this.input = input;
    this.output = output;
    // No partial sum exceeds twice the bound.
    return bound < 2 ** 51;
  }

  /** Behind its entry, a circle is complete: where nothing is above a node on it, the way goes round by the entry. */
  #closeCircle(entry: number): void {
    const above = this.#above;
    for (let at = entry; at !== NO_NODE; at = this.#parents[at] as number) {
      if (Number.isNaN(above[at])) above[at] = above[entry] as number;
    }
  }

  /** The same in integers of any size, for counts beyond 2^51. Rare, so plain. */
  #sumBig(trace: TraceFacts, isForward: boolean): void {
    const above = new Map<number, bigint>();
    let input = 0n;
    let output = 0n;
    for (let index = 0; index < this.#orderLength; index += 1) {
      const node = isForward ? index : (this.#order[index] as number);
      const call = this.#callOf[node] as number;
      const before = above.get(this.#parents[node] as number);
      if (call < 0 || trace.hasUsage[call] === 0) {
        if (before !== undefined) above.set(node, before);
      } else {
        const ownInput = trace.exactCount(call, 0) + trace.exactCount(call, 2);
        const completion = trace.exactCount(call, 1);
        const increment = ownInput - (before ?? 0n);
        if (increment > 0n) input += increment;
        output += completion * BigInt(this.#leaves[node] as number);
        above.set(node, ownInput + completion);
      }
      const around = !isForward && this.#circles.has(node) ? above.get(node) : undefined;
      for (let at = node; around !== undefined && at !== NO_NODE; at = this.#parents[at] as number) {
        if (!above.has(at)) above.set(at, around);
      }
    }
    this.input = Number(input);
    this.output = Number(output);
    this.bigInput = isSafe(input) ? null : input;
    this.bigOutput = isSafe(output) ? null : output;
  }
}
