/**
 * Bytes of rows, written one behind the other into memory that is used again: a row costs no garbage. Whoever writes
 * reserves first, so that the hot writers need no checks.
 */

/** Longer copies go through the native copy, which costs about as much to call as a loop over this many bytes. */
const LOOP_BYTES = 96;

/** Bytes behind what is reserved that a writer may touch: keys and copies move several bytes at a time. */
const SLACK_BYTES = 16;

/** ASCII text of at most 16 bytes that is written often: in two steps, a third of the time that byte by byte takes. */
export class RowKey {
  readonly length: number;
  /** The bytes as doubles. No ASCII text is a NaN, whose bits might change on the way. */
  readonly first: number;
  readonly second: number;

  /** @throws RangeError for longer text */
  constructor(text: string) {
    if (text.length > 16) throw new RangeError(`a key of ${text.length} bytes, at most 16 are written at once`);
    this.length = text.length;
    const bytes = Buffer.alloc(16);
    bytes.write(text);
    this.first = bytes.readDoubleLE(0);
    this.second = bytes.readDoubleLE(8);
  }
}

const POINT = 0x2e;
const ZERO = 0x30;

/** One shared table of digits: the two of 00 to 99 side by side. */
const DIGIT_PAIRS = Uint8Array.from({ length: 200 }, (_, index) => {
  const pair = index >> 1;
  return ZERO + ((index & 1) === 0 ? Math.floor(pair / 10) : pair % 10);
});

export class RowBuffer {
  bytes: Uint8Array;
  /** Bytes written. */
  length = 0;
  #view: DataView;

  constructor(capacityBytes = 65_536) {
    this.bytes = new Uint8Array(capacityBytes + SLACK_BYTES);
    this.#view = new DataView(this.bytes.buffer);
  }

  /** The bytes written so far; valid until the next write. */
  view(): Uint8Array {
    return this.bytes.subarray(0, this.length);
  }

  clear(): void {
    this.length = 0;
  }

  /** Makes room for `count` more bytes. */
  reserve(count: number): void {
    if (this.length + count + SLACK_BYTES > this.bytes.length) this.#grow(count);
  }

  #grow(count: number): void {
    const grown = new Uint8Array(Math.max(this.bytes.length * 2, this.length + count + SLACK_BYTES));
    grown.set(this.view());
    this.bytes = grown;
    this.#view = new DataView(grown.buffer);
  }

  /** The room must be reserved. */
  writeByte(byte: number): void {
    this.bytes[this.length] = byte;
    this.length += 1;
  }

  /** The room must be reserved. */
  writeKey(key: RowKey): void {
    const view = this.#view;
    const at = this.length;
    view.setFloat64(at, key.first, true);
    view.setFloat64(at + 8, key.second, true);
    this.length = at + key.length;
  }

  /**
   * Copies `source[start, start + count)`, four bytes at a time, so that up to three bytes behind are read as well.
   * The room must be reserved.
   */
  writeWords(source: DataView, start: number, count: number): void {
    const view = this.#view;
    const at = this.length;
    if (count > LOOP_BYTES || start + count + 4 > source.byteLength) {
      this.writeBytes(new Uint8Array(source.buffer, source.byteOffset, source.byteLength), start, count);
      return;
    }
    for (let index = 0; index < count; index += 4) {
      view.setInt32(at + index, source.getInt32(start + index, true), true);
    }
    this.length = at + count;
  }

  /** Copies `source[start, start + count)`. The room must be reserved. */
  writeBytes(source: Uint8Array, start: number, count: number): void {
    const { bytes } = this;
    const at = this.length;
    if (count <= LOOP_BYTES) {
      for (let index = 0; index < count; index += 1) bytes[at + index] = source[start + index] as number;
    } else {
      bytes.set(source.subarray(start, start + count), at);
    }
    this.length = at + count;
  }

  /** Writes ASCII text. Reserves by itself: for what is rare or long. */
  writeAscii(text: string): void {
    this.reserve(text.length);
    const { bytes } = this;
    const at = this.length;
    for (let index = 0; index < text.length; index += 1) bytes[at + index] = text.charCodeAt(index);
    this.length = at + text.length;
  }

  /** Writes text of any kind as UTF-8. Reserves by itself. */
  writeText(text: string): void {
    const encoded = Buffer.from(text);
    this.reserve(encoded.length);
    this.writeBytes(encoded, 0, encoded.length);
  }

  /** Writes six digits. The room must be reserved. */
  writeMillionths(value: number): void {
    const high = ((value | 0) / 10_000) | 0;
    const rest = (value | 0) - high * 10_000;
    const middle = (rest / 100) | 0;
    const at = this.length;
    this.#writePair(at, high);
    this.#writePair(at + 2, middle);
    this.#writePair(at + 4, rest - middle * 100);
    this.length = at + 6;
  }

  #writePair(at: number, value: number): void {
    const { bytes } = this;
    bytes[at] = DIGIT_PAIRS[value << 1] as number;
    bytes[at + 1] = DIGIT_PAIRS[(value << 1) + 1] as number;
  }

  /** Takes back the zeros at the end of a decimal that was just written, but for the digit behind its point. */
  trimZeros(): void {
    const { bytes } = this;
    let end = this.length;
    while (bytes[end - 1] === ZERO && bytes[end - 2] !== POINT) end -= 1;
    this.length = end;
  }

  /** Writes a whole number from 0 to 2^53 in decimal. The room, 16 bytes, must be reserved. */
  writeDigits(value: number): void {
    const pairs = DIGIT_PAIRS;
    const { bytes } = this;
    let rest = value;
    let end = this.length + countDigits(value);
    this.length = end;
    // Above 31 bits a remainder is a call to C.
    while (rest > 0x7fffffff) {
      const next = Math.floor(rest / 100);
      const pair = (rest - next * 100) << 1;
      bytes[end - 1] = pairs[pair + 1] as number;
      bytes[end - 2] = pairs[pair] as number;
      end -= 2;
      rest = next;
    }
    let small = rest | 0;
    while (small >= 100) {
      const next = (small / 100) | 0;
      const pair = (small - next * 100) << 1;
      bytes[end - 1] = pairs[pair + 1] as number;
      bytes[end - 2] = pairs[pair] as number;
      end -= 2;
      small = next;
    }
    if (small >= 10) {
      bytes[end - 1] = pairs[(small << 1) + 1] as number;
      bytes[end - 2] = pairs[small << 1] as number;
    } else {
      bytes[end - 1] = ZERO + small;
    }
  }
}

function countDigits(value: number): number {
  if (value < 10) return 1;
  if (value < 100) return 2;
  if (value < 1_000) return 3;
  if (value < 10_000) return 4;
  if (value < 100_000) return 5;
  let digits = 6;
  for (let limit = 1_000_000; value >= limit; limit *= 10) digits += 1;
  return digits;
}
