/**
 * The levels that are walked key by key. Recursion follows the paths of the key tables, not the input: an object inside
 * a value that no key asks for is passed over in skip.ts, however deep it is.
 */
import { emit } from './capture';
import { fail, failUnexpected } from './fault';
import {
  ACTION_COUNT,
  ACTION_LIST,
  ACTION_OBJECT,
  ACTION_RAW,
  ACTION_SKIP,
  actionOf,
  beginsWithKey,
  contextOf,
  elementOf,
  fieldOf,
  guessKey,
  lastOf,
  lengthOf,
  noteUnitKey,
  readKey,
  slotRead,
} from './keys';
import {
  CLOSE_CURLY,
  CLOSE_SQUARE,
  COLON,
  COMMA,
  FAULT_BRACKETS,
  OPEN_CURLY,
  OPEN_SQUARE,
  QUOTE,
  SPACE,
  TYPE_ARRAY,
  TYPE_OBJECT,
} from './layout';
import { captureRaw, captureScalar, skipValue } from './scalar';
import { skipContainer, skipWhite } from './skip';
import { lookaheadEnd, refill } from './window';

/** The element of a list, or of what is counted (field 0), with LOOKAHEAD. */
function walkElement(at: usize, slot: usize, level: i32): usize {
  const field = elementOf(slot);
  if (field === 0) return skipValue(at, level);
  const byte: u32 = load<u8>(at);
  if (byte === OPEN_CURLY) {
    emit(field | (TYPE_OBJECT << 8), 0, 0);
    return walkObject(at + 1, contextOf(slot), level + 1);
  }
  if (byte !== OPEN_SQUARE) return captureScalar(at, field);
  emit(field | (TYPE_ARRAY << 8), 0, 0);
  return skipContainer(at, level);
}

/** Elements of the last array walked. */
let elements: i32 = 0;

/** The elements of an array whose `[` is behind `from`. */
function walkElements(from: usize, slot: usize, level: i32): usize {
  let count: i32 = 0;
  let at = skipWhite(from);
  if (load<u8>(at) === CLOSE_SQUARE) {
    elements = 0;
    return at + 1;
  }
  while (true) {
    if (at > lookaheadEnd) at = refill(at);
    at = walkElement(at, slot, level);
    if (at === 0) return 0;
    count++;
    at = skipWhite(at);
    const byte: u32 = load<u8>(at);
    if (byte === CLOSE_SQUARE) {
      elements = count;
      return at + 1;
    }
    if (byte === CLOSE_CURLY) return fail(at, FAULT_BRACKETS);
    if (byte !== COMMA) return failUnexpected(at);
    at = skipWhite(at + 1);
  }
}

/** The value of a wanted key, with LOOKAHEAD; `level` brackets are open around it. */
function walkValue(at: usize, slot: usize, level: i32): usize {
  const action = actionOf(slot);
  if (level === 1) noteUnitKey(slot);
  if (action === ACTION_SKIP) return skipValue(at, level);
  const field = fieldOf(slot);
  const byte: u32 = load<u8>(at);
  if ((byte | 0x20) !== OPEN_CURLY) return captureScalar(at, field);
  if (byte === OPEN_CURLY) {
    if (action === ACTION_RAW) return captureRaw(at, field, level);
    emit(field | (TYPE_OBJECT << 8), 0, 0);
    return action === ACTION_OBJECT ? walkObject(at + 1, contextOf(slot), level + 1) : skipContainer(at, level);
  }
  if (action === ACTION_COUNT) {
    const end = walkElements(at + 1, slot, level + 1);
    if (end !== 0) emit(field | (TYPE_ARRAY << 8), elements, 0);
    return end;
  }
  emit(field | (TYPE_ARRAY << 8), 0, 0);
  if (action !== ACTION_LIST) return skipContainer(at, level);
  const end = walkElements(at + 1, slot, level + 1);
  const last = lastOf(slot);
  if (end !== 0 && last !== 0) emit(last, 0, 0);
  return end;
}

/** The members of an object whose `{` is behind `from`, `level` brackets open with it. */
export function walkObject(from: usize, table: usize, level: i32): usize {
  let at = from;
  let before = table;
  if (load<u8>(at) !== QUOTE) {
    at = skipWhite(at);
    const byte: u32 = load<u8>(at);
    if (byte === CLOSE_CURLY) return at + 1;
    if (byte !== QUOTE) return failUnexpected(at);
  }
  while (true) {
    if (at > lookaheadEnd) at = refill(at);
    const text = at + 1;
    let slot = guessKey(before);
    if (beginsWithKey(slot, text)) {
      at = text + lengthOf(slot) + 2;
    } else {
      at = readKey(table, before, text);
      if (at === 0) return 0;
      slot = slotRead;
      at = skipWhite(at);
      if (load<u8>(at) !== COLON) return failUnexpected(at);
      at++;
    }
    before = slot;
    if (load<u8>(at) <= SPACE) at = skipWhite(at);
    if (at > lookaheadEnd) at = refill(at);
    at = walkValue(at, slot, level);
    if (at === 0) return 0;
    if (load<u8>(at) !== COMMA) {
      at = skipWhite(at);
      const byte: u32 = load<u8>(at);
      if (byte === CLOSE_CURLY) return at + 1;
      if (byte === CLOSE_SQUARE) return fail(at, FAULT_BRACKETS);
      if (byte !== COMMA) return failUnexpected(at);
    }
    at++;
    if (load<u8>(at) !== QUOTE) {
      at = skipWhite(at);
      if (load<u8>(at) !== QUOTE) return failUnexpected(at);
    }
  }
}
