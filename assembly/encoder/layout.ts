/** What the host and the module share: the scratch memory that runs are put into. src/core/encode/kernel.ts mirrors it. */

/** Values of one run at most. */
export const RUN_VALUES: i32 = 4_096;

/** UTF-16 units of one run at most: with the text that is made of them they stay in a second-level cache. */
export const TEXT_UNITS: i32 = 16_384;

/** Bytes behind a run that may be read, or, for text, written. */
const SLACK = 64;

export const INTS: usize = memory.data(RUN_VALUES * 4 + SLACK, 64);
export const FLOATS: usize = memory.data(RUN_VALUES * 8 + SLACK, 64);
export const FLAGS: usize = memory.data(RUN_VALUES + SLACK, 64);
export const TEXT: usize = memory.data(TEXT_UNITS * 2 + SLACK, 64);
/** u32: the address behind what `writeFloats` has printed. */
export const END: usize = memory.data(8, 64);
