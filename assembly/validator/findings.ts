/** What was found in the line that is open, and the finished findings that wait for the host. */
import { FINDING_BYTES, FINDINGS, FINDINGS_CAPACITY, TORN } from './layout';

/** At most one of each of the four codes. */
const FLAGS: usize = memory.data(64, 8);
const MAX_FLAGS = 4;

/** Offset of the first byte of the open line. */
export let lineStart: i64 = 0;
let flagCount = 0;
let findingCount = 0;

export function beginLine(at: i64): void {
  lineStart = at;
  flagCount = 0;
}

export function hasFlags(): bool {
  return flagCount > 0;
}

/** Notes the first place where the line is odd in a way; a fault in the same line makes it void. */
export function flag(code: i32, at: i64): void {
  for (let index = 0; index < flagCount; index += 1) {
    if (load<i64>(FLAGS + ((<usize>index) << 4)) === code) return;
  }
  const place = FLAGS + ((<usize>flagCount) << 4);
  store<i64>(place, code);
  store<i64>(place, at, 8);
  flagCount += 1;
}

/** The line is whole: its flags become findings. */
export function reportFlags(lineEnd: i64): void {
  for (let index = 0; index < flagCount; index += 1) {
    const place = FLAGS + ((<usize>index) << 4);
    addFinding(lineEnd, load<i64>(place, 8), <i32>load<i64>(place));
  }
}

/** The line is no JSON. A fault where its content ends means that it was cut off. */
export function reportFault(code: i32, at: i64, contentEnd: i64, lineEnd: i64): void {
  addFinding(lineEnd, at, at === contentEnd ? code | TORN : code);
}

/** Whether the findings of one more line may not fit. */
export function areFindingsFull(): bool {
  return findingCount > FINDINGS_CAPACITY - MAX_FLAGS;
}

export function takeFindings(): i32 {
  const count = findingCount;
  findingCount = 0;
  return count;
}

function addFinding(lineEnd: i64, at: i64, code: i32): void {
  const place = FINDINGS + <usize>(findingCount * FINDING_BYTES);
  store<f64>(place, <f64>lineStart);
  store<f64>(place, <f64>lineEnd, 8);
  store<f64>(place, <f64>at, 16);
  store<f64>(place, <f64>code, 24);
  findingCount += 1;
}
