/** What the strict check of a stream has to say, told slowly: line by line with validateJson, for the tests. */
import { validateJson } from '../../../src/core/scan/validate.js';

/** A finding as it reads: offsets count from the start of the stream. */
export type Expected = {
  readonly lineStart: number;
  readonly lineEnd: number;
  readonly offset: number;
  readonly reason: string;
  readonly isTorn: boolean;
};

const BOM = '\u00ef\u00bb\u00bf';
const ESCAPES = /\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|\\u[dD][89a-fA-F][\da-fA-F]{2}|\\[\s\S]/g;
const STRINGS = /"(?:[^"\\]|\\[\s\S])*"/g;

/** All findings but those of nesting. */
export function expectFindings(stream: Buffer): Expected[] {
  const found: Expected[] = [];
  for (let start = 0; start < stream.length; ) {
    const lf = stream.indexOf(0x0a, start);
    const contentEnd = lf < 0 ? stream.length : lf;
    const lineEnd = lf < 0 ? stream.length : lf + 1;
    for (const { at, reason, isFault } of findInFirstLine(stream.toString('latin1', start, contentEnd), start)) {
      const offset = start + at;
      found.push({ lineStart: start, lineEnd, offset, reason, isTorn: isFault && offset === contentEnd });
    }
    start = lineEnd;
  }
  return found;
}

type InLine = { readonly at: number; readonly reason: string; readonly isFault: boolean };

/** A byte order mark is odd before the first line only. */
function findInFirstLine(line: string, start: number): InLine[] {
  if (start > 0 || !line.startsWith(BOM)) return findInLine(line);
  const rest = findInLine(line.slice(BOM.length)).map((found) => ({ ...found, at: found.at + BOM.length }));
  return rest[0]?.isFault === true ? rest : [{ at: 0, reason: 'a byte order mark', isFault: false }, ...rest];
}

/** `line` has a character for each byte. */
function findInLine(line: string): InLine[] {
  if (/^[\t\v\f\r ]*$/.test(line)) return [];
  const fault = validateJson(Buffer.from(withoutOddities(line), 'latin1'));
  if (fault !== null) return [{ at: fault.offset, reason: fault.reason, isFault: true }];
  const bare = line.replace(STRINGS, (text) => ' '.repeat(text.length));
  const odd = [
    { at: bare.search(/-?Infinity|NaN/), reason: 'a number that is not finite', isFault: false },
    { at: findLoneSurrogate(line), reason: 'a lone surrogate escape', isFault: false },
  ];
  return odd.filter(({ at }) => at >= 0).sort((left, right) => left.at - right.at);
}

/** The same line, of the same length, with a plain value or escape in the place of each odd one. */
function withoutOddities(line: string): string {
  return line
    .replace(/(?<![eE])-Infinity/g, '[1234567]')
    .replace(/Infinity/g, '[123456]')
    .replace(/NaN/g, '[1]')
    .replace(ESCAPES, (found) => (isLoneSurrogate(found) ? '\\u0041' : found));
}

function findLoneSurrogate(line: string): number {
  for (const { 0: found, index } of line.matchAll(ESCAPES)) if (isLoneSurrogate(found)) return index;
  return -1;
}

function isLoneSurrogate(found: string): boolean {
  return found.length === 6;
}
