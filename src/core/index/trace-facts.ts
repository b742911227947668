/**
 * What a row needs of one trace, in flat arrays that are used again: filled from a tape or from an object, then folded
 * into the facts of its record.
 */
import { NumberFact } from './number-fact.js';
import { Rewards } from './rewards.js';

/** Values of `kind`. */
export const KIND = { NONE: 0, TRAIN: 1, EVAL: 2 } as const;

/** Values of `stop`. */
export const STOP = { ABSENT: 0, NULL: 1, TEXT: 2 } as const;

/** Values in `parents` that are no index. */
export const NO_PARENT = { ABSENT: -1, NULL: -2, ODD: -3 } as const;

/** Nodes that can be addressed: an index is at most nine digits. */
export const MAX_INDEX = 999_999_999;

/** Which count of a usage. */
export const COUNT = { PROMPT: 0, COMPLETION: 1, CACHED: 2 } as const;

/** Most nodes and calls of one trace: twenty times what 560 MB hold as producers write them. Powers of two. */
export const MAX_NODES = 4_194_304;
export const MAX_CALLS = 2_097_152;

/** Columns of `bigs` for each call: three counts and the cost. */
const BIG_COLUMNS = 4;
const COST_COLUMN = 3;

/** Values in `costKinds`. */
const NO_COST = 0;
const INT_COST = 1;
const FLOAT_COST = 2;

export class TraceFacts {
  /** Place of the id in the kept text; length -1 when the trace has none. */
  idStart = 0;
  idLength = -1;
  kind: number = KIND.NONE;
  nodeCount = 0;
  parents = new Int32Array(64);
  /** Parents that are no integers an array can have as index, as the key by which Python tells them apart. */
  oddParents: string[] = [];
  /** Nodes whose message is the assistant's. */
  turns = 0;
  callCount = 0;
  /** The node that a call names; -1 when it names none. */
  callNodes = new Int32Array(32);
  hasUsage = new Uint8Array(32);
  prompts = new Float64Array(32);
  completions = new Float64Array(32);
  cached = new Float64Array(32);
  costs = new Float64Array(32);
  costKinds = new Uint8Array(32);
  hasError = new Uint8Array(32);
  isCutByLength = new Uint8Array(32);
  /** Exact values of counts and costs beyond 2^53; null while there are none. */
  bigs: Map<number, bigint> | null = null;
  readonly rewards = new Rewards();
  readonly advantage = new NumberFact();
  readonly dispatch = new NumberFact();
  readonly arrival = new NumberFact();
  /** Step at which the episode arrived; NaN when it says none. An object that is fed sets none: no row has it. */
  arrivalStep = Number.NaN;
  stop: number = STOP.ABSENT;
  stopStart = 0;
  stopLength = 0;
  /** More nodes or calls came than are kept, so that the trace can have no row: memory does not depend on input. */
  isOverfull = false;

  reset(): void {
    this.idLength = -1;
    this.clearNodes();
    this.clearCalls();
    this.rewards.reset();
    this.clearInfo();
    this.stop = STOP.ABSENT;
    this.isOverfull = false;
  }

  clearNodes(): void {
    this.nodeCount = 0;
    this.turns = 0;
    if (this.oddParents.length > 0) this.oddParents = [];
  }

  clearCalls(): void {
    this.callCount = 0;
    this.bigs = null;
  }

  clearInfo(): void {
    this.kind = KIND.NONE;
    this.advantage.clear();
    this.dispatch.clear();
    this.clearArrival();
  }

  clearArrival(): void {
    this.arrival.clear();
    this.arrivalStep = Number.NaN;
  }

  /** Makes room for nodes and calls before any is added, so that adding copies nothing. */
  reserve(nodes: number, calls: number): void {
    if (nodes > this.parents.length) this.parents = new Int32Array(sizeFor(nodes, MAX_NODES));
    if (calls > this.callNodes.length) this.#growCalls(sizeFor(calls, MAX_CALLS));
  }

  addNode(): void {
    const node = this.nodeCount;
    if (node === this.parents.length) {
      this.isOverfull ||= node === MAX_NODES;
      if (this.isOverfull) return;
      const grown = new Int32Array(node * 2);
      grown.set(this.parents);
      this.parents = grown;
    }
    this.parents[node] = NO_PARENT.ABSENT;
    this.nodeCount = node + 1;
  }

