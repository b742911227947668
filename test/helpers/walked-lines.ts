/** Runs a walker over bytes and writes down everything it says, for tests that compare walkers and windows. */
import {
  type ByteSource,
  FAULT,
  type Fault,
  LINE,
  type LineKind,
  type RecordWalker,
} from '../../src/core/scan/walker.js';
import type { LineCase } from './line-case.js';
import type { TapeReader } from './tape-reader.js';

export type WalkedLine = {
  readonly kind: LineKind;
  readonly start: number;
  readonly end: number;
  readonly isTerminated: boolean;
  /** What is wrong and where; null for a line that is not bad. */
  readonly fault: { readonly code: Fault; readonly offset: number } | null;
  /** Null unless the line is a record. */
  readonly tape: readonly string[] | null;
};

/** Bytes as a source that gives at most `readBytes` at a time and throws when it is asked again after its end. */
export function byteSource(bytes: Buffer, readBytes = Number.POSITIVE_INFINITY): ByteSource {
  let position = 0;
  let hasEnded = false;
  return {
    read(target) {
      if (hasEnded) throw new Error('read again after the end');
      const count = Math.min(target.length, readBytes, bytes.length - position);
      hasEnded = count === 0;
      bytes.copy(target, 0, position, position + count);
      position += count;
      return count;
    },
  };
}

/** The next line; null at the end. */
export function walkLine(walker: RecordWalker, tape: TapeReader): WalkedLine | null {
  tape.clear();
  const kind = walker.next();
  if (kind === LINE.END) return null;
  if (tape.isComplete !== (kind === LINE.RECORD)) {
    throw new Error(`a line of kind ${kind} whose tape ${tape.isComplete ? 'is' : 'is not'} complete`);
  }
  return {
    kind,
    start: walker.lineStart,
    end: walker.lineEnd,
    isTerminated: walker.isTerminated,
    fault: walker.fault === FAULT.NONE ? null : { code: walker.fault, offset: walker.faultOffset },
    tape: kind === LINE.RECORD ? tape.items : null,
  };
}

/** All lines of the source, whose first byte stands at `offset`. */
export function walkLines(walker: RecordWalker, tape: TapeReader, source: ByteSource, offset = 0): WalkedLine[] {
  walker.reset(source, offset);
  const lines: WalkedLine[] = [];
  for (let line = walkLine(walker, tape); line !== null; line = walkLine(walker, tape)) lines.push(line);
  return lines;
}

/** What a walker must say of a case whose line begins at `start`. */
export function expectedLine(one: LineCase, start: number, isTerminated = true): WalkedLine {
  return {
    kind: one.kind,
    start,
    end: start + one.line.length + (isTerminated ? 1 : 0),
    isTerminated,
    fault: one.fault === FAULT.NONE ? null : { code: one.fault, offset: start + one.at },
    tape: one.tape,
  };
}
