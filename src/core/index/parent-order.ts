/**
 * The nodes of all branches of a trace, parents first, for the traces whose nodes do not stand so.
 *
 * Parents that run in a circle have no root. A walk up from a leaf then ends where it would meet itself: the circle is
 * cut open there, and the first leaf, in ascending order, settles where. What no leaf leads to is on no branch.
 */
const NO_NODE = -1;

/** States of a node while walks go up. */
const NEW = 0;
const ON_WALK = 1;
const DONE = 2;
/** Done, as a node of a circle. */
const ON_CIRCLE = 3;

export class ParentOrder {
  /** The order, once `step` is done, in the first `length` places. */
  nodes = new Int32Array(0);
  length = 0;
  /** Whether parents ran in a circle. */
  isOdd = false;

  #parents: Int32Array = this.nodes;
  #leaves: Int32Array = this.nodes;
  #count = 0;
  #states = new Uint8Array(0);
  /** Of a node on a circle the one that a walk entered it by. */
  #entries = new Int32Array(0);
  /** The walk at hand, from its leaf up. */
  #walk = new Int32Array(0);
  #walked = 0;
  /** Where the walk is; NO_NODE: it goes back down. */
  #node = NO_NODE;
  /** The entry of the circle that the walk ended in, until the way down has passed it; NO_NODE: none. */
  #entry = NO_NODE;
  /** Nodes that were looked at for leaves. */
  #looked = 0;

  /**
   * @param parents of the first `count` nodes, NO_NODE for none; circles are cut open in it
   * @param leaves 0 for a node that is a parent
   */
  begin(parents: Int32Array, leaves: Int32Array, count: number): void {
    if (count > this.nodes.length) {
      const size = Math.max(count, this.nodes.length * 2);
      this.nodes = new Int32Array(size);
      this.#states = new Uint8Array(size);
      this.#entries = new Int32Array(size);
      this.#walk = new Int32Array(size);
    }
    this.#states.fill(NEW, 0, count);
    this.#parents = parents;
    this.#leaves = leaves;
    this.#count = count;
    this.length = 0;
    this.isOdd = false;
    this.#walked = 0;
    this.#node = NO_NODE;
    this.#entry = NO_NODE;
    this.#looked = 0;
  }

  isOnCircle(node: number): boolean {
    return this.#states[node] === ON_CIRCLE;
  }

  /** The node by which a circle was entered, for a node on one; any other is its own. */
  entryOf(node: number): number {
    return this.#states[node] === ON_CIRCLE ? (this.#entries[node] as number) : node;
  }

  /** As item-steps says; a node counts when it is looked at, on the way up and on the way down. */
  step(items: number): number {
    let left = items;
    while (left > 0) {
      if (this.#node !== NO_NODE) left = this.#rise(left);
      else if (this.#walked > 0) left = this.#descend(left);
      else if (this.#looked < this.#count) left = this.#findLeaf(left);
      else break;
    }
    if (left > 0 && this.length < this.#count) this.isOdd = true;
    return left;
  }

  #findLeaf(items: number): number {
    const leaves = this.#leaves;
    const from = this.#looked;
    const to = Math.min(this.#count, from + items);
    let node = from;
    while (node < to && leaves[node] === 0) node += 1;
    if (node < to) {
      this.#node = node;
      node += 1;
    }
    this.#looked = node;
    return items - (node - from);
  }

  /** Goes up to a root, to a node of an earlier walk, or to one of this walk, which closes a circle. */
  #rise(items: number): number {
    const states = this.#states;
    const walk = this.#walk;
    const from = this.#walked;
    const end = from + items;
    let walked = from;
    let node = this.#node;
    while (walked < end && node !== NO_NODE && states[node] === NEW) {
      states[node] = ON_WALK;
      walk[walked] = node;
      walked += 1;
      node = this.#parents[node] as number;
    }
    if (node !== NO_NODE && states[node] !== NEW) {
      if (states[node] === ON_WALK) {
        this.#parents[walk[walked - 1] as number] = NO_NODE;
        this.#entry = node;
        this.isOdd = true;
      }
      node = NO_NODE;
    }
    this.#node = node;
    this.#walked = walked;
    return items - (walked - from);
  }

  #descend(items: number): number {
    const from = this.#walked;
    const end = Math.max(0, from - items);
    let entry = this.#entry;
    let walked = from;
    while (walked > end) {
      walked -= 1;
      const node = this.#walk[walked] as number;
      this.nodes[this.length] = node;
      this.length += 1;
      this.#states[node] = entry === NO_NODE ? DONE : ON_CIRCLE;
      this.#entries[node] = entry;
      if (node === entry) entry = NO_NODE;
    }
    this.#entry = entry;
    this.#walked = walked;
    return items - (from - walked);
  }
}
