/**
 * Finds the records of a JSON document that is no JSONL: the objects of an outer array, or one or more pretty-printed
 * objects. stream-json reads the structure; since its tokens carry no positions, it is fed so that every piece ends
 * behind a brace, and a brace that opens or closes an object then lies exactly at the end of its piece. The text goes
 * in as Latin-1, one character a byte: structure is ASCII, and what stands in strings is never looked at.
 */
import { getManyValues, isMany, none } from 'stream-chain/defs.js';
import { jsonParser, type Token } from 'stream-json/core/parser.js';

/** What a piece of the document did. `end` is exclusive; offsets are bytes of the document. */
export type DocumentMark =
  | { readonly kind: 'open'; readonly start: number }
  | { readonly kind: 'close'; readonly end: number }
  /** A value that is no object stands where a record belongs, since the last record ended. */
  | { readonly kind: 'other' };

const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const LF = 0x0a;

/** Longest text handed to the tokenizer at once; also how precisely a syntax error is located. */
const MAX_PIECE_BYTES = 65_536;

/** White space for as long as the tokenizer looks ahead in search of a literal: 16 characters. */
const LOOKAHEAD = ' '.repeat(32);

export class DocumentCutter {
  readonly #tokenizer = jsonParser({ packValues: false, streamValues: false, jsonStreaming: true });
  #offset = 0;
  #depth = 0;
  #outerIsArray = false;

  /** Bytes that have been taken. */
  get offset(): number {
    return this.#offset;
  }

  /**
   * Takes the start of `bytes` up to the next brace and says what it did.
   * @throws Error with the tokenizer's reason when the text is no JSON; `offset` then is where the piece began
   */
  take(bytes: Buffer): { readonly length: number; readonly marks: readonly DocumentMark[] } {
    const length = pieceLength(bytes);
    const tokens = tokensOf(this.#tokenizer(bytes.toString('latin1', 0, length)));
    this.#offset += length;
    return { length, marks: this.#follow(tokens) };
  }

  /** Lets the tokenizer decide on what it still waits to see more of. @throws Error when that is no JSON */
  settle(): readonly DocumentMark[] {
    return this.#follow(tokensOf(this.#tokenizer(LOOKAHEAD)));
  }

  /** Ends the document, after `settle`. @throws Error when it ends inside a value */
  end(): readonly DocumentMark[] {
    // A flushable takes `none` as its end signal; its declared input type leaves that out.
    const marks = this.#follow(tokensOf(this.#tokenizer(none as never)));
    if (this.#depth > 0) throw new Error('the document ends inside an object or array');
    return marks;
  }

  #follow(tokens: readonly Token[]): readonly DocumentMark[] {
    const marks: DocumentMark[] = [];
    for (const { name } of tokens) {
      if (name === 'startObject' || name === 'startArray') {
        const isRecordPlace = this.#isRecordPlace();
        if (this.#depth === 0) this.#outerIsArray = name === 'startArray';
        this.#depth += 1;
        if (!isRecordPlace) continue;
        if (name === 'startObject') marks.push({ kind: 'open', start: this.#offset - 1 });
        else if (this.#depth > 1) marks.push({ kind: 'other' });
      } else if (name === 'endObject' || name === 'endArray') {
        this.#depth -= 1;
        if (name === 'endObject' && this.#isRecordPlace()) marks.push({ kind: 'close', end: this.#offset });
      } else if (this.#isRecordPlace()) {
        marks.push({ kind: 'other' });
      }
    }
    return marks;
  }

  /** Whether a value that begins here is a record: at the top, or straight inside the outer array. */
  #isRecordPlace(): boolean {
    return this.#depth === 0 || (this.#depth === 1 && this.#outerIsArray);
  }
}

/** Up to the next brace, and never past a line end, so that errors are located by line. */
function pieceLength(bytes: Buffer): number {
  const limit = Math.min(bytes.length, MAX_PIECE_BYTES);
  for (let index = 0; index < limit; index += 1) {
    const byte = bytes[index];
    if (byte === OPEN_BRACE || byte === CLOSE_BRACE || byte === LF) return index + 1;
  }
  return limit;
}

function tokensOf(result: unknown): readonly Token[] {
  return isMany(result) ? (getManyValues(result) as Token[]) : [];
}
