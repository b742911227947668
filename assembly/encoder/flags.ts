/** Runs of flags. Masks are long runs of one value: sixteen equal ones are a few stores of a constant text. */
import { FLAGS } from './layout';

const TRUE_COMMA: u64 = 0x2c_6575_7274;
const FALSE_COMMA: u64 = 0x2c65_736c_6166;
const TRUE_BYTES: usize = 5;
const FALSE_BYTES: usize = 6;

/** Prints the first `count` flags with commas between them; returns the address behind the last byte. */
export function writeFlags(to: usize, count: i32): usize {
  let at = to;
  let from = FLAGS;
  const end = FLAGS + <usize>count;
  while (from + 16 <= end) {
    const sixteen = v128.load(from);
    if (!v128.any_true(sixteen)) {
      storeSixteenFalse(at);
      at += 16 * FALSE_BYTES;
    } else if (i8x16.all_true(sixteen)) {
      storeSixteenTrue(at);
      at += 16 * TRUE_BYTES;
    } else {
      at = writeEach(at, from, from + 16);
    }
    from += 16;
  }
  at = writeEach(at, from, end);
  return count > 0 ? at - 1 : at;
}

/** No branches: in a mixed mask nothing can be foretold. */
function writeEach(to: usize, first: usize, end: usize): usize {
  let at = to;
  for (let from = first; from < end; from += 1) {
    const isTrue = load<u8>(from) !== 0;
    store<u64>(at, select(TRUE_COMMA, FALSE_COMMA, isTrue));
    at += FALSE_BYTES - <usize>isTrue;
  }
  return at;
}

/** 96 bytes: a text of six comes round in three vectors. */
function storeSixteenFalse(at: usize): void {
  const a = i32x4(0x736c6166, 0x61662c65, 0x2c65736c, 0x736c6166);
  const b = i32x4(0x61662c65, 0x2c65736c, 0x736c6166, 0x61662c65);
  const c = i32x4(0x2c65736c, 0x736c6166, 0x61662c65, 0x2c65736c);
  v128.store(at, a);
  v128.store(at, b, 16);
  v128.store(at, c, 32);
  v128.store(at, a, 48);
  v128.store(at, b, 64);
  v128.store(at, c, 80);
}

/** 80 bytes: a text of five comes round in five vectors. */
function storeSixteenTrue(at: usize): void {
  v128.store(at, i32x4(0x65757274, 0x7572742c, 0x72742c65, 0x742c6575));
  v128.store(at, i32x4(0x2c657572, 0x65757274, 0x7572742c, 0x72742c65), 16);
  v128.store(at, i32x4(0x742c6575, 0x2c657572, 0x65757274, 0x7572742c), 32);
  v128.store(at, i32x4(0x72742c65, 0x742c6575, 0x2c657572, 0x65757274), 48);
  v128.store(at, i32x4(0x7572742c, 0x72742c65, 0x742c6575, 0x2c657572), 64);
}
