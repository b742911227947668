/**
 * Token counts derived from the branches of a trace (spec 02 section 5), in time linear in its nodes and calls. A branch
 * is the way from a leaf up to its root. The increment of a call depends only on the nearest call above it, so that one
 * pass over the nodes, parents first, gives all of them; a call's completion counts once for each leaf below it.
 *
 * One pass after another, each stopping where it is told to (item-steps): the fields say how far the pass at hand is.
 */
import { isSafe } from './exact-sum.js';
import { ALL_ITEMS } from './item-steps.js';
import { ParentOrder } from './parent-order.js';
import type { TraceFacts } from './trace-facts.js';

const NO_NODE = -1;

/** The passes, in their order. */
const CLEAR = 0;
const PARENTS = 1;
/** Only where a parent stands behind its child. */
const SORT = 2;
const CALLS = 3;
const LEAVES = 4;
const SUM = 5;
/** Instead of SUM, or again, for counts that doubles may round. Rare, so plain. */
const BIG_SUM = 6;
const DONE = 7;

export class BranchTokens {
  /** Results, once all is done. `big` values stand in for counts that a double cannot hold, else they are null. */
  input = 0;
  output = 0;
  bigInput: bigint | null = null;
  bigOutput: bigint | null = null;
  /** Whether a parent of the trace was no index of a node, or parents ran in a circle. */
  isOdd = false;

  #pass = DONE;
  /** Items of the pass that are done. */
  #at = 0;
  #parents = new Int32Array(64);
  /** The call that counts for each node. */
  #callOf = new Int32Array(64);
  #leaves = new Int32Array(64);
  /** Total of the nearest call at or above each node; NaN when there is none. */
  #above = new Float64Array(64);
  /** Whether each parent stands before its child, which makes the order of nodes good as it is. */
  #isForward = true;
  readonly #order = new ParentOrder();
  #hasCall = false;
  /** No partial sum exceeds twice this. */
  #bound = 0;
  /** The same as `#above`, `input` and `output`, in integers of any size. */
  #bigAbove: (bigint | undefined)[] = [];
  #exactInput = 0n;
  #exactOutput = 0n;

  /** All in one go. */
  derive(trace: TraceFacts): void {
    this.begin(trace);
    this.step(trace, ALL_ITEMS);
  }

  begin(trace: TraceFacts): void {
    this.input = 0;
    this.output = 0;
    this.bigInput = null;
    this.bigOutput = null;
    this.isOdd = false;
    this.#isForward = true;
    this.#hasCall = false;
    this.#bound = 0;
    if (trace.nodeCount > this.#parents.length) this.#grow(trace.nodeCount);
    this.#enter(CLEAR);
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
    let left = items;
    while (left > 0 && this.#pass !== DONE) left -= this.#pass === SORT ? this.#sort(left) : this.#goOn(trace, left);
    return left;
  }

  #enter(pass: number): void {
    this.#pass = pass;
    this.#at = 0;
  }

  /** Returns how many items were taken. */
  #goOn(trace: TraceFacts, most: number): number {
    const from = this.#at;
    const count = this.#itemsOf(trace);
    const to = Math.min(count, from + most);
    switch (this.#pass) {
      case CLEAR:
        this.#clear(from, to);
        break;
      case PARENTS:
        this.#copyParents(trace, from, to);
        break;
      case CALLS:
        this.#assignCalls(trace, from, to);
        break;
      case LEAVES:
        this.#countLeaves(count - to, count - from);
        break;
      case SUM:
        this.#sum(trace, from, to);
        break;
      default:
        this.#sumBig(trace, from, to);
    }
    this.#at = to;
    if (to === count) this.#enter(this.#nextPass(trace));
    return to - from;
  }

  #itemsOf(trace: TraceFacts): number {
    if (this.#pass === CALLS) return trace.callCount;
    return this.#pass < SORT || this.#isForward ? trace.nodeCount : this.#order.length;
  }

