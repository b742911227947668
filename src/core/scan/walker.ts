/**
 * Walking a stream record by record without framing it first and without a limit on line length: the contract that
 * the WebAssembly walker (wasm-walker) and the TypeScript walker (text-walker) both keep, so that one can check the
 * other. A walker reads the structure of each line at memory speed and leaves the wanted values on a tape.
 *
 * It sees: a line that does not end where its object ends, unpaired or crossed brackets, control characters in
 * strings, NUL anywhere, bad grammar on the paths it walks. It does not see: bad numbers, commas, colons, escapes or
 * UTF-8 inside what it passes over; core/scan/validator does.
 */
import type { TapeSink } from './record-tape.js';

/** Bytes in order, pulled into memory that the walker owns. */
export type ByteSource = {
  /** Copies up to `target.length` of the next bytes into `target`; returns how many, 0 at the end. Synchronous. */
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
  /** The line or the bytes end before the object does. */
  TORN: 1,
  /** A raw control character inside a string. */
  CONTROL: 2,
  /** Brackets that cross or close what is not open. */
  BRACKETS: 3,
  /** On a walked path: no value, key, colon or comma where one belongs, or a number or literal that is none. */
  GRAMMAR: 4,
  /** Something other than white space behind the end of the object. */
  TRAILING: 5,
  /** A NUL byte. */
  NUL: 6,
  /** Open brackets nested deeper than MAX_DEPTH. */
  DEPTH: 7,
  /** The line begins with something other than an object. */
  NOT_OBJECT: 8,
} as const;

export type Fault = (typeof FAULT)[keyof typeof FAULT];

/** Deepest nesting of brackets that is followed; one bit each. */
export const MAX_DEPTH = 1_048_576;

/** Goes through lines one by one. Offsets are in bytes from where `reset` put the first byte, up to 2^53. */
export type RecordWalker = {
  /** Starts on new bytes, whose first byte stands at `offset` and begins a line. */
  reset(source: ByteSource, offset: number): void;
  /** Passes over everything up to and including the next LF; returns the offset behind it. */
  skipLine(): number;
  /** Reads the next line whole, whatever its length. */
  next(): LineKind;
  /** First byte of the line that `next` read. */
  readonly lineStart: number;
  /** Behind its last byte, LF included. */
  readonly lineEnd: number;
  /** False for a last line without LF. */
  readonly isTerminated: boolean;
  readonly fault: Fault;
  /** Where the fault was seen. */
  readonly faultOffset: number;
};

/** How a walker is made. */
export type WalkerOptions = {
  readonly sink: TapeSink;
  /** Bytes that are pulled at a time; 4,096 or more. Default 1 MiB, the fastest measured (design/scanning.md). */
  readonly windowBytes?: number;
};
