/**
 * Whether a number overflows a double, told digit by digit and for numbers of any length: its first significant digits
 * are compared with the smallest magnitude that rounds to infinity.
 */

/** 2^1024 - 2^970: halfway between the largest double and what would come next; ties round to infinity. */
const BOUND =
  '179769313486231580793728971405303415079934132710037826936173778980444968292764750946649017977587207096330286416692887910946555547851940402630657488671505820681908902000708383676273854845817711531764475730270069855571366959622842914819860834936475292719074168444365510704342711559699508093042880177904174497792';
const BOUND_DIGITS = 309;
const BOUND_ORDER: i64 = 308;

/** No line has as many digits: an exponent beyond it decides by itself. */
const EXPONENT_CAP: i64 = 1_000_000_000_000_000;

/** Power of ten of the first digit that is not zero, once `isNonZero`. */
let order: i64 = 0;
let isNonZero = false;
/** How the digits so far compare with as many of the bound. */
let comparison = 0;
let compared = 0;
let exponent: i64 = 0;
let isExponentNegative = false;

export function beginNumber(): void {
  order = 0;
  isNonZero = false;
  comparison = 0;
  compared = 0;
  exponent = 0;
  isExponentNegative = false;
}

export function takeIntegerDigit(digit: i32): void {
  if (isNonZero) order += 1;
  else if (digit === 0) return;
  isNonZero = true;
  compare(digit);
}

export function takeFractionDigit(digit: i32): void {
  if (!isNonZero) {
    order -= 1;
    if (digit === 0) return;
    isNonZero = true;
  }
  compare(digit);
}

export function takeExponentDigit(digit: i32): void {
  if (exponent < EXPONENT_CAP) exponent = exponent * 10 + digit;
}

export function negateExponent(): void {
  isExponentNegative = true;
}

/** Whether the number taken so far is beyond every double. */
export function isTooLarge(): bool {
  if (!isNonZero) return false;
  const total = isExponentNegative ? order - exponent : order + exponent;
  if (total !== BOUND_ORDER) return total > BOUND_ORDER;
  return comparison > 0 || (comparison === 0 && compared === BOUND_DIGITS);
}

function compare(digit: i32): void {
  if (comparison !== 0 || compared === BOUND_DIGITS) return;
  const bound = <i32>load<u16>(changetype<usize>(BOUND) + ((<usize>compared) << 1)) - 0x30;
  comparison = digit - bound;
  compared += 1;
}
