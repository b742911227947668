/**
 * Token counts derived from the branches of a trace (spec 02 section 5), in time linear in its nodes and calls. A branch
 * is the way from a leaf up to its root. The increment of a call depends only on the nearest call above it, so that one
 * pass over the nodes, parents first, gives all of them; a call's completion counts once for each leaf below it.
 *
 * One pass after another, each stopping where it is told to (item-steps): the fields say how far each of them is.
 */
import { isSafe } from './exact-sum.js';
import { ParentOrder } from './parent-order.js';
import type { TraceFacts } from './trace-facts.js';

const NO_NODE = -1;

export class BranchTokens {
  /** Results, once `step` is done. `big` values stand in for counts that a double cannot hold, else they are null. */
  input = 0;
  output = 0;
  bigInput: bigint | null = null;
  bigOutput: bigint | null = null;
  /** Whether a parent of the trace was no index of a node, or parents ran in a circle. */
  isOdd = false;

  /** Nodes and calls that each pass has done. */
  #copied = 0;
  #marked = 0;
  #assigned = 0;
  #counted = 0;
  #summed = 0;
  #bigSummed = 0;
  #parents = new Int32Array(64);
  /** The call that counts for each node. */
  #callOf = new Int32Array(64);
  #leaves = new Int32Array(64);
  /** Total of the nearest call at or above each node; NaN when there is none. */
  #above = new Float64Array(64);
  /** Whether each parent stands before its child, which makes the order of nodes good as it is. */
  #isForward = true;
  readonly #order = new ParentOrder();
  #isSorting = false;
  #hasCall = false;
  /** No partial sum exceeds twice this. */
  #bound = 0;
  /** The same as `#above`, `input` and `output`, in integers of any size. */
  #bigAbove: (bigint | undefined)[] = [];
  #exactInput = 0n;
  #exactOutput = 0n;

  begin(trace: TraceFacts): void {
    this.input = 0;
    this.output = 0;
    this.bigInput = null;
    this.bigOutput = null;
    this.isOdd = false;
    this.#isForward = true;
    this.#hasCall = false;
    this.#bound = 0;
    this.#isSorting = false;
    this.#copied = 0;
    this.#marked = 0;
    this.#assigned = 0;
    this.#counted = 0;
    this.#summed = 0;
    this.#bigSummed = 0;
    if (trace.nodeCount > this.#parents.length) this.#grow(trace.nodeCount);
  }

  #grow(nodes: number): void {
    const size = Math.max(nodes, this.#parents.length * 2);
    this.#parents = new Int32Array(size);
    this.#callOf = new Int32Array(size);
    this.#leaves = new Int32Array(size);
    this.#above = new Float64Array(size);
  }

  /** As item-steps says. The trace is the one that `begin` was given, unchanged. */
  step(trace: TraceFacts, items: number): number {
    let left = this.#copyParents(trace, items);
    if (left > 0 && !this.#isForward) left = this.#sort(trace, left);
    if (left > 0) left = this.#assignCalls(trace, left);
    if (left > 0 && this.#hasCall) left = this.#sumUp(trace, left);
    return left;
  }

  #sort(trace: TraceFacts, items: number): number {
    let left = this.#markLeaves(trace, items);
    if (left > 0 && !this.#isSorting) {
      this.#isSorting = true;
      this.#order.begin(this.#parents, this.#leaves, trace.nodeCount);
    }
    if (left > 0) left = this.#order.step(left);
    if (left > 0 && this.#order.isOdd) this.isOdd = true;
    return left;
  }

  #sumUp(trace: TraceFacts, items: number): number {
    const count = this.#isForward ? trace.nodeCount : this.#order.length;
    let left = this.#countLeaves(count, items);
    const isExact = trace.bigs === null;
    if (left > 0 && isExact) left = this.#sum(trace, count, left);
    if (left > 0 && !(isExact && this.#bound < 2 ** 51)) left = this.#sumBig(trace, count, left);
    return left;
  }

  /** Parents that are nodes. A node is a leaf until it is a parent. */
  #copyParents({ nodeCount, parents }: TraceFacts, items: number): number {
    const from = this.#copied;
    const to = Math.min(nodeCount, from + items);
    const copy = this.#parents;
    const leaves = this.#leaves;
    const callOf = this.#callOf;
    let isForward = true;
    for (let node = from; node < to; node += 1) {
      const parent = parents[node] as number;
      leaves[node] = 1;
      callOf[node] = -1;
      if (parent >= 0 && parent < nodeCount) {
        copy[node] = parent;
        leaves[parent] = 0;
        if (parent >= node) isForward = false;
      } else {
        copy[node] = NO_NODE;
        if (parent >= 0) this.isOdd = true;
      }
    }
    if (!isForward) this.#isForward = false;
    this.#copied = to;
    return items - (to - from);
  }

  /** Takes the mark of a leaf from parents that came behind a child. */
  #markLeaves({ nodeCount }: TraceFacts, items: number): number {
    const from = this.#marked;
    const to = Math.min(nodeCount, from + items);
    const parents = this.#parents;
    const leaves = this.#leaves;
    for (let node = from; node < to; node += 1) {
      const parent = parents[node] as number;
      if (parent !== NO_NODE) leaves[parent] = 0;
    }
    this.#marked = to;
    return items - (to - from);
  }

  /** The last call that names a node counts for it. */
  #assignCalls({ nodeCount, callCount, callNodes }: TraceFacts, items: number): number {
    const from = this.#assigned;
    const to = Math.min(callCount, from + items);
    const callOf = this.#callOf;
    let hasCall = false;
    for (let call = from; call < to; call += 1) {
      const node = callNodes[call] as number;
      if (node < 0 || node >= nodeCount) continue;
      callOf[node] = call;
      hasCall = true;
    }
    if (hasCall) this.#hasCall = true;
    this.#assigned = to;
    return items - (to - from);
  }

  /**
   * Turns the marks of leaves into the number of leaves at or below each node, for `count` nodes in order, backwards.
   * Of a circle only its root learns the number here.
   */
  #countLeaves(count: number, items: number): number {
    const from = this.#counted;
    const to = Math.min(count, from + items);
    const parents = this.#parents;
    const leaves = this.#leaves;
    const { nodes } = this.#order;
    const isForward = this.#isForward;
    for (let index = count - 1 - from; index >= count - to; index -= 1) {
      const node = isForward ? index : (nodes[index] as number);
      const parent = parents[node] as number;
      if (parent !== NO_NODE) leaves[parent] = (leaves[parent] as number) + (leaves[node] as number);
    }
    this.#counted = to;
    return items - (to - from);
  }

