/** What a scan of a segment is given, and what it says of records beside their rows. No logic. */
import type { TapeSink } from '../scan/record-tape.js';
import type { DamageKind, RecordUnit } from '../scan/types.js';
import type { ByteSource } from '../scan/walker.js';

/** Uncompressed bytes that cannot be read, and why. */
export type SourceLoss = {
  readonly offset: number;
  readonly bytes: number;
  readonly kind: DamageKind;
  readonly reason: string;
};

/** A source that can stand anywhere in a chunk, and ends at a range that cannot be read. */
export type SegmentSource = ByteSource & {
  /** Why the last `read` gave 0 bytes before the end of the chunk; null at the end. */
  readonly loss: SourceLoss | null;
  /** Goes to an offset; forgets a loss. */
  seek(offset: number): void;
};

/** Why a record whose structure is right gives no row. */
export type RowFault = { readonly kind: DamageKind; readonly reason: string };

/** Something about a record that is kept and worth knowing (I8). */
export type OddityKind =
  | 'duplicate_key'
  | 'non_finite'
  | 'lone_surrogate'
  | 'odd_value'
  | 'odd_parent'
  | 'deep_nesting';

export type Oddity = {
  readonly chunk: number;
  readonly offset: number;
  readonly bytes: number;
  readonly kind: OddityKind;
};

/** Makes rows of what a walker reads, into a buffer of its own. */
export type RowMaker = TapeSink & {
  /** Settles the record that was taken last: null when it can have a row. */
  finish(): RowFault | null;
  /** Of the record that was settled last. */
  readonly unit: RecordUnit;
  readonly oddities: readonly OddityKind[];
  /** Appends its row, without the number of the line. */
  writeRow(offset: number): void;
};

/** Looks at every byte of the lines that a walker reads (`--strict`). */
export type LineChecker = {
  /** What is read next stands at `offset`. */
  reset(offset: number): void;
  feed(bytes: Uint8Array): void;
  /** No bytes follow: an open line ends here. */
  end(): void;
  /** What is wrong or odd with the line that begins at `start` and was fed whole. Lines are asked for in order. */
  verdict(start: number): { readonly fault: RowFault | null; readonly oddities: readonly OddityKind[] };
};
