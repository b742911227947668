/**
 * Walks one record with stream-json's tokenizer and leaves the same tape as a RecordWalker: for JSON that is no line of
 * a stream, and as an independent judge of the walkers, with which it shares nothing but the contract. It checks all of
 * the text: grammar, escapes and UTF-8.
 */
import { getManyValues, isMany, none } from 'stream-chain/defs.js';
import { jsonParser, type Token } from 'stream-json/core/parser.js';
import { FIELD, type TapeSink, TYPE, UNIT_KEYS } from '../core/scan/record-tape.js';
import { CappedText, TapeWriter } from './tape-writer.js';
import { type Place, RECORD_MEMBERS } from './token-places.js';

const UNIT_BITS = new Map<string, number>(UNIT_KEYS.map((key, bit) => [key, 1 << bit]));

/** Longest text handed to the tokenizer at once, so that its memory does not follow the length of the record. */
const PIECE_BYTES = 65_536;

const LITERAL_TYPES: ReadonlyMap<string, number> = new Map([
  ['null', TYPE.NULL],
  ['true', TYPE.TRUE],
  ['false', TYPE.FALSE],
]);
const SMALL_INTEGER = /^\d{1,9}$/;

/** Walks records one by one with one tape. */
export class TokenWalker {
  readonly #sink: TapeSink;
  readonly #tape: TapeWriter;

  constructor(sink: TapeSink) {
    this.#sink = sink;
    this.#tape = new TapeWriter(sink);
  }

  /**
   * Reads the one JSON object in `pieces` and gives the sink its tape. A captured string is escaped anew, and the text
   * kept of an object is without white space; keys, numbers and the order of all stay. Memory is the nesting, the tape,
   * one value of up to ARENA_BYTES and the longest key.
   * @throws Error with the reason when the text is no JSON object, more than one, or no UTF-8; what the sink took is void
   */
  walk(pieces: Uint8Array | Iterable<Uint8Array>): void {
    const tokenizer = jsonParser({
      packStrings: false,
      streamStrings: true,
      packKeys: true,
      streamKeys: false,
      packNumbers: true,
      streamNumbers: false,
    });
    const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
    this.#tape.clear();
    this.#sink.beginRecord();
    const walk = new RecordWalk(this.#tape);
    for (const piece of pieces instanceof Uint8Array ? [pieces] : pieces) {
      for (let start = 0; start < piece.length; start += PIECE_BYTES) {
        const text = decoder.decode(piece.subarray(start, start + PIECE_BYTES), { stream: true });
        follow(walk, tokenizer(text));
      }
    }
    follow(walk, tokenizer(decoder.decode()));
    // A flushable takes `none` as its end signal; its declared input type leaves that out.
    follow(walk, tokenizer(none as never));
    walk.end();
  }
}

function follow(walk: RecordWalk, result: unknown): void {
  if (!isMany(result)) return;
  for (const token of getManyValues(result) as Token[]) walk.take(token);
}

/** An open object or list in which something is wanted. */
type Frame = {
  /** Null for the record itself. */
  readonly place: Place | null;
  /** Null for a list. */
  readonly members: ReadonlyMap<string, Place> | null;
  /** Values that have begun in it. */
  count: number;
};

/** Follows the tokens of one record. */
class RecordWalk {
  readonly #tape: TapeWriter;
  readonly #frames: Frame[] = [];
  readonly #text = new CappedText();
  #key = '';
  #unitKeys = 0;
  #isWhole = false;
  /** Open containers of which nothing is wanted. */
  #skipped = 0;
  /** The place of the object whose text is being kept, and how many containers are open in it. */
  #kept: Place | null = null;
  #keptDepth = 0;
  /** The place of the string being read, if it is wanted. */
  #string: Place | null = null;

  constructor(tape: TapeWriter) {
    this.#tape = tape;
  }

