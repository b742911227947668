/**
 * Where everything lies in the memory of the walker, in bytes from 0, and what the bytes mean. The first page is left
 * to the compiler's constants; the window comes last, so that its size is the only thing that can vary.
 */

/** What the host reads after each line: three f64 and one i32. */
export const STATUS: usize = 0x10000;
export const STATUS_LINE_START: usize = 0;
export const STATUS_LINE_END: usize = 8;
export const STATUS_FAULT_OFFSET: usize = 16;
export const STATUS_FAULT: usize = 24;

/** Where the host puts the text of a key before it calls `addKey`. */
export const KEY_TEXT: usize = 0x10100;

/** Text of a key with escapes, decoded; 64 bytes. */
export const KEY_DECODED: usize = 0x10200;

/** Lanes of the digest, their keys, and a step that is not complete; 64 bytes each. */
export const DIGEST: usize = 0x10300;
export const DIGEST_KEYS: usize = 0x10340;
export const DIGEST_CARRY: usize = 0x10380;

/** Kinds of open brackets that do not fit into a register: one bit each, MAX_DEPTH bits. */
export const BRACKET_BITS: usize = 0x20000;
export const MAX_DEPTH: i32 = 1_048_576;

/** Key tables, one a context (keys.ts), up to the tape. */
export const KEY_TABLES: usize = 0x40080;

export const TAPE: usize = 0x80000;
export const TAPE_ENTRY_BYTES: usize = 12;
export const TAPE_END: usize = TAPE + 21_845 * TAPE_ENTRY_BYTES;

/** Padded, because short values are copied 16 bytes at a time. */
export const ARENA: usize = 0xc0000;
export const ARENA_END: usize = ARENA + 1_048_576;

/** Room in front of the window for the bytes kept at a refill; a multiple of 64, and LOOKAHEAD or more. */
const HEADROOM: usize = 256;
export const WINDOW: usize = ARENA_END + 1024 + HEADROOM;

/** Readable bytes behind the window: the widest step reads 64 bytes from the byte behind the last. */
export const PADDING: usize = 256;

/**
 * Bytes that are in memory when a key or a value begins, unless the bytes end before. Enough for the longest wanted
 * key, so that the fast paths need no end checks.
 */
export const LOOKAHEAD: usize = 128;

/** TYPE of src/core/scan/record-tape.ts. */
export const TYPE_NULL: i32 = 0;
export const TYPE_FALSE: i32 = 1;
export const TYPE_TRUE: i32 = 2;
export const TYPE_INT: i32 = 3;
export const TYPE_NUMBER: i32 = 4;
export const TYPE_STRING: i32 = 5;
export const TYPE_ESCAPED: i32 = 6;
export const TYPE_OBJECT: i32 = 7;
export const TYPE_ARRAY: i32 = 8;
export const TYPE_RAW: i32 = 9;
export const TYPE_NON_FINITE: i32 = 10;
export const TYPE_TOO_LARGE: i32 = 11;

/** Of FIELD in src/core/scan/record-tape.ts; its entry has type NULL. */
export const FIELD_UNIT_KEYS: i32 = 17;

/** LINE of src/core/scan/walker.ts. */
export const LINE_END: i32 = 0;
export const LINE_RECORD: i32 = 1;
export const LINE_BLANK: i32 = 2;
export const LINE_BAD: i32 = 3;

/** FAULT of src/core/scan/walker.ts. */
export const FAULT_NONE: i32 = 0;
export const FAULT_TORN: i32 = 1;
export const FAULT_CONTROL: i32 = 2;
export const FAULT_BRACKETS: i32 = 3;
export const FAULT_GRAMMAR: i32 = 4;
export const FAULT_TRAILING: i32 = 5;
export const FAULT_NUL: i32 = 6;
export const FAULT_DEPTH: i32 = 7;
export const FAULT_NOT_OBJECT: i32 = 8;

export const TAB: u32 = 0x09;
export const LF: u32 = 0x0a;
export const VT: u32 = 0x0b;
export const FF: u32 = 0x0c;
export const CR: u32 = 0x0d;
export const SPACE: u32 = 0x20;
export const QUOTE: u32 = 0x22;
export const PLUS: u32 = 0x2b;
export const COMMA: u32 = 0x2c;
export const MINUS: u32 = 0x2d;
export const DOT: u32 = 0x2e;
export const ZERO: u32 = 0x30;
export const NINE: u32 = 0x39;
export const COLON: u32 = 0x3a;
export const OPEN_SQUARE: u32 = 0x5b;
export const BACKSLASH: u32 = 0x5c;
export const CLOSE_SQUARE: u32 = 0x5d;
export const OPEN_CURLY: u32 = 0x7b;
export const CLOSE_CURLY: u32 = 0x7d;