  /** Sets the parent of the last node: an index or a value of NO_PARENT. */
  setParent(parent: number): void {
    const node = this.nodeCount - 1;
    // A repeated key takes the place of what it said before.
    if (this.parents[node] === NO_PARENT.ODD) this.oddParents.pop();
    this.parents[node] = parent;
  }

  /** @param key equal for values that are equal in Python */
  setOddParent(key: string): void {
    this.setParent(NO_PARENT.ODD);
    this.oddParents.push(key);
  }

  addCall(): void {
    const call = this.callCount;
    if (call === this.callNodes.length) {
      this.isOverfull ||= call === MAX_CALLS;
      if (this.isOverfull) return;
      this.#growCalls(call * 2);
    }
    this.callNodes[call] = -1;
    this.hasError[call] = 0;
    this.isCutByLength[call] = 0;
    this.callCount = call + 1;
    this.clearUsage();
  }

  /** The last call has no usage, until one comes. */
  clearUsage(): void {
    const call = this.callCount - 1;
    this.hasUsage[call] = 0;
    this.prompts[call] = 0;
    this.completions[call] = 0;
    this.cached[call] = 0;
    this.costKinds[call] = NO_COST;
    if (this.bigs === null) return;
    for (let column = 0; column < BIG_COLUMNS; column += 1) this.bigs.delete(call * BIG_COLUMNS + column);
  }

  /** Sets a count of the last call's usage. */
  setCount(column: number, value: number, big: bigint | null): void {
    const call = this.callCount - 1;
    const counts =
      column === COUNT.PROMPT ? this.prompts : column === COUNT.COMPLETION ? this.completions : this.cached;
    counts[call] = value;
    this.#setBig(call * BIG_COLUMNS + column, big);
  }

  /** Sets the cost of the last call. */
  setCost(value: number, isInt: boolean, big: bigint | null): void {
    const call = this.callCount - 1;
    this.costs[call] = value;
    this.costKinds[call] = isInt ? INT_COST : FLOAT_COST;
    this.#setBig(call * BIG_COLUMNS + COST_COLUMN, big);
  }

  clearCost(): void {
    this.costKinds[this.callCount - 1] = NO_COST;
  }

  hasCost(call: number): boolean {
    return this.costKinds[call] !== NO_COST;
  }

  isIntCost(call: number): boolean {
    return this.costKinds[call] === INT_COST;
  }

  bigCost(call: number): bigint | null {
    return this.bigs === null ? null : (this.bigs.get(call * BIG_COLUMNS + COST_COLUMN) ?? null);
  }

  /** A count of a call, exactly. */
  exactCount(call: number, column: number): bigint {
    const counts =
      column === COUNT.PROMPT ? this.prompts : column === COUNT.COMPLETION ? this.completions : this.cached;
    return this.bigs?.get(call * BIG_COLUMNS + column) ?? BigInt(counts[call] as number);
  }

  #setBig(key: number, big: bigint | null): void {
    if (big !== null) {
      this.bigs ??= new Map();
      this.bigs.set(key, big);
    } else if (this.bigs !== null) {
      this.bigs.delete(key);
    }
  }

  #growCalls(size: number): void {
    const used = this.callCount;
    this.callNodes = grow(this.callNodes, new Int32Array(size), used);
    this.hasUsage = grow(this.hasUsage, new Uint8Array(size), used);
    this.prompts = grow(this.prompts, new Float64Array(size), used);
    this.completions = grow(this.completions, new Float64Array(size), used);
    this.cached = grow(this.cached, new Float64Array(size), used);
    this.costs = grow(this.costs, new Float64Array(size), used);
    this.costKinds = grow(this.costKinds, new Uint8Array(size), used);
    this.hasError = grow(this.hasError, new Uint8Array(size), used);
    this.isCutByLength = grow(this.isCutByLength, new Uint8Array(size), used);
  }

  /** Whether the last call without an error was ended by the length of its output. */
  endedByLength(): boolean {
    for (let call = this.callCount - 1; call >= 0; call -= 1) {
      if (this.hasError[call] === 0) return this.isCutByLength[call] === 1;
    }
    return false;
  }
}

function grow<T extends Int32Array | Uint8Array | Float64Array>(from: T, to: T, used: number): T {
  to.set(from.subarray(0, used));
  return to;
}

/** A power of two, since arrays double until they are at the most. */
function sizeFor(count: number, most: number): number {
  return Math.min(2 ** Math.ceil(Math.log2(count)), most);
}
