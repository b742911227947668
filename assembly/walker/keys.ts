/**
 * The keys of the objects that are walked, one table for each such object (a context). The host fills in those that mean
 * something, so that paths and fields are said in one place (src/core/scan/wasm-walker-keys.ts); others are learned as
 * they come. Each slot remembers which key came after its own the last time, and that one is tried first, by one
 * comparison and without looking for the end of the key: 1.9 instead of 1.5 GB/s on records of 2 kB (30 Nov 2026, EPYC,
 * scan only). A second guess gained nothing.
 */
import { failInString } from './fault';
import { BACKSLASH, COLON, KEY_DECODED, KEY_TABLES, KEY_TEXT, QUOTE, SPACE } from './layout';
import { skipString, stopsOf } from './skip';
import { settle } from './window';

const SLOT_BYTES: usize = 128;
const SLOT_BITS: i32 = 6;

/** A table is its header, which has only a SLOT_NEXT for the first key of an object and a count, and its slots. */
const TABLE_BYTES: usize = SLOT_BYTES + (SLOT_BYTES << SLOT_BITS);

/** Keys in a table, at most; look-ups need empty slots. */
const MOST_KEYS: u32 = 48;

/** The key, the quote behind it and the colon, 32 bytes with the rest 0; then which of those bytes count, as 0xff. */
const SLOT_TEXT: usize = 0;
const SLOT_MASK: usize = 32;
const SLOT_NEXT: usize = 64;
const SLOT_UNIT_BIT: usize = 68;
/** Of the key alone; 0 in an empty slot. */
const SLOT_LENGTH: usize = 72;
const SLOT_FIELD: usize = 73;
const SLOT_ACTION: usize = 74;
const SLOT_CONTEXT: usize = 75;
const SLOT_ELEMENT: usize = 76;
const SLOT_LAST: usize = 77;
const HEADER_COUNT: usize = 68;

/** Longest key that has a slot. */
const KEY_BYTES: i32 = 29;

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

/** Table of the object at a key, or of the elements of the array there. */
export function contextOf(slot: usize): usize {
  return tableOf(load<u8>(slot, SLOT_CONTEXT));
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
  unitKeys |= load<i32>(slot, SLOT_UNIT_BIT);
}

export function tableOf(context: u32): usize {
  return KEY_TABLES + usize(context) * TABLE_BYTES;
}

/** The slot that came after `before` (a slot, or the table when the object begins) the last time. */
export function guessKey(before: usize): usize {
  return load<u32>(before, SLOT_NEXT);
}

/** Whether the text behind an opening quote begins with the key of a slot, a quote and a colon. Reads 32 bytes. */
export function beginsWithKey(slot: usize, text: usize): bool {
  const low = v128.and(v128.xor(v128.load(text), v128.load(slot, SLOT_TEXT)), v128.load(slot, SLOT_MASK));
  const high = v128.and(
    v128.xor(v128.load(text, 16), v128.load(slot, SLOT_TEXT + 16)),
    v128.load(slot, SLOT_MASK + 16),
  );
  return !v128.any_true(v128.or(low, high));
}

/** Bytes of the key of a slot. */
export function lengthOf(slot: usize): usize {
  return load<u8>(slot, SLOT_LENGTH);
}

function hashOf(text: usize, bytes: i32): usize {
  const head = load<u64>(text);
  const known = bytes < 8 ? head & ((u64(1) << u64(bytes << 3)) - 1) : head;
  return usize(((known + u64(bytes)) * HASH_FACTOR) >> u64(64 - SLOT_BITS));
}

function hasText(slot: usize, text: usize, bytes: i32): bool {
  if (load<u8>(slot, SLOT_LENGTH) !== bytes) return false;
  for (let i = 0; i < bytes; i++) {
    if (load<u8>(slot + usize(i), SLOT_TEXT) !== load<u8>(text + usize(i))) return false;
  }
  return true;
}

/** The slot of a key of 1 to KEY_BYTES bytes, or the empty one where it belongs. Reads 8 bytes at least. */
function findKey(table: usize, text: usize, bytes: i32): usize {
  let index = hashOf(text, bytes);
  while (true) {
    const slot = table + SLOT_BYTES + index * SLOT_BYTES;
    if (isEmpty(slot) || hasText(slot, text, bytes)) return slot;
    index = (index + 1) & ((1 << SLOT_BITS) - 1);
  }
}

function isEmpty(slot: usize): bool {
  return load<u8>(slot, SLOT_LENGTH) === 0;
}