  take(token: Token): void {
    if (this.#skipped > 0) this.#skip(token);
    else if (this.#kept !== null) this.#keep(token, this.#kept);
    else this.#follow(token);
  }

  end(): void {
    if (!this.#isWhole) throw new Error('the text ends before its object does');
    this.#tape.push(FIELD.UNIT_KEYS, 0, this.#unitKeys, 0);
    this.#tape.handOver();
  }

  #skip({ name }: Token): void {
    if (name === 'startObject' || name === 'startArray') this.#skipped += 1;
    else if (name === 'endObject' || name === 'endArray') this.#skipped -= 1;
  }

  #keep(token: Token, place: Place): void {
    this.#text.append(this.#textOf(token));
    if (token.name === 'startObject' || token.name === 'startArray') this.#keptDepth += 1;
    else if (token.name === 'endObject' || token.name === 'endArray') this.#keptDepth -= 1;
    if (this.#keptDepth > 0) return;
    this.#tape.capture(place.field, TYPE.RAW, this.#text);
    this.#kept = null;
  }

  /** A token as text, with the comma before it. */
  #textOf(token: Token): string {
    const comma = '{[:'.includes(this.#text.last) ? '' : ',';
    switch (token.name) {
      case 'keyValue':
        return `${comma}"${escaped(token.value)}":`;
      case 'startString':
        return `${comma}"`;
      case 'stringChunk':
        return escaped(token.value);
      case 'endString':
        return '"';
      case 'startObject':
        return `${comma}{`;
      case 'startArray':
        return `${comma}[`;
      case 'endObject':
        return '}';
      case 'endArray':
        return ']';
      default:
        return comma + literalText(token);
    }
  }

  #follow(token: Token): void {
    switch (token.name) {
      case 'keyValue':
        this.#key = token.value;
        if (this.#frames.length === 1) this.#unitKeys |= UNIT_BITS.get(token.value) ?? 0;
        break;
      case 'startString':
        this.#string = this.#nextPlace();
        this.#text.clear();
        break;
      case 'stringChunk':
        if (this.#string !== null) this.#text.append(escaped(token.value));
        break;
      case 'endString':
        this.#endString();
        break;
      case 'startObject':
        this.#openObject();
        break;
      case 'startArray':
        this.#openArray(this.#nextPlace());
        break;
      case 'endObject':
        this.#frames.pop();
        if (this.#frames.length === 0) this.#isWhole = true;
        break;
      case 'endArray':
        this.#closeArray(this.#frames.pop());
        break;
      default:
        this.#takeLiteral(this.#nextPlace(), literalText(token));
    }
  }

  #endString(): void {
    if (this.#string === null) return;
    this.#tape.capture(this.#string.field, this.#text.hasBackslash ? TYPE.ESCAPED : TYPE.STRING, this.#text);
    this.#string = null;
  }

  #takeLiteral(place: Place | null, text: string): void {
    if (place === null) return;
    const type = LITERAL_TYPES.get(text);
    if (type !== undefined) {
      this.#tape.push(place.field, type, 0, 0);
    } else if (SMALL_INTEGER.test(text)) {
      this.#tape.push(place.field, TYPE.INT, Number(text), 0);
    } else {
      this.#text.clear();
      this.#text.append(text);
      this.#tape.capture(place.field, TYPE.NUMBER, this.#text);
    }
  }

  #openObject(): void {
    if (this.#frames.length === 0) {
      this.#frames.push({ place: null, members: RECORD_MEMBERS, count: 0 });
      return;
    }
    const place = this.#nextPlace();
    if (place?.kept === 'text') {
      this.#kept = place;
      this.#keptDepth = 1;
      this.#text.clear();
      this.#text.append('{');
      return;
    }
    if (place !== null) this.#tape.push(place.field, TYPE.OBJECT, 0, 0);
    if (place?.members === undefined) this.#skipped = 1;
    else this.#frames.push({ place, members: place.members, count: 0 });
  }

  #openArray(place: Place | null): void {
    const isCounted = place?.kept === 'count';
    // How many elements there are is known at the end only.
    if (place !== null && !isCounted) this.#tape.push(place.field, TYPE.ARRAY, 0, 0);
    if (isCounted || place?.elements !== undefined) this.#frames.push({ place, members: null, count: 0 });
    else this.#skipped = 1;
  }

  #closeArray(frame: Frame | undefined): void {
    if (frame?.place == null) return;
    if (frame.place.kept === 'count') this.#tape.push(frame.place.field, TYPE.ARRAY, frame.count, 0);
    else if (frame.place.field === FIELD.TRACES) this.#tape.push(FIELD.TRACES_END, 0, 0, 0);
  }

  /** The place of the value that begins now; null when it is not wanted. */
  #nextPlace(): Place | null {
    const frame = this.#frames.at(-1);
    if (frame === undefined) throw new Error('the text begins with something other than an object');
    frame.count += 1;
    return (frame.members === null ? frame.place?.elements : frame.members.get(this.#key)) ?? null;
  }
}

/** The text between the quotes of a JSON string. A surrogate without its pair becomes an escape in lower case. */
function escaped(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** @throws Error for a token that is no number or literal */
function literalText(token: Token): string {
  if (token.name === 'numberValue') return token.value;
  if (token.name === 'nullValue' || token.name === 'trueValue' || token.name === 'falseValue') return `${token.value}`;
  throw new Error(`the tokenizer gave an unknown token: ${token.name}`);
}
