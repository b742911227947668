/**
 * Walking a stream record by record without framing it first and without a limit on line length: the contract that
 * the WebAssembly walker (wasm-walker) and the TypeScript walker (text-walker) both keep, so that one can check the
 * other. A walker reads the structure of each line at memory speed and leaves the wanted values on a tape.
 *
 * It sees: a line that does not end where its object ends, unpaired or crossed brackets, control characters in
 * strings, NUL anywhere, bad grammar on the paths it walks. It does not see: bad numbers, commas, colons, escapes or
 * UTF-8 inside what it passes over; core/scan/validator does.
 *
 * Walked are the outer object and every object or array whose members or elements can be on the tape (record-tape.ts),
 * `errors` of the record included, since its elements are counted. Values there that are no containers are checked
 * whether wanted or not, `NaN`, `Infinity` and `-Infinity` let through; escapes never are, and a key whose escapes are
 * none is an unknown key. White space is space, tab and CR, anywhere JSON allows it.
 *
 * The first fault of a line in byte order counts. LF ends the line wherever it stands, also behind a backslash.
 */
import type { TapeSink } from './record-tape.js';

/** Bytes in order, pulled into memory that the walker owns. */
export type ByteSource = {
  /**
   * Copies up to `target.length` of the next bytes into `target`; returns how many, 0 at the end. Synchronous. Not
   * called again after a 0.
   */
  read(target: Uint8Array): number;
};

/** What the next line is. */
export const LINE = {
  /** No bytes are left. */
  END: 0,
  /** One JSON object and white space. The sink has its tape. */
  RECORD: 1,
  /** White space only, VT and FF included. */
  BLANK: 2,
  /** Anything else; see `fault`. The sink may have been given part of a tape. */
  BAD: 3,
} as const;

export type LineKind = (typeof LINE)[keyof typeof LINE];

/** Why a line is no record. */
export const FAULT = {
  NONE: 0,
  /** The line or the bytes end before the object does; seen at the LF or at the end of the bytes. */
  TORN: 1,
  /** A raw control character inside a string, other than LF (TORN) and NUL. */
  CONTROL: 2,
  /**
   * Brackets that cross, seen at the closing one. On a walked path it stands behind a whole value (`{"a":1]`); where a
   * key, colon or value belongs any bracket is GRAMMAR, and behind the end of the outer object TRAILING.
   */
  BRACKETS: 3,
  /**
   * On a walked path: no value, key, colon or comma where one belongs, or a number or literal that is none; in what is
   * passed over: a control character outside strings. Seen at the first byte that cannot stand there: in `01` the 1,
   * in `1.,` the comma, in `nulx` the x.
   */
  GRAMMAR: 4,
  /** Something other than white space behind the end of the object; VT and FF are no white space there. */
  TRAILING: 5,
  /** A NUL byte. */
  NUL: 6,
  /** Open brackets nested deeper than MAX_DEPTH; seen at the opening one that is too many. */
  DEPTH: 7,
  /**
   * The line begins with something other than an object; seen at the first byte that is not white space. A VT or FF is
   * such a byte when the line turns out not to be blank.
   */
  NOT_OBJECT: 8,
} as const;

export type Fault = (typeof FAULT)[keyof typeof FAULT];

/** Most brackets open at one time that are followed, the outer object included; one bit each. */
export const MAX_DEPTH = 1_048_576;

/** A digest of bytes in the walker's own memory, 32 bits and never 0, which stands for none. */
export type ByteDigest = {
  /** Begins anew. */
  start(): void;
  /** Adds a part of the target that a source was given last. */
  add(bytes: Uint8Array): void;
  finish(): number;
};

/** Goes through lines one by one. Offsets are in bytes from where `reset` put the first byte, up to 2^53. */
export type RecordWalker = {
  /** Starts on new bytes, whose first byte stands at `offset` and begins a line. */
  reset(source: ByteSource, offset: number): void;
  /**
   * Passes over everything up to and including the next LF; returns the offset behind it, or of the end of the bytes.
   * The properties below still describe the line that `next` read.
   */
  skipLine(): number;
  /** Reads the next line whole, whatever its length. */
  next(): LineKind;
  /** First byte of the line that `next` read; with END, as lineEnd, the end of the bytes. */
  readonly lineStart: number;
  /** Behind its last byte, LF included. */
  readonly lineEnd: number;
  /** False for a last line without LF. */
  readonly isTerminated: boolean;
  readonly fault: Fault;
  /** Where the fault was seen; has no meaning without one. */
  readonly faultOffset: number;
  /** Null where digests would cost more than they tell. */
  readonly digest: ByteDigest | null;
};

/** How a walker is made. */
export type WalkerOptions = {
  readonly sink: TapeSink;
  /** Bytes that are pulled at a time; 4,096 or more. Default 1 MiB, the fastest measured (design/scanning.md). */
  readonly windowBytes?: number;
};