function fillSlot(table: usize, slot: usize, text: usize, bytes: i32): void {
  store<u32>(table, load<u32>(table, HEADER_COUNT) + 1, HEADER_COUNT);
  memory.copy(slot + SLOT_TEXT, text, usize(bytes));
  store<u8>(slot + usize(bytes), QUOTE, SLOT_TEXT);
  store<u8>(slot + usize(bytes), COLON, SLOT_TEXT + 1);
  memory.fill(slot + SLOT_MASK, 0xff, usize(bytes) + 2);
  store<u32>(slot, NO_SLOT, SLOT_NEXT);
  store<u8>(slot, bytes, SLOT_LENGTH);
}

/** The slot of a key as it is written, a new one if need be; NO_SLOT when the table is full. */
function learnKey(table: usize, text: usize, bytes: i32): usize {
  const slot = findKey(table, text, bytes);
  if (!isEmpty(slot)) return slot;
  if (load<u32>(table, HEADER_COUNT) >= MOST_KEYS) return NO_SLOT;
  fillSlot(table, slot, text, bytes);
  return slot;
}

/** Adds a key, whose 1 to KEY_BYTES bytes stand at KEY_TEXT. `unit` is its place among the unit keys, or -1. */
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
  const slot = learnKey(tableOf(context), KEY_TEXT, bytes);
  store<i32>(slot, unit >= 0 ? 1 << unit : 0, SLOT_UNIT_BIT);
  store<u8>(slot, field, SLOT_FIELD);
  store<u8>(slot, action, SLOT_ACTION);
  store<u8>(slot, child, SLOT_CONTEXT);
  store<u8>(slot, element, SLOT_ELEMENT);
  store<u8>(slot, last, SLOT_LAST);
}

/** The slot of the empty key, which means nothing, and stands for every key that has none. */
export const NO_SLOT: usize = KEY_TABLES - SLOT_BYTES;

/** Makes all tables empty. */
export function clearKeys(contexts: u32): void {
  memory.fill(NO_SLOT, 0, SLOT_BYTES + usize(contexts) * TABLE_BYTES);
  store<u16>(NO_SLOT, u16(QUOTE | (COLON << 8)), SLOT_TEXT);
  store<u16>(NO_SLOT, 0xffff, SLOT_MASK);
  store<u32>(NO_SLOT, NO_SLOT, SLOT_NEXT);
  for (let context: u32 = 0; context < contexts; context++) store<u32>(tableOf(context), NO_SLOT, SLOT_NEXT);
}

/** What `readKey` found: a slot, NO_SLOT for a key without one. */
export let slotRead: usize = 0;

/**
 * Passes a key that was not the one guessed, and looks it up; `text` is behind the opening quote, the result behind the
 * closing one. 0 is a fault.
 */
export function readKey(table: usize, before: usize, text: usize): usize {
  const stops = u32(stopsOf(v128.load(text))) | (u32(stopsOf(v128.load(text, 16))) << 16);
  const bytes = ctz(stops);
  const end = text + usize(bytes);
  if (stops === 0 || bytes > u32(KEY_BYTES) || load<u8>(end) !== QUOTE) return readHardKey(table, text);
  slotRead = bytes === 0 ? NO_SLOT : learnKey(table, text, i32(bytes));
  if (before !== NO_SLOT && slotRead !== NO_SLOT) store<u32>(before, slotRead, SLOT_NEXT);
  return end + 1;
}

/** Bytes of the key decoded so far; KEY_BYTES + 1 when it can be none that is known. */
let decoded: i32 = 0;

function decodeByte(byte: u32): void {
  if (decoded < KEY_BYTES) store<u8>(KEY_DECODED + usize(decoded), byte);
  if (decoded <= KEY_BYTES) decoded++;
}

/**
 * The slot of the decoded key. Such keys are not learned: what a slot is compared with is the text as it is written.
 */
function knownKey(table: usize): usize {
  if (decoded === 0) return NO_SLOT;
  const slot = findKey(table, KEY_DECODED, decoded);
  return isEmpty(slot) ? NO_SLOT : slot;
}

function giveUp(): void {
  decoded = KEY_BYTES + 1;
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
function readHardKey(table: usize, from: usize): usize {
  slotRead = NO_SLOT;
  decoded = 0;
  let at = from;
  while (decoded <= KEY_BYTES) {
    at = settle(at);
    const byte: u32 = load<u8>(at);
    if (byte === QUOTE) {
      slotRead = knownKey(table);
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
