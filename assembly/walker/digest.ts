/**
 * A digest of the bytes that pass through the window, 32 bits a block, so that a later reading can tell whether a block
 * is still what it was. Made for speed beside the walk: 64 bytes a step, in the cache that the walk has just read
 * into. Finds what disks and memory do to bytes; no protection against a person.
 *
 * Each 64-bit lane adds its neighbour's data and the product of its own data's halves under a key; keys change from
 * step to step, so that order counts, and every 16 steps the lanes are mixed.
 */
import { DIGEST, DIGEST_CARRY, DIGEST_KEYS } from './layout';

const STEP: usize = 64;
const STEPS_A_MIX: u32 = 16;

/** Odd numbers without pattern: the fractions of square roots. */
// biome-ignore lint/correctness/noPrecisionLoss: AssemblyScript has integers of 64 bits.
const KEY_STEP: u64 = 0x9e3779b97f4a7c15;
// biome-ignore lint/correctness/noPrecisionLoss: AssemblyScript has integers of 64 bits.
const FIRST_KEY: u64 = 0x6a09e667f3bcc908;
// biome-ignore lint/correctness/noPrecisionLoss: AssemblyScript has integers of 64 bits.
const MIX: u64 = 0xff51afd7ed558ccd;

/** Bytes of a step that is not complete, in DIGEST_CARRY. */
let carried: usize = 0;
/** Steps since the last mix, and bytes in all. */
let steps: u32 = 0;
let total: u64 = 0;

/** Begins a block. */
export function startDigest(): void {
  carried = 0;
  steps = 0;
  total = 0;
  let key: u64 = FIRST_KEY;
  for (let at: usize = 0; at < STEP; at += 8) {
    store<u64>(DIGEST + at, key);
    key = key * MIX + KEY_STEP;
    store<u64>(DIGEST_KEYS + at, key);
  }
}

/** Adds `length` bytes to the block. */
export function addToDigest(from: usize, length: usize): void {
  let at = from;
  let left = length;
  total += u64(length);
  if (carried !== 0) {
    const part = min(STEP - carried, left);
    memory.copy(DIGEST_CARRY + carried, at, part);
    carried += part;
    at += part;
    left -= part;
    if (carried < STEP) return;
    takeSteps(DIGEST_CARRY, 1);
    carried = 0;
  }
  const whole = left / STEP;
  if (whole > 0) takeSteps(at, whole);
  const rest = left - whole * STEP;
  if (rest > 0) memory.copy(DIGEST_CARRY, at + whole * STEP, rest);
  carried = rest;
}

/** Ends the block and returns its digest. */
export function finishDigest(): u32 {
  if (carried > 0) {
    memory.fill(DIGEST_CARRY + carried, 0, STEP - carried);
    takeSteps(DIGEST_CARRY, 1);
    carried = 0;
  }
  let digest: u64 = total * MIX;
  for (let at: usize = 0; at < STEP; at += 8) {
    digest = (digest ^ load<u64>(DIGEST + at)) * MIX;
    digest ^= digest >> 31;
  }
  return u32(digest ^ (digest >> 32));
}

function add(sum: v128, data: v128, key: v128): v128 {
  const keyed = v128.xor(data, key);
  const low = v128.shuffle<u32>(keyed, keyed, 0, 2, 0, 2);
  const high = v128.shuffle<u32>(keyed, keyed, 1, 3, 1, 3);
  const swapped = v128.shuffle<u64>(data, data, 1, 0);
  return i64x2.add(sum, i64x2.add(swapped, i64x2.extmul_low_i32x4_u(low, high)));
}

function mix(sum: v128, key: v128, factor: v128): v128 {
  return i64x2.mul(v128.xor(v128.xor(sum, i64x2.shr_u(sum, 47)), key), factor);
}

/** A parser loop: all its state stays in registers from the first step to the last. */
function takeSteps(from: usize, count: usize): void {
  let sum0 = v128.load(DIGEST, 0);
  let sum1 = v128.load(DIGEST, 16);
  let sum2 = v128.load(DIGEST, 32);
  let sum3 = v128.load(DIGEST, 48);
  let key0 = v128.load(DIGEST_KEYS, 0);
  let key1 = v128.load(DIGEST_KEYS, 16);
  let key2 = v128.load(DIGEST_KEYS, 32);
  let key3 = v128.load(DIGEST_KEYS, 48);
  const next = i64x2.splat(KEY_STEP);
  const factor = i64x2.splat(MIX);
  let at = from;
  const end = from + count * STEP;
  while (at < end) {
    sum0 = add(sum0, v128.load(at, 0), key0);
    sum1 = add(sum1, v128.load(at, 16), key1);
    sum2 = add(sum2, v128.load(at, 32), key2);
    sum3 = add(sum3, v128.load(at, 48), key3);
    key0 = i64x2.add(key0, next);
    key1 = i64x2.add(key1, next);
    key2 = i64x2.add(key2, next);
    key3 = i64x2.add(key3, next);
    at += STEP;
    steps += 1;
    if (steps === STEPS_A_MIX) {
      steps = 0;
      sum0 = mix(sum0, key0, factor);
      sum1 = mix(sum1, key1, factor);
      sum2 = mix(sum2, key2, factor);
      sum3 = mix(sum3, key3, factor);
    }
  }
  v128.store(DIGEST, sum0, 0);
  v128.store(DIGEST, sum1, 16);
  v128.store(DIGEST, sum2, 32);
  v128.store(DIGEST, sum3, 48);
  v128.store(DIGEST_KEYS, key0, 0);
  v128.store(DIGEST_KEYS, key1, 16);
  v128.store(DIGEST_KEYS, key2, 32);
  v128.store(DIGEST_KEYS, key3, 48);
}
