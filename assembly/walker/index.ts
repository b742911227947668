/**
 * The record walker in WebAssembly (src/core/scan/walker.ts): reads line after line through a reused window that it
 * fills itself, and leaves the wanted values on a tape.
 */
import { clearTape, emit, tapeEntries } from './capture';
import { addToDigest, finishDigest, startDigest } from './digest';
import { clearFault, fail, failUnexpected, faultAt, faultCode } from './fault';
import { addKey, clearKeys, clearUnitKeys, tableOf, unitKeys } from './keys';
import {
  ARENA,
  FAULT_GRAMMAR,
  FAULT_NONE,
  FAULT_NOT_OBJECT,
  FAULT_TRAILING,
  FF,
  FIELD_UNIT_KEYS,
  KEY_TEXT,
  LF,
  LINE_BAD,
  LINE_BLANK,
  LINE_END,
  LINE_RECORD,
  OPEN_CURLY,
  PADDING,
  STATUS,
  STATUS_FAULT,
  STATUS_FAULT_OFFSET,
  STATUS_LINE_END,
  STATUS_LINE_START,
  TAPE,
  VT,
  WINDOW,
} from './layout';
import { skipWhite } from './skip';
import { walkObject } from './walk';
import { border, end, offsetOf, openWindow, refill, restart } from './window';

export { addKey, addToDigest, finishDigest, startDigest };

/** Objects that are walked, the outer one first. */
const CONTEXTS: u32 = 16;

/** Where the next line begins. */
let cursor: usize = WINDOW;

/** Sizes the memory, once, before the host takes views of it. */
export function open(windowBytes: usize): void {
  const pages = i32((WINDOW + windowBytes + PADDING + 0xffff) >> 16);
  memory.grow(pages - memory.size());
  clearKeys(CONTEXTS);
  openWindow(windowBytes);
}

export function statusAddress(): usize {
  return STATUS;
}

export function keyAddress(): usize {
  return KEY_TEXT;
}

export function tapeAddress(): usize {
  return TAPE;
}

export function arenaAddress(): usize {
  return ARENA;
}

export function reset(offset: f64): void {
  cursor = restart(offset);
  clearFault();
}

/** The next LF, or the end of the bytes. */
function findFeed(from: usize): usize {
  let at = from;
  while (true) {
    const feeds = i8x16.bitmask(i8x16.eq(v128.load(at), i8x16.splat(i8(LF))));
    if (feeds === 0) {
      at += 16;
      continue;
    }
    at += usize(ctz(feeds));
    if (at !== border) return at;
    at = refill(at);
  }
}

/** Leaves the LF at `at` behind, if it is one. */
function pass(at: usize): void {
  cursor = at === end ? at : at + 1;
}

export function skipLine(): f64 {
  pass(findFeed(cursor));
  return offsetOf(cursor);
}

/** Reads a line from its first byte that is no JSON white space; returns where it ends, or 0 for a fault. */
function readRecord(from: usize): usize {
  if (load<u8>(from) !== OPEN_CURLY) {
    const at = failUnexpected(from);
    return faultCode === FAULT_GRAMMAR ? fail(from, FAULT_NOT_OBJECT) : at;
  }
  let at = walkObject(from + 1, tableOf(0), 1);
  if (at === 0) return 0;
  at = skipWhite(at);
  if (load<u8>(at) === LF) return at;
  failUnexpected(at);
  return faultCode === FAULT_GRAMMAR ? fail(at, FAULT_TRAILING) : 0;
}

/** What `next` returns: the kind, 4 when the line ends with an LF, and 8 times the entries that wait on the tape. */
function finish(kind: i32, at: usize): i32 {
  const isTerminated = at !== end;
  pass(at);
  store<f64>(STATUS, offsetOf(cursor), STATUS_LINE_END);
  return kind | (i32(isTerminated) << 2) | (tapeEntries() << 3);
}

/** Ends a line with a fault; nothing of it before `at` is still wanted. */
function finishBad(at: usize, offset: f64, fault: i32): i32 {
  store<f64>(STATUS, offset, STATUS_FAULT_OFFSET);
  store<i32>(STATUS, fault, STATUS_FAULT);
  clearTape();
  return finish(LINE_BAD, findFeed(at));
}

/** A line that begins with what is white space in blank lines only. */
function readOddLine(from: usize): i32 {
  const offset = offsetOf(from);
  let at = from;
  while (load<u8>(at) === VT || load<u8>(at) === FF) at = skipWhite(at + 1);
  return load<u8>(at) === LF ? finish(LINE_BLANK, at) : finishBad(at, offset, FAULT_NOT_OBJECT);
}

export function next(): i32 {
  clearTape();
  clearFault();
  clearUnitKeys();
  store<i32>(STATUS, FAULT_NONE, STATUS_FAULT);
  if (cursor === border) cursor = refill(cursor);
  store<f64>(STATUS, offsetOf(cursor), STATUS_LINE_START);
  if (cursor === end) return finish(LINE_END, cursor);
  let at = skipWhite(cursor);
  const byte: u32 = load<u8>(at);
  if (byte === LF) return finish(LINE_BLANK, at);
  if (byte === VT || byte === FF) return readOddLine(at);
  at = readRecord(at);
  if (at === 0) return finishBad(faultAt, offsetOf(faultAt), faultCode);
  emit(FIELD_UNIT_KEYS, unitKeys & i32.MAX_VALUE, 0);
  return finish(LINE_RECORD, at);
}
