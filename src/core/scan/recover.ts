/**
 * Finds whole episodes behind a torn prefix on the same line (spec 03 section 7). A crash in the middle of an append
 * leaves a prefix without LF, and the next launch writes its first record straight behind it.
 */
import { pick } from './pick.js';
import { UNIT_SELECTOR } from './record-selector.js';
import { unitOf } from './sniff.js';
import { validateJson } from './validate.js';

/** Lines from this size on are not searched. */
const MAX_RECOVERY_LINE_BYTES = 67_108_864;
const MAX_CANDIDATES = 64;
const MAX_ID_BYTES = 128;

/** How every written episode begins: its first two keys, without spaces. Cannot occur inside a JSON string. */
const RECORD_START = Buffer.from('{"id":"');
const AFTER_ID = Buffer.from('","env":');

/** One whole episode inside a damaged line, `end` exclusive; the end is the line's content end or the next episode. */
export type RecoveredRange = { readonly start: number; readonly end: number };

/**
 * The episodes inside `[start, end)` of a line whose content is no single record, in the order they stand. The last
 * one ends at `end`; each earlier one ends where the next begins. Empty when the line holds none.
 */
export function recoverEpisodes(bytes: Buffer, start: number, end: number): readonly RecoveredRange[] {
  if (end - start >= MAX_RECOVERY_LINE_BYTES) return [];
  const candidates = findCandidates(bytes, start, end);
  const ranges: RecoveredRange[] = [];
  let rangeEnd = end;
  for (;;) {
    const found = candidates.find((candidate) => candidate < rangeEnd && isEpisode(bytes, candidate, rangeEnd));
    if (found === undefined) return ranges;
    ranges.unshift({ start: found, end: rangeEnd });
    rangeEnd = found;
  }
}

/** Positions where an episode may begin, the start of the line included: what stands there can be whole but unended. */
function findCandidates(bytes: Buffer, start: number, end: number): readonly number[] {
  const candidates: number[] = [];
  let at = bytes.indexOf(RECORD_START, start);
  while (at >= 0 && at < end && candidates.length < MAX_CANDIDATES) {
    if (hasEnvAfterId(bytes, at + RECORD_START.length)) candidates.push(at);
    at = bytes.indexOf(RECORD_START, at + 1);
  }
  return candidates;
}

function hasEnvAfterId(bytes: Buffer, at: number): boolean {
  for (let position = at; position <= at + MAX_ID_BYTES && position < bytes.length; position += 1) {
    const byte = bytes[position];
    if (byte === 0x5c) return false;
    if (byte === 0x22) return bytes.subarray(position, position + AFTER_ID.length).equals(AFTER_ID);
  }
  return false;
}

/** Strict: a recovered record is trusted by nobody yet, so every byte of it must hold. */
function isEpisode(bytes: Buffer, start: number, end: number): boolean {
  const result = pick(bytes, UNIT_SELECTOR, start, end);
  return result.ok && unitOf(result.root) === 'episode' && validateJson(bytes, start, end) === null;
}
