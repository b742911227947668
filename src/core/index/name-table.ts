/**
 * Gives the names inside rewards and timings small numbers. Names repeat from record to record and mostly in the same
 * order, so the name that followed last time is tried first. Names are bytes without escapes.
 */

/** More names than this are forgotten when a new record begins: they do not repeat. */
const MAX_NAMES = 64;

/** From here on a map finds the name. */
const LINEAR_NAMES = 16;

export class NameTable {
  #names: Uint8Array[] = [];
  #byText: Map<string, number> | null = null;
  #expected = 0;

  /** A new record begins: true when all names were forgotten. */
  beginRecord(): boolean {
    this.#expected = 0;
    if (this.#names.length <= MAX_NAMES) return false;
    this.#names = [];
    this.#byText = null;
    return true;
  }

  /** The number of the name in `bytes[start, end)`, from 0 on in order of first appearance. */
  indexOf(bytes: Uint8Array, start: number, end: number): number {
    const expected = this.#expected;
    const names = this.#names;
    let index = expected;
    if (index >= names.length || !isSame(names[index] as Uint8Array, bytes, start, end)) {
      index = this.#search(bytes, start, end);
    }
    this.#expected = index + 1;
    return index;
  }

  #search(bytes: Uint8Array, start: number, end: number): number {
    const names = this.#names;
    if (names.length > LINEAR_NAMES) return this.#searchMap(bytes, start, end);
    for (let index = 0; index < names.length; index += 1) {
      if (isSame(names[index] as Uint8Array, bytes, start, end)) return index;
    }
    return names.push(copyOf(bytes, start, end)) - 1;
  }

  #searchMap(bytes: Uint8Array, start: number, end: number): number {
    this.#byText ??= new Map(this.#names.map((name, index) => [latin1(name), index]));
    const name = copyOf(bytes, start, end);
    const text = latin1(name);
    let index = this.#byText.get(text);
    if (index === undefined) {
      index = this.#names.push(name) - 1;
      this.#byText.set(text, index);
    }
    return index;
  }
}

/** A copy, also of a Buffer, whose own `slice` is a view of memory that the next record overwrites. */
function copyOf(bytes: Uint8Array, start: number, end: number): Uint8Array {
  return new Uint8Array(bytes.subarray(start, end));
}

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
}

function isSame(name: Uint8Array, bytes: Uint8Array, start: number, end: number): boolean {
  if (name.length !== end - start) return false;
  for (let index = 0; index < name.length; index += 1) {
    if (name[index] !== bytes[start + index]) return false;
  }
  return true;
}
