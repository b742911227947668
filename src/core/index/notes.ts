/** What is said of a record beside its row: legal but odd input, and why a line that looked like a record is none. */
import type { DamageKind } from '../scan/types.js';

/** Bits of what was odd about a record that still has a row; demand I8: odd JSON has one defined outcome and is told. */
export const NOTE = {
  /** A key of an object that rows read comes twice; the last one counts. */
  DUPLICATE_KEY: 1,
  /** `NaN`, `Infinity` or `-Infinity`; read as null. */
  NON_FINITE: 2,
  /** A value of a type that does not belong where it stands, such as `true` for a number; read as if it were not there. */
  ODD_VALUE: 4,
  /** The escape of half a character, `\ud800` for instance; kept as it stands. */
  LONE_SURROGATE: 8,
  /** A parent that is no index of a node, or parents that run in a circle (spec 02 section 5). */
  ODD_PARENT: 16,
  /** `env` or `group` come from `info` (spec 01 section 2), where older producers stamped them. */
  NAMED_BY_INFO: 32,
  /** Stored token counts were asked for and the record has none; the row says 0. */
  NO_STORED_TOKENS: 64,
} as const;

/** Why a line that a walker takes for a record is damage: a value that rows need is no JSON. `reason` is plain ASCII. */
export type RowFault = {
  readonly kind: Extract<DamageKind, 'invalid_json' | 'invalid_utf8' | 'line_too_large'>;
  readonly reason: string;
};
