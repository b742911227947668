/**
 * The keys that mean something, one table for each object that is walked (a context). The host fills them in, so that
 * paths and fields are said in one place (src/core/scan/walk-paths.ts). Open addressing: most keys are of no interest
 * and end at an empty slot.
 */
import { failInString } from './fault';
import { BACKSLASH, KEY_DECODED, KEY_TABLES, KEY_TEXT, QUOTE, SPACE } from './layout';
import { skipString } from './skip';
import { border, refill } from './window';

const SLOT_BYTES: usize = 32;
const SLOT_BITS: i32 = 7;
const TABLE_BYTES: usize = SLOT_BYTES << SLOT_BITS;

/** Fields of a slot: bytes 0 to 7 of the key, the last 8 (of a longer one), the 8 from 8 on (of one over 16). */
const SLOT_HEAD: usize = 0;
const SLOT_TAIL: usize = 8;
const SLOT_MIDDLE: usize = 16;
const SLOT_LENGTH: usize = 24;
const SLOT_FIELD: usize = 25;
const SLOT_ACTION: usize = 26;
const SLOT_CONTEXT: usize = 27;
const SLOT_ELEMENT: usize = 28;
const SLOT_LAST: usize = 29;
const SLOT_UNIT: usize = 30;

/** Longest key that a slot can tell from others. */
const KEY_BYTES: i32 = 24;

/** 2^64 by the golden ratio. */
const HASH_FACTOR: u64 = (u64(0x9e3779b9) << 32) | 0x7f4a7c15;

/** What is done with the value of a key. */
export const ACTION_SKIP: u32 = 0;
/** A container is passed over. */
export const ACTION_VALUE: u32 = 1;
/** An object is walked. */
export const ACTION_OBJECT: u32 = 2;
/** The elements of an array are walked. */
export const ACTION_LIST: u32 = 3;
/** The elements of an array are counted. */
export const ACTION_COUNT: u32 = 4;
/** An object is copied. */
export const ACTION_RAW: u32 = 5;

/** Bits of the keys seen in the outer object. */
export let unitKeys: i32 = 0;

export function clearUnitKeys(): void {
  unitKeys = 0;
}

export function fieldOf(slot: usize): i32 {
  return load<u8>(slot, SLOT_FIELD);
}

export function actionOf(slot: usize): u32 {
  return load<u8>(slot, SLOT_ACTION);
}

export function contextOf(slot: usize): usize {
  return KEY_TABLES + usize(load<u8>(slot, SLOT_CONTEXT)) * TABLE_BYTES;
}

/** Field of the elements of a list. */
export function elementOf(slot: usize): i32 {
  return load<u8>(slot, SLOT_ELEMENT);
}

/** Field that ends a list; 0 for none. */
export function lastOf(slot: usize): i32 {
  return load<u8>(slot, SLOT_LAST);
}

export function noteUnitKey(slot: usize): void {
  unitKeys |= 1 << i32(load<u8>(slot, SLOT_UNIT));
}

function headOf(text: usize, bytes: i32): u64 {
  const head = load<u64>(text);
  return bytes < 8 ? head & ((u64(1) << u64(bytes << 3)) - 1) : head;
}

function hashOf(head: u64, bytes: i32): usize {
  return usize(((head + u64(bytes)) * HASH_FACTOR) >> u64(64 - SLOT_BITS));
}

/** The slot of a key in `context`, 0 if it means nothing. Reads up to 24 bytes from `text`. */
export function findKey(context: usize, text: usize, bytes: i32): usize {
  const head = headOf(text, bytes);
  let index = hashOf(head, bytes);
  while (true) {
    const slot = context + index * SLOT_BYTES;
    const length: i32 = load<u8>(slot, SLOT_LENGTH);
    if (length === 0) return 0;
    if (length === bytes && load<u64>(slot, SLOT_HEAD) === head) {
      if (bytes <= 8) return slot;
      if (load<u64>(slot, SLOT_TAIL) === load<u64>(text + usize(bytes) - 8)) {
        if (bytes <= 16 || load<u64>(slot, SLOT_MIDDLE) === load<u64>(text, 8)) return slot;
      }
    }
    index = (index + 1) & ((1 << SLOT_BITS) - 1);
  }
}

