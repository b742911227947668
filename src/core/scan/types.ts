/** The shapes that readers, the batcher and the service share. No logic. */
import type { LineLease } from './line-memory.js';
import type { Picked } from './pick.js';

/** One physical line of a chunk, as framed at LF (0x0A) only; spec 03 section 1. */
export type FramedLine = {
  /** Byte position of the first byte inside the uncompressed chunk. */
  readonly offset: number;
  /** Length in bytes, LF included. */
  readonly length: number;
  /** False for a final line without LF. */
  readonly terminated: boolean;
  /** 1-based number of the physical line inside its chunk; blank and damaged lines count. */
  readonly lineNumber: number;
  /** The exact bytes, LF included; owned by the receiver. Null when the line is longer than the reader's cap. */
  readonly bytes: Buffer | null;
  /** To give the memory of the bytes back, where it is worth it. */
  readonly lease?: LineLease | null;
};

/** Which kind of record a line holds; spec 01, unit sniffing. */
export type RecordUnit = 'episode' | 'trace' | 'v0' | 'annotation' | 'delta' | 'index' | 'unknown';

/** The units that can be stored. `X-Prime-Line-Format` names `episode` on the wire; without the header it is `trace`. */
export type LineFormat = Extract<RecordUnit, 'episode' | 'trace'>;

/** Kinds of damage; each is reported with chunk, offset and length, and costs nothing but itself. */
export type DamageKind =
  | 'torn'
  | 'glued'
  | 'trailing'
  | 'nul'
  | 'bom'
  | 'invalid_utf8'
  | 'invalid_json'
  | 'line_too_large'
  | 'wrong_unit'
  | 'corrupt_frame'
  | 'unreadable'
  | 'hole';

/** One damaged place of a run. `offset` and `bytes` are uncompressed, `chunk` as in the index rows. */
export type Damage = {
  readonly file: string;
  readonly chunk: number;
  readonly offset: number;
  readonly bytes: number;
  readonly kind: DamageKind;
  /** True when a complete record after the damage, on the same line, was recovered. */
  readonly recovered: boolean;
  /** What is wrong and why, one line, plain ASCII. */
  readonly message: string;
};

/** One whole record of a run, at its address. */
export type StreamRecord = {
  readonly chunk: number;
  /** First byte of the record inside the uncompressed chunk (after a torn prefix, if one was cut off). */
  readonly offset: number;
  /** Bytes of the source that this record accounts for, LF included. */
  readonly length: number;
  /** Physical line inside the chunk, 1-based. */
  readonly lineNumber: number;
  readonly unit: RecordUnit;
  /**
   * The exact bytes of the line, LF included if the source had one. Without LF come the last line of a file, and a
   * record whose line another record continues: what is appended to either needs its own line first. A record of a
   * JSON document comes without white space between its tokens and with an LF; then `length` is not `bytes.length`.
   */
  readonly bytes: Buffer;
  /** What `RECORD_SELECTOR` picks of `bytes`, left out where the line was not walked for it. */
  readonly root?: Picked;
  /** To give the memory of the bytes back; only where no other record lies in it. */
  readonly lease?: LineLease | null;
};
