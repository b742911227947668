export function probe(at: usize): i32 {
  return i8x16.bitmask(v128.load(at));
}