/** Adds the key whose `bytes` (1 to 24) stand at KEY_TEXT. `unit` is its place among the unit keys, or 31. */
export function addKey(
  context: i32,
  bytes: i32,
  field: i32,
  action: i32,
  child: i32,
  element: i32,
  last: i32,
  unit: i32,
): void {
  const table = KEY_TABLES + usize(context) * TABLE_BYTES;
  const head = headOf(KEY_TEXT, bytes);
  let index = hashOf(head, bytes);
  while (load<u8>(table + index * SLOT_BYTES, SLOT_LENGTH) !== 0) index = (index + 1) & ((1 << SLOT_BITS) - 1);
  const slot = table + index * SLOT_BYTES;
  store<u64>(slot, head, SLOT_HEAD);
  if (bytes > 8) store<u64>(slot, load<u64>(KEY_TEXT + usize(bytes) - 8), SLOT_TAIL);
  if (bytes > 16) store<u64>(slot, load<u64>(KEY_TEXT, 8), SLOT_MIDDLE);
  store<u8>(slot, bytes, SLOT_LENGTH);
  store<u8>(slot, field, SLOT_FIELD);
  store<u8>(slot, action, SLOT_ACTION);
  store<u8>(slot, child, SLOT_CONTEXT);
  store<u8>(slot, element, SLOT_ELEMENT);
  store<u8>(slot, last, SLOT_LAST);
  store<u8>(slot, unit, SLOT_UNIT);
}

/** What `readHardKey` found: a slot, or 0. */
export let hardSlot: usize = 0;

/** Bytes of the key decoded so far; KEY_BYTES + 1 when it can be none that is known. */
let decoded: i32 = 0;

function decodeByte(byte: u32): void {
  if (decoded < KEY_BYTES) store<u8>(KEY_DECODED + usize(decoded), byte);
  if (decoded <= KEY_BYTES) decoded++;
}

function giveUp(): void {
  decoded = KEY_BYTES + 1;
}

function settle(at: usize): usize {
  return at === border ? refill(at) : at;
}

function hexValue(byte: u32): u32 {
  if (byte - 0x30 <= 9) return byte - 0x30;
  const letter = (byte | 0x20) - 0x61;
  return letter <= 5 ? letter + 10 : 16;
}

/** The four digits of an escape; at the first byte that is none the key is unknown and its text goes on there. */
function decodeUnicode(from: usize): usize {
  let at = from;
  let value: u32 = 0;
  for (let i = 0; i < 4; i++) {
    at = settle(at);
    const digit = hexValue(load<u8>(at));
    if (digit > 15) {
      giveUp();
      return at;
    }
    value = (value << 4) | digit;
    at++;
  }
  // No known key has anything but ASCII in it.
  if (value < 0x80) decodeByte(value);
  else giveUp();
  return at;
}

/** `from` is behind a backslash; 0 is a fault. */
function decodeEscape(from: usize): usize {
  const at = settle(from);
  const byte: u32 = load<u8>(at);
  if (byte < SPACE) return failInString(at);
  if (byte === 0x75) return decodeUnicode(at + 1);
  // The other escapes stand for control characters, which no known key has, or are none.
  if (byte === QUOTE || byte === BACKSLASH || byte === 0x2f) decodeByte(byte);
  else giveUp();
  return at + 1;
}

/** Passes a key that is long or has escapes, and looks it up; `from` is behind the opening quote. 0 is a fault. */
export function readHardKey(context: usize, from: usize): usize {
  hardSlot = 0;
  decoded = 0;
  let at = from;
  while (decoded <= KEY_BYTES) {
    at = settle(at);
    const byte: u32 = load<u8>(at);
    if (byte === QUOTE) {
      hardSlot = findKey(context, KEY_DECODED, decoded);
      return at + 1;
    }
    if (byte < SPACE) return failInString(at);
    if (byte === BACKSLASH) {
      at = decodeEscape(at + 1);
      if (at === 0) return 0;
    } else {
      decodeByte(byte);
      at++;
    }
  }
  return skipString(at);
}
