/**
 * The sums and quotients of spec 04 section 3. Python adds integers exactly and, since 3.12, floats with a compensation
 * for what rounding loses; both have to come out the same here, digit for digit.
 */

/**
 * A number as Python has it. `value` is the nearest double; `big` is the value of an integer that a double cannot hold
 * for certain (beyond 2^53), null for all others.
 */
export type PythonNumber = { readonly value: number; readonly isInt: boolean; readonly big: bigint | null };

/** The built-in `sum` of Python 3.12 and newer, item by item. */
export class ExactSum implements PythonNumber {
  #count = 0;
  #isInt = true;
  #total = 0;
  #big: bigint | null = null;
  #lost = 0;

  reset(): void {
    this.#count = 0;
    this.#isInt = true;
    this.#total = 0;
    this.#big = null;
    this.#lost = 0;
  }

  /** Items added. */
  get count(): number {
    return this.#count;
  }

  /** True while no float was among the items, also when there were none. */
  get isInt(): boolean {
    return this.#isInt;
  }

  get value(): number {
    if (this.#isInt || this.#lost === 0 || !Number.isFinite(this.#lost)) return this.#total;
    return this.#total + this.#lost;
  }

  get big(): bigint | null {
    return this.#big;
  }

  add(item: PythonNumber): void {
    if (item.isInt) this.addInt(item.value, item.big);
    else this.addFloat(item.value);
  }

  /** @param big as in PythonNumber */
  addInt(value: number, big: bigint | null): void {
    this.#count += 1;
    if (!this.#isInt) {
      this.#total += value;
      return;
    }
    const total = this.#total + value;
    if (big === null && this.#big === null && Number.isSafeInteger(total)) this.#total = total;
    else this.#addBig(big ?? BigInt(value));
  }

  #addBig(item: bigint): void {
    const total = (this.#big ?? BigInt(this.#total)) + item;
    this.#total = Number(total);
    this.#big = isSafe(total) ? null : total;
  }

  addFloat(value: number): void {
    this.#count += 1;
    const before = this.#total;
    const total = before + value;
    if (this.#isInt) {
      // The first float is added plainly.
      this.#isInt = false;
      this.#big = null;
    } else if (Math.abs(before) >= Math.abs(value)) {
      this.#lost += before - total + value;
    } else {
      this.#lost += value - total + before;
    }
    this.#total = total;
  }

  /** The sum over the number of items, always a float. NaN when there were none. */
  mean(): number {
    return this.#big === null ? this.value / this.#count : divideRounded(this.#big, this.#count);
  }
}

/** Whether a double holds the integer, and no other integer rounds to it. */
export function isSafe(value: bigint): boolean {
  return value <= BigInt(Number.MAX_SAFE_INTEGER) && value >= -BigInt(Number.MAX_SAFE_INTEGER);
}

/** The quotient of an integer beyond 2^53, rounded once to the nearest double, ties to even, as Python divides. */
function divideRounded(dividend: bigint, divisor: number): number {
  const size = dividend < 0n ? -dividend : dividend;
  const by = BigInt(divisor);
  // 64 more bits than the divisor takes away; the lowest stands for every bit behind it.
  const shifted = size << 96n;
  const quotient = shifted / by;
  const sticky = shifted % by === 0n ? quotient : quotient | 1n;
  const result = Number(sticky) * 2 ** -96;
  return dividend < 0n ? -result : result;
}
