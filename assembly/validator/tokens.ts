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
import { skipText } from './strings';

const LF: u32 = 0x0a;
const QUOTE: u32 = 0x22;

/** Goes on from `from`; never starts on what lies behind `limit`. Returns where the machine has to go on, at most REACH behind it. */
export function skipTokens(from: usize, limit: usize, origin: i64): usize {
  let at = from;
  if (state === BAD) return skipToLineEnd(at, limit);
  if (state === STRING) {
    at = skipText(at, limit);
    if (at > limit || <u32>load<u8>(at) !== QUOTE) return at;
    closeString();
    at += 1;
  }
  return skipFrom(at, limit, origin);
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
  let isObject = open > 0 && load<u8>(STACK + open) !== 0;
  while (at <= limit) {
    const byte = <u32>load<u8>(at);
    if (byte <= 0x20) {
      if (byte === LF) {
        if ((now !== DONE && now !== LINE) || hasFlags()) break;
        now = LINE;
        beginLine(origin + at + 1);
      } else if (byte !== 0x20 && byte !== 0x09 && byte !== 0x0d) break;
      at += 1;
      continue;
    }
    if (now === AFTER) {
      if (byte === 0x2c) now = isObject ? KEY : VALUE;
      else if (byte === (isObject ? 0x7d : 0x5d)) {
        open -= 1;
        isObject = open > 0 && load<u8>(STACK + open) !== 0;
        now = open === 0 ? DONE : AFTER;
      } else break;
      at += 1;
      continue;
    }
    if (now === COLON) {
      if (byte !== 0x3a) break;
      now = VALUE;
      at += 1;
      continue;
    }
    if (now === KEY || now === FIRST_KEY) {
      if (byte === QUOTE) {
        at = skipText(at + 1, limit);
        if (at > limit || <u32>load<u8>(at) !== QUOTE) {
          resumeInString(true, open);
          return at;
        }
        now = COLON;
      } else if (byte === 0x7d && now === FIRST_KEY) {
        open -= 1;
        isObject = open > 0 && load<u8>(STACK + open) !== 0;
        now = open === 0 ? DONE : AFTER;
      } else break;
      at += 1;
      continue;
    }
    if (now === DONE) break;
    // A value.
    if (byte === QUOTE) {
      at = skipText(at + 1, limit);
      if (at > limit || <u32>load<u8>(at) !== QUOTE) {
        resumeInString(false, open);
        return at;
      }
      at += 1;
    } else if (byte === 0x7b || byte === 0x5b) {
      if (open >= DEEP) break;
      open += 1;
      isObject = byte === 0x7b;
      store<u8>(STACK + open, isObject ? 1 : 0);
      now = isObject ? FIRST_KEY : FIRST_VALUE;
      at += 1;
      continue;
    } else if (byte === 0x5d) {
      if (now !== FIRST_VALUE) break;
      open -= 1;
      isObject = open > 0 && load<u8>(STACK + open) !== 0;
      at += 1;
    } else if (byte < 0x40) {
      if (open > 0 && !isObject) {
        const next = skipNumbers(at, limit);
        if (next !== at) {
          at = next;
          now = VALUE;
          continue;
        }
      }
      const next = skipNumber(at);
      if (next === at) break;
      at = next;
    } else {
      if (open > 0 && !isObject) {
        const next = skipFlags(at, limit);
        if (next !== at) {
          at = next;
          now = VALUE;
          continue;
        }
      }
      const next = skipLiteral(at);
      if (next === at) break;
      at = next;
    }
    now = open === 0 ? DONE : AFTER;
  }
  resume(now, open);
  return at;
}
