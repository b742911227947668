/** Runs of flags. Masks are long runs of one value: sixteen equal ones are a copy of a text that is ready. */
import { FLAGS } from './layout';

const TRUE_COMMA: u64 = 0x2c_6575_7274;
const FALSE_COMMA: u64 = 0x2c65_736c_6166;
const TRUE_BYTES: usize = 5;
const FALSE_BYTES: usize = 6;

/** Sixteen times each, and what the last store writes behind. */
const TRUES: usize = memory.data(16 * 5 + 8, 16);
const FALSES: usize = memory.data(16 * 6 + 8, 16);

for (let index: usize = 0; index < 16; index += 1) {
  store<u64>(TRUES + index * TRUE_BYTES, TRUE_COMMA);
  store<u64>(FALSES + index * FALSE_BYTES, FALSE_COMMA);
}

/** Prints the first `count` flags with commas between them; returns the address behind the last byte. */
export function writeFlags(to: usize, count: i32): usize {
  let at = to;
  let from = FLAGS;
  const end = FLAGS + <usize>count;
  while (from + 16 <= end) {
    const sixteen = v128.load(from);
    if (i8x16.all_true(sixteen)) {
      copyFive(at, TRUES);
      at += 16 * TRUE_BYTES;
    } else if (v128.any_true(sixteen)) {
      at = writeEach(at, from, from + 16);
    } else {
      copyFive(at, FALSES);
      v128.store(at, v128.load(FALSES, 80), 80);
      at += 16 * FALSE_BYTES;
    }
    from += 16;
  }
  at = writeEach(at, from, end);
  return count > 0 ? at - 1 : at;
}

function copyFive(to: usize, from: usize): void {
  v128.store(to, v128.load(from));
  v128.store(to, v128.load(from, 16), 16);
  v128.store(to, v128.load(from, 32), 32);
  v128.store(to, v128.load(from, 48), 48);
  v128.store(to, v128.load(from, 64), 64);
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
