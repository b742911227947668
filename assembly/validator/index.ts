/**
 * The strict check of a stream of lines (design/scanning.md section 6): each line must hold one JSON value as orjson
 * takes it, or be blank. Bytes are pushed through a window; all state is in the module, none of it grows with a line.
 *
 * GB/s of one core by CPU time, pieces of 1 MiB, validateJson on the same lines in brackets (30 November 2026, Node
 * 24.21, a busy 2-core EPYC VM): 8 MB episodes 3.3 (0.6), text with much to escape 2.7 (0.35), episodes of 2 kB 1.15
 * (0.3), spaced JSON 2.9. By kind: token ids 4.0, masks 9, logprobs 3.1, doubles with exponents 2.1, prose 2.7,
 * Chinese 1.4, \u escapes 1.3; what the fast paths leave to the machine 0.2.
 */
import { areFindingsFull } from './findings';
import { REACH, WINDOW } from './layout';
import { BAD, endLine, resetMachine, state, step } from './machine';
import { skipTokens } from './tokens';

export { takeFindings } from './findings';
export { FINDINGS, WINDOW, WINDOW_BYTES } from './layout';

/** Offset in the stream less address in the window. */
let origin: i64 = 0;

/** Starts on new bytes, whose first stands at `offset` and begins a line. Findings not taken are kept. */
export function reset(offset: f64): void {
  origin = <i64>offset - WINDOW;
  resetMachine(<i64>offset);
}

/** Checks the first `length` bytes of the window; returns how many before findings had to be taken. */
export function run(length: i32): i32 {
  const end = WINDOW + length;
  let at = WINDOW;
  // A window shorter than REACH has no place to jump from.
  const limit: usize = end < WINDOW + REACH ? 0 : end - REACH;
  while (at < end && !areFindingsFull()) {
    if (at <= limit && state <= BAD) at = skipTokens(at, limit, origin);
    if (at === end) break;
    step(load<u8>(at), origin + at);
    at += 1;
  }
  origin += at - WINDOW;
  return <i32>(at - WINDOW);
}

/** The stream ends: what follows its last LF is a line, blank when there is nothing. */
export function end(): void {
  const at = origin + WINDOW;
  endLine(at, at);
}
