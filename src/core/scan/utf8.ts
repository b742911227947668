/** Where a range stops being UTF-8. The built-in check answers yes or no; only a bad range pays for the search. */
import { isUtf8 } from 'node:buffer';

const SEARCH_BLOCK_BYTES = 65_536;

/** Offset of the first byte, counted from the start of the buffer, that begins no valid character; -1 when all do. */
export function findInvalidUtf8(bytes: Buffer, start: number, end: number): number {
  if (isUtf8(bytes.subarray(start, end))) return -1;
  let valid = start;
  for (;;) {
    const blockEnd = characterStart(bytes, Math.min(end, valid + SEARCH_BLOCK_BYTES), end);
    if (!isUtf8(bytes.subarray(valid, blockEnd))) break;
    valid = blockEnd;
  }
  for (;;) {
    const next = Math.min(end, valid + characterBytes(bytes[valid] as number));
    if (!isUtf8(bytes.subarray(valid, next))) return valid;
    valid = next;
  }
}

/** Whether `bytes[start, end)` is the beginning of one character and lacks its end, as a write that was cut leaves it. */
export function isCutCharacter(bytes: Buffer, start: number, end: number): boolean {
  const missing = characterBytes(bytes[start] as number) - (end - start);
  if (missing <= 0) return false;
  // Which second bytes are legal depends on the first: one of these always is.
  return [0x80, 0x90, 0xa0].some((next) => {
    return isUtf8(Buffer.from([...bytes.subarray(start, end), next, 0x80, 0x80].slice(0, end - start + missing)));
  });
}

/** Moves a cut back to the start of the character it falls into; a cut at `end` stays. */
function characterStart(bytes: Buffer, at: number, end: number): number {
  if (at >= end) return end;
  let position = at;
  while (at - position < 3 && isContinuation(bytes[position] as number)) position -= 1;
  return position;
}

function isContinuation(byte: number): boolean {
  return (byte & 0xc0) === 0x80;
}

function characterBytes(lead: number): number {
  if (lead >= 0xf0) return 4;
  if (lead >= 0xe0) return 3;
  return lead >= 0xc0 ? 2 : 1;
}
