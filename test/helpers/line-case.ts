/** How the cases of line-cases.ts are written. */
import { FAULT, type Fault, LINE, type LineKind } from '../../src/core/scan/walker.js';

export type LineCase = {
  readonly name: string;
  /** Without its LF; holds none. */
  readonly line: Buffer;
  readonly kind: LineKind;
  readonly fault: Fault;
  /** Byte of the line at which the fault is seen; -1 without one. */
  readonly at: number;
  /** Null unless it is a record. */
  readonly tape: readonly string[] | null;
};

/** Marks where a fault is seen; not part of the line. */
const MARK = '¦';

function nameOf(what: string, line: string): string {
  const shown = JSON.stringify(line).slice(1, -1);
  return `${what}: ${shown.length > 60 ? `${shown.slice(0, 57)}...` : shown}`;
}

/** Texts of a tape are compared as Latin-1, byte for byte. */
function asLatin1(items: readonly string[]): string[] {
  return items.map((item) => Buffer.from(item).toString('latin1'));
}

export function record(what: string, line: string, tape: readonly string[]): LineCase {
  return {
    name: nameOf(what, line),
    line: Buffer.from(line),
    kind: LINE.RECORD,
    fault: FAULT.NONE,
    at: -1,
    tape: asLatin1(tape),
  };
}

export function blank(line: string): LineCase {
  return {
    name: nameOf('blank', line),
    line: Buffer.from(line),
    kind: LINE.BLANK,
    fault: FAULT.NONE,
    at: -1,
    tape: null,
  };
}

/** The fault is seen at the mark, or at the end of the line when there is none. */
export function bad(what: string, fault: Fault, marked: string): LineCase {
  const [before = '', after = ''] = marked.split(MARK);
  const line = Buffer.from(before + after);
  return { name: nameOf(what, marked), line, kind: LINE.BAD, fault, at: Buffer.byteLength(before), tape: null };
}