  #nextPass(trace: TraceFacts): number {
    switch (this.#pass) {
      case CLEAR:
        return PARENTS;
      case PARENTS:
        if (this.#isForward) return CALLS;
        this.#order.begin(this.#parents, this.#leaves, trace.nodeCount);
        return SORT;
      case CALLS:
        return this.#hasCall ? LEAVES : DONE;
      case LEAVES:
        return trace.bigs === null ? SUM : this.#beginBig(trace);
      case SUM:
        return this.#bound < 2 ** 51 ? DONE : this.#beginBig(trace);
      default:
        this.#endBig();
        return DONE;
    }
  }

  #sort(most: number): number {
    const left = this.#order.step(most);
    if (left > 0) {
      if (this.#order.isOdd) this.isOdd = true;
      this.#enter(CALLS);
    }
    return most - left;
  }

  #clear(from: number, to: number): void {
    const leaves = this.#leaves;
    const callOf = this.#callOf;
    for (let node = from; node < to; node += 1) {
      leaves[node] = 1;
      callOf[node] = -1;
    }
  }

  /** Parents that are nodes. */
  #copyParents({ nodeCount, parents }: TraceFacts, from: number, to: number): void {
    const copy = this.#parents;
    const leaves = this.#leaves;
    let isForward = true;
    for (let node = from; node < to; node += 1) {
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
    if (!isForward) this.#isForward = false;
  }

  /** The last call that names a node counts for it. */
  #assignCalls({ nodeCount, callNodes }: TraceFacts, from: number, to: number): void {
    const callOf = this.#callOf;
    let hasCall = false;
    for (let call = from; call < to; call += 1) {
      const node = callNodes[call] as number;
      if (node < 0 || node >= nodeCount) continue;
      callOf[node] = call;
      hasCall = true;
    }
    if (hasCall) this.#hasCall = true;
  }

  /**
   * Turns the marks of leaves into the number of leaves at or below each node, for places `from` to before `to` of the
   * order, backwards. Of a circle only its root learns the number here.
   */
  #countLeaves(from: number, to: number): void {
    const parents = this.#parents;
    const leaves = this.#leaves;
    const { nodes } = this.#order;
    const isForward = this.#isForward;
    for (let index = to - 1; index >= from; index -= 1) {
      const node = isForward ? index : (nodes[index] as number);
      const parent = parents[node] as number;
      if (parent !== NO_NODE) leaves[parent] = (leaves[parent] as number) + (leaves[node] as number);
    }
  }

  /** Both sums in doubles. */
  #sum({ hasUsage, prompts, completions, cached }: TraceFacts, from: number, to: number): void {
    const above = this.#above;
    const parents = this.#parents;
    const { nodes } = this.#order;
    const isForward = this.#isForward;
    let { input, output } = this;
    let bound = this.#bound;
    for (let index = from; index < to; index += 1) {
      const node = isForward ? index : (nodes[index] as number);
      const call = this.#callOf[node] as number;
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
        output += completion * (this.#leaves[node] as number);
        bound += Math.abs(ownInput) + Math.abs(completion) * (this.#leaves[node] as number);
        above[node] = ownInput + completion;
      }
    }
    this.input = input;
    this.output = output;
    this.#bound = bound;
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

  #beginBig(trace: TraceFacts): number {
    this.#bigAbove = new Array(trace.nodeCount);
    this.#exactInput = 0n;
    this.#exactOutput = 0n;
    return BIG_SUM;
  }

  #sumBig(trace: TraceFacts, from: number, to: number): void {
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
  }

  #endBig(): void {
    this.#bigAbove = [];
    this.input = Number(this.#exactInput);
    this.output = Number(this.#exactOutput);
    this.bigInput = isSafe(this.#exactInput) ? null : this.#exactInput;
    this.bigOutput = isSafe(this.#exactOutput) ? null : this.#exactOutput;
  }
}
