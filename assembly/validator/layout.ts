/** What the host and the module share: memory, findings and their codes. src/core/scan/wasm-validator.ts mirrors it. */

/** Bytes taken at a time: with everything else that is touched they stay in a second-level cache. */
export const WINDOW_BYTES: i32 = 65_536;

/** Bytes that a fast path may load from where it stands without asking again. */
export const REACH: usize = 64;

/** Findings that wait for the host; `run` stops before they overflow. */
export const FINDINGS_CAPACITY: i32 = 1_024;

/** One finding: start and end of its line, its own offset, and its code, torn lines with TORN added; four f64. */
export const FINDING_BYTES: i32 = 32;
export const TORN: i32 = 256;

/** Deepest nesting that is followed, as MAX_DEPTH in core/scan/walker; one byte of STACK each. */
export const MAX_DEPTH: i32 = 1_048_576;

/** The nesting beyond which a line is flagged (demand I8). */
export const DEEP: i32 = 10_000;

export const WINDOW: usize = memory.data(65_536, 64);
export const FINDINGS: usize = memory.data(32_768, 64);
/** Whether the container open at each depth is an object. Only what is used costs memory: pages are zero until written. */
export const STACK: usize = memory.data(1_048_576 + 8, 64);

/** Codes: FINDING in core/scan/stream-validator. */
export const CUT_CONTAINER: i32 = 1;
export const NO_COMMA: i32 = 2;
export const NO_KEY: i32 = 3;
export const NO_COLON: i32 = 4;
export const NO_DIGITS: i32 = 5;
export const LEADING_ZERO: i32 = 6;
export const NO_FRACTION: i32 = 7;
export const NO_EXPONENT: i32 = 8;
export const TOO_LARGE: i32 = 9;
export const CUT_VALUE: i32 = 10;
export const NO_VALUE: i32 = 11;
export const CUT_LITERAL: i32 = 12;
export const UNKNOWN_LITERAL: i32 = 13;
export const CUT_STRING: i32 = 14;
export const CONTROL: i32 = 15;
export const UNKNOWN_ESCAPE: i32 = 16;
export const BAD_HEX: i32 = 17;
export const TRAILING: i32 = 18;
export const NOT_UTF8: i32 = 19;
export const TOO_DEEP: i32 = 20;
/** From here on the line is legal but odd. */
export const BYTE_ORDER_MARK: i32 = 32;
export const NON_FINITE: i32 = 33;
export const LONE_SURROGATE: i32 = 34;
export const DEEP_NESTING: i32 = 35;