  /** Both sums in doubles. */
  #sum({ hasUsage, prompts, completions, cached }: TraceFacts, count: number, items: number): number {
    const from = this.#summed;
    const to = Math.min(count, from + items);
    const above = this.#above;
    const parents = this.#parents;
    const callOf = this.#callOf;
    const leaves = this.#leaves;
    const { nodes } = this.#order;
    const isForward = this.#isForward;
    let { input, output } = this;
    let bound = this.#bound;
    for (let index = from; index < to; index += 1) {
      const node = isForward ? index : (nodes[index] as number);
      const call = callOf[node] as number;
      const parent = parents[node] as number;
      let before = parent === NO_NODE ? Number.NaN : (above[parent] as number);
      if (!isForward) before = this.#aboveOnCircle(node, before);
      if (call < 0 || hasUsage[call] === 0) {
        above[node] = before;
      } else {
        const ownInput = (prompts[call] as number) + (cached[call] as number);
        const completion = completions[call] as number;
        const increment = ownInput - (Number.isNaN(before) ? 0 : before);
        if (increment > 0) input += increment;
        output += completion * (leaves[node] as number);
        bound += Math.abs(ownInput) + Math.abs(completion) * (leaves[node] as number);
        above[node] = ownInput + completion;
      }
    }
    this.input = input;
    this.output = output;
    this.#bound = bound;
    this.#summed = to;
    return items - (to - from);
  }

  /** What is above a node, on a circle or under one: where nothing is, the way goes round by the entry. */
  #aboveOnCircle(node: number, before: number): number {
    this.#spreadLeaves(node);
    const above = this.#above;
    const order = this.#order;
    const parent = this.#parents[node] as number;
    // Nothing is known of the entry until it is reached.
    if (parent === NO_NODE) above[order.entryOf(node)] = Number.NaN;
    return parent !== NO_NODE && Number.isNaN(before) ? (above[order.entryOf(parent)] as number) : before;
  }

  /** All nodes of a circle stand above the same leaves, those that its root has counted. */
  #spreadLeaves(node: number): void {
    const parent = this.#parents[node] as number;
    if (parent !== NO_NODE && this.#order.isOnCircle(node)) this.#leaves[node] = this.#leaves[parent] as number;
  }

  /** The same in integers of any size, for counts that doubles may round. Rare, so plain. */
  #sumBig(trace: TraceFacts, count: number, items: number): number {
    const from = this.#bigSummed;
    const to = Math.min(count, from + items);
    if (from === 0) this.#beginBig(trace);
    const above = this.#bigAbove;
    const order = this.#order;
    for (let index = from; index < to; index += 1) {
      const node = this.#isForward ? index : (order.nodes[index] as number);
      const call = this.#callOf[node] as number;
      const parent = this.#parents[node] as number;
      let before = parent === NO_NODE ? undefined : above[parent];
      if (!this.#isForward) {
        this.#spreadLeaves(node);
        if (parent !== NO_NODE) before ??= above[order.entryOf(parent)];
      }
      if (call < 0 || trace.hasUsage[call] === 0) {
        above[node] = before;
        continue;
      }
      const ownInput = trace.exactCount(call, 0) + trace.exactCount(call, 2);
      const completion = trace.exactCount(call, 1);
      const increment = ownInput - (before ?? 0n);
      if (increment > 0n) this.#exactInput += increment;
      this.#exactOutput += completion * BigInt(this.#leaves[node] as number);
      above[node] = ownInput + completion;
    }
    this.#bigSummed = to;
    if (to === count) this.#endBig();
    return items - (to - from);
  }

  #beginBig(trace: TraceFacts): void {
    this.#bigAbove = new Array(trace.nodeCount);
    this.#exactInput = 0n;
    this.#exactOutput = 0n;
  }

  #endBig(): void {
    this.#bigAbove = [];
    this.input = Number(this.#exactInput);
    this.output = Number(this.#exactOutput);
    this.bigInput = isSafe(this.#exactInput) ? null : this.#exactInput;
    this.bigOutput = isSafe(this.#exactOutput) ? null : this.#exactOutput;
  }
}
