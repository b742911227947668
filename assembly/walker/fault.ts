/** The first fault of a line. */
import { FAULT_CONTROL, FAULT_GRAMMAR, FAULT_NONE, FAULT_NUL, FAULT_TORN, LF } from './layout';

export let faultCode: i32 = FAULT_NONE;

/** In the window, at the LF of the line or before it. */
export let faultAt: usize = 0;

export function clearFault(): void {
  faultCode = FAULT_NONE;
}

/** Returns 0, as everything does that goes through a value and finds a fault in it. */
export function fail(at: usize, code: i32): usize {
  faultAt = at;
  faultCode = code;
  return 0;
}

/** A byte that cannot stand where it stands; not the LF at a border. */
export function failUnexpected(at: usize): usize {
  const byte: u32 = load<u8>(at);
  if (byte === LF) return fail(at, FAULT_TORN);
  return fail(at, byte === 0 ? FAULT_NUL : FAULT_GRAMMAR);
}

/** A byte below 0x20 inside a string; not the LF at a border. */
export function failInString(at: usize): usize {
  const byte: u32 = load<u8>(at);
  if (byte === LF) return fail(at, FAULT_TORN);
  return fail(at, byte === 0 ? FAULT_NUL : FAULT_CONTROL);
}
