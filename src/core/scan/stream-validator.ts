/**
 * The strict check of a stream of lines, `prl index --strict`: what validate.ts says of one text, said of every line
 * of a stream that is pushed in pieces of any size, in constant memory and without a limit on line length. LF ends a
 * line wherever it stands.
 */

/** What is found in a line; the wording is describeFinding's. */
export const FINDING = {
  /** The line ends inside an object or array. */
  CUT_CONTAINER: 1,
  NO_COMMA: 2,
  NO_KEY: 3,
  NO_COLON: 4,
  NO_DIGITS: 5,
  LEADING_ZERO: 6,
  NO_FRACTION: 7,
  NO_EXPONENT: 8,
  /** A number that overflows a double. */
  TOO_LARGE: 9,
  CUT_VALUE: 10,
  NO_VALUE: 11,
  CUT_LITERAL: 12,
  UNKNOWN_LITERAL: 13,
  CUT_STRING: 14,
  CONTROL: 15,
  UNKNOWN_ESCAPE: 16,
  BAD_HEX: 17,
  TRAILING: 18,
  NOT_UTF8: 19,
  /** Nested deeper than MAX_DEPTH, which nothing follows: the one fault that is no fault to validateJson. */
  TOO_DEEP: 20,
  /** The codes from here on are no faults: the line can be read, but not by every reader (demand I8). */
  BYTE_ORDER_MARK: 32,
  /** `NaN`, `Infinity` or `-Infinity`. */
  NON_FINITE: 33,
  /** The escape of half a character: orjson refuses the line, it is kept byte for byte. */
  LONE_SURROGATE: 34,
  /** Nested deeper than DEEP_NESTING. */
  DEEP_NESTING: 35,
} as const;

export type FindingCode = (typeof FINDING)[keyof typeof FINDING];

/** Open containers beyond which a line is flagged. */
export const DEEP_NESTING = 10_000;

/** Something about one line. Offsets are in bytes, counted as `reset` says. */
export type Finding = {
  readonly lineStart: number;
  /** Behind the last byte of the line, LF included. */
  readonly lineEnd: number;
  /** Where it was found; of oddities the first place in the line. */
  readonly offset: number;
  readonly code: FindingCode;
  /** A fault where the content of the line ends: a part of a record that may have been whole. */
  readonly isTorn: boolean;
};

/**
 * Checks lines. A line has no finding when it is blank (VT and FF are white space here) or when validateJson accepts
 * it; it has one when it has a fault, the first in byte order; it may have several when it is only odd, each code once
 * and in the order of their offsets. A byte order mark is odd at offset 0 and a fault anywhere else.
 */
export type StreamValidator = {
  /** Starts on new bytes, whose first stands at `offset` (up to 2^53) and begins a line. Findings not taken are kept. */
  reset(offset: number): void;
  /** Takes the next bytes, which are not kept. */
  feed(bytes: Uint8Array): void;
  /** Ends the stream: a last line without LF is a line like others. */
  end(): void;
  /** The findings of the lines that have ended since the last call, in order. Call it once a piece, to bound memory. */
  takeFindings(): Finding[];
};

const DESCRIPTIONS: Readonly<Record<FindingCode, string>> = {
  [FINDING.CUT_CONTAINER]: 'the text ends inside an object or array',
  [FINDING.NO_COMMA]: 'no comma or closing bracket',
  [FINDING.NO_KEY]: 'no key where one belongs',
  [FINDING.NO_COLON]: 'no colon after a key',
  [FINDING.NO_DIGITS]: 'a number without digits',
  [FINDING.LEADING_ZERO]: 'a number with a leading zero',
  [FINDING.NO_FRACTION]: 'a number without digits after the point',
  [FINDING.NO_EXPONENT]: 'a number without digits in the exponent',
  [FINDING.TOO_LARGE]: 'a number too large for a double',
  [FINDING.CUT_VALUE]: 'the text ends where a value belongs',
  [FINDING.NO_VALUE]: 'no value where one belongs',
  [FINDING.CUT_LITERAL]: 'the text ends inside a literal',
  [FINDING.UNKNOWN_LITERAL]: 'an unknown literal',
  [FINDING.CUT_STRING]: 'the text ends inside a string',
  [FINDING.CONTROL]: 'a raw control character inside a string',
  [FINDING.UNKNOWN_ESCAPE]: 'an unknown escape inside a string',
  [FINDING.BAD_HEX]: 'a unicode escape without four hex digits',
  [FINDING.TRAILING]: 'bytes after the end of the value',
  [FINDING.NOT_UTF8]: 'bytes that are not UTF-8',
  [FINDING.TOO_DEEP]: 'brackets nested deeper than 1,048,576',
  [FINDING.BYTE_ORDER_MARK]: 'a byte order mark',
  [FINDING.NON_FINITE]: 'a number that is not finite',
  [FINDING.LONE_SURROGATE]: 'a lone surrogate escape',
  [FINDING.DEEP_NESTING]: 'brackets nested deeper than 10,000',
};

/** One clause, plain ASCII; of faults in the words of validateJson. */
export function describeFinding(code: FindingCode): string {
  return DESCRIPTIONS[code];
}

/** Whether the line of the finding is no JSON; else it is only odd. */
export function isFault(code: FindingCode): boolean {
  return code < FINDING.BYTE_ORDER_MARK;
}
