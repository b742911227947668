/**
 * The hot part of the encoder: prints runs of values that the host has put into scratch memory. The host sees to it
 * that there is room; nothing here allocates, and no call depends on the one before.
 */
export { writeFlags } from './flags';
export { writeFloats } from './floats';
export { writeInts } from './ints';
export { END, FLAGS, FLOATS, INTS, RUN_VALUES, TEXT, TEXT_UNITS } from './layout';
export { writeText } from './text';
