/** Figures and names as this terminal can show them: one place for the live view, the plain lines and the report. */
import { visible } from './text.js';
import { formatClock, formatCount, formatRate, formatRemaining, formatSize, formatSpan } from './units.js';
import { fitText, textWidth } from './width.js';

/** Formatting for one terminal. Everything it returns is safe to print, on one line. */
export type Format = {
  /** Only ASCII can be shown; views pick their symbols by it. */
  readonly ascii: boolean;
  /** Bytes: `2.31 GiB`. */
  readonly size: (bytes: number) => string;
  /** Bytes per second: `41.8 MiB/s`. */
  readonly rate: (bytesPerSecond: number) => string;
  /** `1,284`. */
  readonly count: (count: number) => string;
  /** Milliseconds: `56.2 s`. */
  readonly span: (spanMs: number) => string;
  /** Milliseconds still to go: `0:22`. */
  readonly remaining: (spanMs: number) => string;
  /** Epoch milliseconds as wall time: `12:04:31`. */
  readonly clock: (atMs: number) => string;
  /** Text from a log or a service, made safe. */
  readonly text: (raw: string) => string;
  /** Columns that a safe text takes. */
  readonly width: (text: string) => number;
  /** A safe text in at most that many columns. */
  readonly fit: (text: string, columns: number) => string;
};

/** What cannot be shown in ASCII, as its escape. */
function asciiText(raw: string): string {
  return visible(raw).replace(/[^\x20-\x7e]/gu, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}

/** The formatting of a terminal that shows UTF-8, or only ASCII. */
export function terminalFormat(options: { readonly ascii: boolean }): Format {
  const ellipsis = options.ascii ? '...' : '…';
  return {
    ascii: options.ascii,
    size: formatSize,
    rate: formatRate,
    count: formatCount,
    span: formatSpan,
    remaining: formatRemaining,
    clock: formatClock,
    text: options.ascii ? asciiText : visible,
    width: textWidth,
    fit: (text, columns) => fitText(text, columns, ellipsis),
  };
}
