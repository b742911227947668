/**
 * What a walk over one record leaves behind: a tape of the few values that index rows need, in the order they stand
 * in the text. A walker writes it, in WebAssembly or in TypeScript, and core/index/tape-feed reads it. A repeated key
 * simply comes twice, so that "last wins" is decided in one place.
 *
 * An entry is three 32-bit words: `field | type << 8`, `a`, `b`. Captured bytes lie in the arena, `a` the start, `b`
 * the length. There are no entries for the ends of containers, but for TRACES_END: each field belongs to one path, so
 * a NODE ends the node before it.
 *
 * A container that no field stands inside of is passed over and comes as its type. A value that is no container comes
 * as what it is at every field, also where a container belongs (`"nodes":"x"` is NODES with a STRING). Keys are told
 * apart by what they say, escapes resolved. `a` and `b` are 0 where nothing is said of them.
 */

/** Words of one entry. */
export const TAPE_ENTRY_WORDS = 3;

/** Entries that a tape holds before the walker hands it over in the middle of a record. */
export const TAPE_CAPACITY_ENTRIES = 21_845;

/** Bytes of the arena, which is also the longest value that can be captured; a longer one has type TOO_LARGE. */
export const ARENA_BYTES = 1_048_576;

/**
 * Paths of spec 02 that a row reads. A field at the root of a record that belongs to a trace (`nodes`, `info`, …) is
 * on the tape as well, before TRACES or after TRACES_END: the record may be a bare trace (spec 01 section 2).
 */
export const FIELD = {
  /** `id` of the record. */
  ID: 1,
  /** `env`; a container: its type only, then what is inside. */
  ENV: 2,
  ENV_ID: 3,
  ENV_NAME: 4,
  GROUP: 5,
  GROUP_ID: 6,
  RUN: 7,
  RUN_TYPE: 8,
  /** `run.work`. */
  WORK: 9,
  WORK_TYPE: 10,
  OK: 11,
  /** `errors` of the record; of an array `a` is the number of elements. */
  ERRORS: 12,
  /** `traces`; an array begins a new list, any other type empties it. */
  TRACES: 13,
  TRACES_END: 14,
  /** `num_input_tokens` and `num_output_tokens` of the record. */
  INPUT_TOKENS: 15,
  OUTPUT_TOKENS: 16,
  /**
   * Last entry of every record, written when the whole line has proved to be one: `a` is the set of UNIT_KEYS of its
   * outer object, bit i for key i.
   */
  UNIT_KEYS: 17,
  /** An element of `traces`; not always an object. */
  TRACE: 20,
  TRACE_ID: 21,
  NODES: 22,
  /** An element of `nodes`. */
  NODE: 23,
  PARENT: 24,
  MESSAGE: 25,
  ROLE: 26,
  CALLS: 27,
  /** An element of `calls`. */
  CALL: 28,
  CALL_NODE: 29,
  FINISH_REASON: 30,
  /** `error` of a call: its type only, STRING or ESCAPED, INT or NUMBER being one; `a` and `b` mean nothing. */
  CALL_ERROR: 31,
  USAGE: 32,
  PROMPT_TOKENS: 33,
  COMPLETION_TOKENS: 34,
  CACHED_INPUT_TOKENS: 35,
  COST: 36,
  /** An object comes as RAW: its exact text, brackets included. */
  REWARDS: 37,
  INFO: 38,
  INFO_KIND: 39,
  DISPATCH: 40,
  DISPATCH_TIME: 41,
  ARRIVAL: 42,
  ARRIVAL_TIME: 43,
  ADVANTAGE: 44,
  /** `info.env_name` and `info.group_id`, the stamps of R1a. */
  INFO_ENV_NAME: 45,
  INFO_GROUP_ID: 46,
  STOP_CONDITION: 47,
  /** As REWARDS. */
  TIMING: 48,
  /** `info.arrival.step`: the step that was being collected when the episode arrived. */
  ARRIVAL_STEP: 49,
} as const;

/** What stands at a field. */
export const TYPE = {
  NULL: 0,
  FALSE: 1,
  TRUE: 2,
  /** An integer literal of 1 to 9 digits without a sign: the value is `a`, `b` is 0. */
  INT: 3,
  /** Any other number that follows the grammar of JSON: its text. */
  NUMBER: 4,
  /** Text between the quotes, without a backslash in it. UTF-8 is not checked. */
  STRING: 5,
  /** Text between the quotes, with backslashes. Escapes are not checked. */
  ESCAPED: 6,
  /** The members follow, if any is wanted. */
  OBJECT: 7,
  ARRAY: 8,
  /** The exact text of an object, structurally whole, its content unchecked. */
  RAW: 9,
  /** `NaN`, `Infinity` or `-Infinity`: no JSON, but Python writes them. */
  NON_FINITE: 10,
  /** A string, number or RAW longer than the arena; `a` is 0, `b` the length, at most 2^31 - 1. */
  TOO_LARGE: 11,
} as const;

/** Keys of the outer object that tell the unit of a record; spec 01 section 2, unit sniffing. */
export const UNIT_KEYS = [
  'traces',
  'nodes',
  'trajectory',
  'prompt',
  'completion',
  'trace_id',
  'trace_ids',
  'branches',
  'version',
  'trace',
  'open',
  'set',
  'calls',
  'pending',
  'discard',
  'links',
  'line',
  'chunk',
  'offset',
  'prl_index',
] as const;

/** Entries of one record, or of a part of a long one. Owned by the walker; valid until it goes on. */
export type RecordTape = {
  readonly words: Int32Array;
  readonly arena: Uint8Array;
};

/** Takes the entries of a record, `entries` at a time; the last call of a record ends with UNIT_KEYS. */
export type TapeSink = {
  /** A line begins; what was taken of an earlier one that turned out bad is void. Lines that open no object may come without. */
  beginRecord(): void;
  /** `entries` is at least 1. */
  take(tape: RecordTape, entries: number): void;
};
