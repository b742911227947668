/**
 * The strict check of a whole JSON text, with orjson's notion of "parseable" (spec 02 section 7): what passes here can
 * be read by every reader downstream. One pass over the bytes, no recursion, any depth, nothing built.
 */
import { type JsonFault, JsonText } from './json-text.js';
import { scanBareScalar, scanString, skipPlainScalars, skipSpace } from './lexical.js';
import { findInvalidUtf8 } from './utf8.js';

const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/**
 * Checks that a range holds exactly one JSON value between optional white space.
 *
 * Refuses, beyond RFC 8259: invalid UTF-8, a byte order mark, lone surrogate escapes, numbers that overflow a double.
 * Does not refuse: duplicate keys, integers beyond 64 bits.
 *
 * @returns null when valid, else the first fault; `offset` is a byte offset from the start of the buffer
 */
export function validateJson(bytes: Buffer, start = 0, end = bytes.length): JsonFault | null {
  const text = new JsonText(bytes, end);
  const after = skipWholeValue(text, start);
  if (after >= 0) {
    const rest = skipSpace(text, after);
    if (rest < text.end) text.fail(rest, 'bytes after the end of the value');
  }
  const invalid = findInvalidUtf8(bytes, start, end);
  if (invalid < 0 || (text.fault !== null && text.fault.offset < invalid)) return text.fault;
  return { offset: invalid, reason: 'bytes that are not UTF-8' };
}

/** Reads one value with everything inside it; the stack of open brackets stands in for recursion. */
function skipWholeValue(text: JsonText, start: number): number {
  const { bytes, brackets } = text;
  let at = start;
  for (;;) {
    at = skipSpace(text, at);
    // Token ids, masks and logprobs are nine tenths of an episode.
    if (brackets.depth > 0 && !brackets.isTopObject()) at = skipSpace(text, skipPlainScalars(text, at));
    const byte = bytes[at];
    if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      const isObject = byte === OPEN_OBJECT;
      const first = skipSpace(text, at + 1);
      if (bytes[first] !== (isObject ? CLOSE_OBJECT : CLOSE_ARRAY)) {
        brackets.push(isObject);
        at = isObject ? scanKey(text, first) : first;
        if (at < 0) return -1;
        continue;
      }
      at = first + 1;
    } else {
      at = byte === 0x22 ? scanString(text, at) : scanBareScalar(text, at);
    }
    if (at >= 0) at = closeOrSeparate(text, at);
    if (at < 0 || brackets.depth === 0) return at;
  }
}

/** Behind a value: closes every container that ends here; returns where the next value begins, or the end of all. */
function closeOrSeparate(text: JsonText, after: number): number {
  const { bytes, brackets } = text;
  let at = after;
  while (brackets.depth > 0) {
    at = skipSpace(text, at);
    const isObject = brackets.isTopObject();
    if (bytes[at] === COMMA) return isObject ? scanKey(text, skipSpace(text, at + 1)) : at + 1;
    if (bytes[at] !== (isObject ? CLOSE_OBJECT : CLOSE_ARRAY)) {
      return text.fail(at, at >= text.end ? 'the text ends inside an object or array' : 'no comma or closing bracket');
    }
    brackets.pop();
    at += 1;
  }
  return at;
}

/** Reads `"key" :` and returns the offset behind the colon. */
function scanKey(text: JsonText, at: number): number {
  if (text.bytes[at] !== 0x22) {
    return text.fail(at, at >= text.end ? 'the text ends inside an object or array' : 'no key where one belongs');
  }
  const keyEnd = scanString(text, at);
  if (keyEnd < 0) return -1;
  const colon = skipSpace(text, keyEnd);
  return text.bytes[colon] === COLON ? colon + 1 : text.fail(colon, 'no colon after a key');
}
