/**
 * The window that the bytes pass through. An LF stands behind the last byte, so that every loop stops there by itself:
 * whoever meets an LF asks `isBorder` whether it is a real one. Offsets are f64, so that a stream may be of any length.
 */
import { keepCapture, moveCapture } from './capture';
import { pull } from './host';
import { LF, LOOKAHEAD, WINDOW } from './layout';

/** Behind the last byte in memory. */
export let end: usize = WINDOW;

/** A value or a key that begins behind this is moved to the front of the window first. */
export let lookaheadEnd: usize = WINDOW;

/** `end` while there may be more bytes, else 0. */
export let border: usize = WINDOW;

/** Offset of a byte less its address. */
let origin: f64 = 0;

let windowBytes: usize = 0;

export function openWindow(bytes: usize): void {
  windowBytes = bytes;
}

/** Empties the window; the first byte to be pulled stands at `offset`. Returns its address. */
export function restart(offset: f64): usize {
  end = WINDOW;
  lookaheadEnd = 0;
  border = WINDOW;
  origin = offset - f64(WINDOW);
  store<u8>(WINDOW, LF);
  return WINDOW;
}

export function offsetOf(at: usize): f64 {
  return origin + f64(at);
}

/**
 * Pulls the next bytes; those from `at` on, LOOKAHEAD at most, are kept in front of them. Returns where `at` is now.
 * Afterwards LOOKAHEAD bytes are there, or all that are left.
 */
export function refill(at: usize): usize {
  keepCapture(at);
  const kept = end - at;
  const moved = WINDOW - kept;
  memory.copy(moved, at, kept);
  origin += f64(at) - f64(moved);
  const limit = WINDOW + windowBytes;
  end = WINDOW;
  border = 1;
  do {
    const pulled = pull(end, limit - end);
    end += pulled;
    if (pulled === 0) border = 0;
  } while (border !== 0 && end - moved < LOOKAHEAD);
  if (border !== 0) border = end;
  lookaheadEnd = border !== 0 ? end - LOOKAHEAD : usize.MAX_VALUE;
  store<u8>(end, LF);
  moveCapture(moved);
  return moved;
}

/** Where the byte at `at` is once it has been pulled. */
export function settle(at: usize): usize {
  return at === border ? refill(at) : at;
}
