/**
 * The fast way from token to token. It takes only what is plainly legal; before anything else it stops, between two
 * tokens or inside a string, and leaves the next byte to the machine. So nothing is decided twice.
 */
import { beginLine, hasFlags } from './findings';
import { DEEP, STACK } from './layout';
import {
  AFTER,
  BAD,
  COLON,
  closeString,
  DONE,
  depth,
  FIRST_KEY,
  FIRST_VALUE,
  KEY,
  LINE,
  resume,
  resumeInString,
  STRING,
  state,
  VALUE,
} from './machine';
import { skipFlags, skipLiteral, skipNumber, skipNumbers } from './scalars';
import { skipLongText, skipText } from './strings';

const LF: u32 = 0x0a;
const SPACE: u32 = 0x20;
const QUOTE: u32 = 0x22;
const COMMA: u32 = 0x2c;
const OPEN_ARRAY: u32 = 0x5b;
const CLOSE_ARRAY: u32 = 0x5d;
const OPEN_OBJECT: u32 = 0x7b;
const CLOSE_OBJECT: u32 = 0x7d;

/**
 * Goes on from `from`, as long as it stands at or before `limit`; returns where the machine has to go on. `origin` is
 * the offset in the stream less the address.
 */
export function skipTokens(from: usize, limit: usize, origin: i64): usize {
  if (state === BAD) return skipToLineEnd(from, limit);
  if (state !== STRING) return skipFrom(from, limit, origin);
  const at = skipLongText(from, limit);
  if (at > limit || <u32>load<u8>(at) !== QUOTE) return at;
  closeString();
  return skipFrom(at + 1, limit, origin);
}

function skipToLineEnd(from: usize, limit: usize): usize {
  let at = from;
  while (at <= limit) {
    const found = i8x16.bitmask(i8x16.eq(v128.load(at), i8x16.splat(0x0a)));
    if (found !== 0) return at + ctz(found);
    at += 16;
  }
  return at;
}

/** One loop over the states between tokens, long because a call a token would cost more than the token. */
function skipFrom(from: usize, limit: usize, origin: i64): usize {
  let at = from;
  let now = state;
  let open = depth;
  let isObject = isOpenObject(open);
  while (at <= limit) {
    const byte = <u32>load<u8>(at);
    if (byte <= SPACE) {
      if (byte === SPACE) at = skipSpaces(at + 1);
      else if (byte === 0x09 || byte === 0x0d) at += 1;
      else if (byte === LF && (now === DONE || now === LINE) && !hasFlags()) {
        now = LINE;
        at += 1;
        beginLine(origin + at);
      } else break;
      continue;
    }
    if (now >= AFTER) {
      if (now === DONE) break;
      if (byte === COMMA) now = isObject ? KEY : VALUE;
      else if (byte === (isObject ? CLOSE_OBJECT : CLOSE_ARRAY)) {
        open -= 1;
        isObject = isOpenObject(open);
        now = open === 0 ? DONE : AFTER;
      } else break;
      at += 1;
    } else if (now === COLON) {
      if (byte !== 0x3a) break;
      now = VALUE;
      at += 1;
    } else if (byte === QUOTE) {
      const isKey = now === KEY || now === FIRST_KEY;
      at = skipText(at + 1, limit);
      if (at > limit || <u32>load<u8>(at) !== QUOTE) {
        resumeInString(isKey, open);
        return at;
      }
      at += 1;
      if (!isKey) now = open === 0 ? DONE : AFTER;
      else if (load<u8>(at) === 0x3a) {
        now = VALUE;
        at += 1;
      } else now = COLON;
    } else if (now === KEY) break;
    else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
      if (now !== (byte === CLOSE_OBJECT ? FIRST_KEY : FIRST_VALUE)) break;
      open -= 1;
      isObject = isOpenObject(open);
      now = open === 0 ? DONE : AFTER;
      at += 1;
    } else if (now === FIRST_KEY) break;
    else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      if (open >= DEEP) break;
      open += 1;
      isObject = byte === OPEN_OBJECT;
      store<u8>(STACK + open, isObject ? 1 : 0);
      now = isObject ? FIRST_KEY : FIRST_VALUE;
      at += 1;
    } else {
      const isNumber = byte < 0x40;
      let next = at;
      if (open > 0 && !isObject) next = isNumber ? skipNumbers(at, limit) : skipFlags(at, limit);
      if (next === at) {
        next = isNumber ? skipNumber(at) : skipLiteral(at);
        if (next === at) break;
        now = open === 0 ? DONE : AFTER;
      } else {
        const last = <u32>load<u8>(next - 1);
        now = last === COMMA || last === SPACE ? VALUE : AFTER;
      }
      at = next;
    }
    if (now === AFTER && <u32>load<u8>(at) === COMMA) {
      now = isObject ? KEY : VALUE;
      at += 1;
    }
  }
  resume(now, open);
  return at;
}

function isOpenObject(open: i32): bool {
  return open > 0 && load<u8>(STACK + open) !== 0;
}

/** Behind a run of spaces, or as far into it as is sure to be in the window. */
function skipSpaces(from: usize): usize {
  const others = ~(<u32>i8x16.bitmask(i8x16.eq(v128.load(from), i8x16.splat(0x20))));
  return from + <usize>ctz((others & 0xffff) | 0x10000);
}
