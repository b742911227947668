/**
 * Drops the white space between the tokens of a JSON text that arrives in pieces, so that a pretty-printed document
 * becomes one line. Numbers, escapes and key order stay byte for byte; nothing is parsed.
 */

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** State over the pieces of one text: whether the reader stands inside a string, and behind a backslash. */
export class JsonCompactor {
  #isInString = false;
  #isEscaped = false;

  /** Copies `piece` without its white space to `target` from `at` on; returns the offset behind what was written. */
  write(piece: Buffer, target: Buffer, at: number): number {
    let position = at;
    for (let index = 0; index < piece.length; index += 1) {
      const byte = piece[index] as number;
      if (this.#isInString) this.#inString(byte);
      else if (byte === QUOTE) this.#isInString = true;
      else if (byte === 0x20 || (byte >= 0x09 && byte <= 0x0d)) continue;
      target[position] = byte;
      position += 1;
    }
    return position;
  }

  #inString(byte: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === BACKSLASH) this.#isEscaped = true;
    else if (byte === QUOTE) this.#isInString = false;
  }
}
