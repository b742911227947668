/**
 * The tape and the arena (src/core/scan/record-tape.ts). A value that is being captured is copied to the arena when
 * the window moves on and when it ends; if tape or arena are full the host takes what is there, and the value begun
 * moves to the front of the arena.
 */
import { take } from './host';
import {
  ARENA,
  ARENA_END,
  BACKSLASH,
  LOOKAHEAD,
  TAPE,
  TAPE_END,
  TAPE_ENTRY_BYTES,
  TYPE_ESCAPED,
  TYPE_STRING,
  TYPE_TOO_LARGE,
} from './layout';

let tapeTop: usize = TAPE;
let arenaTop: usize = ARENA;

/** First byte in the window that is not in the arena yet; 0 when nothing is being captured. */
let mark: usize = 0;

/** Where the value being captured begins in the arena; its bytes so far, also when they did not fit. */
let captureStart: usize = ARENA;
let captured: u64 = 0;
let isTooLarge: bool = false;

export function clearTape(): void {
  tapeTop = TAPE;
  arenaTop = ARENA;
  mark = 0;
  captured = 0;
  isTooLarge = false;
}

export function tapeEntries(): i32 {
  return i32((tapeTop - TAPE) / TAPE_ENTRY_BYTES);
}

function handOver(): void {
  if (tapeTop !== TAPE) take(tapeEntries());
  tapeTop = TAPE;
  if (mark === 0) {
    arenaTop = ARENA;
    return;
  }
  const bytes = arenaTop - captureStart;
  memory.copy(ARENA, captureStart, bytes);
  captureStart = ARENA;
  arenaTop = ARENA + bytes;
}

/** `head` is field | type << 8. */
export function emit(head: i32, a: i32, b: i32): void {
  if (tapeTop === TAPE_END) handOver();
  const at = tapeTop;
  store<i32>(at, head);
  store<i32>(at, a, 4);
  store<i32>(at, b, 8);
  tapeTop = at + TAPE_ENTRY_BYTES;
}

/** Copies upwards 16 bytes at a time, up to 15 too many: the call behind memory.copy costs more than most values. */
function copyBytes(to: usize, from: usize, bytes: usize): void {
  if (bytes > 512) {
    memory.copy(to, from, bytes);
    return;
  }
  for (let i: usize = 0; i < bytes; i += 16) v128.store(to + i, v128.load(from + i));
}

export function beginCapture(at: usize): void {
  mark = at;
  captureStart = arenaTop;
  captured = 0;
  isTooLarge = false;
}

/** Nothing comes of the value begun; it was short. */
export function dropCapture(): void {
  mark = 0;
}

/** Copies what was captured before `at`. */
export function keepCapture(at: usize): void {
  if (mark === 0) return;
  const bytes = at - mark;
  captured += bytes;
  if (isTooLarge) return;
  if (arenaTop + bytes > ARENA_END) {
    handOver();
    if (arenaTop + bytes > ARENA_END) {
      isTooLarge = true;
      arenaTop = captureStart;
      return;
    }
  }
  copyBytes(arenaTop, mark, bytes);
  arenaTop += bytes;
}

/** The byte that capturing goes on with is at `at` now. */
export function moveCapture(at: usize): void {
  if (mark !== 0) mark = at;
}

/** A value captured up to `at`, as an entry. */
export function endCapture(at: usize, field: i32, type: i32): void {
  keepCapture(at);
  if (tapeTop === TAPE_END) handOver();
  mark = 0;
  if (isTooLarge) {
    emit(field | (TYPE_TOO_LARGE << 8), 0, i32(min<u64>(captured, i32.MAX_VALUE)));
    return;
  }
  const kind = type === TYPE_STRING && hasBackslash(captureStart, arenaTop) ? TYPE_ESCAPED : type;
  emit(field | (kind << 8), i32(captureStart - ARENA), i32(captured));
}

function hasBackslash(from: usize, to: usize): bool {
  for (let at = from; at < to; at += 16) {
    const found = i8x16.bitmask(i8x16.eq(v128.load(at), i8x16.splat(i8(BACKSLASH))));
    if (found !== 0) return at + usize(ctz(found)) < to;
  }
  return false;
}

/** Makes room for one entry and a value of up to LOOKAHEAD bytes, and returns where the value goes. */
export function reserve(): usize {
  if (tapeTop === TAPE_END || arenaTop + LOOKAHEAD > ARENA_END) handOver();
  return arenaTop;
}

/** Makes the bytes that were written to the reserved place an entry. */
export function emitReserved(head: i32, bytes: usize): void {
  const at = arenaTop;
  emit(head, i32(at - ARENA), i32(bytes));
  arenaTop = at + bytes;
}
