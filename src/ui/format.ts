/** What a view needs to turn figures and names into text; `terminalFormat` of the command line is one. */

/** Everything returned is safe to print, on one line. */
export type ViewFormat = {
  /** Only ASCII can be shown. */
  readonly ascii: boolean;
  /** Bytes: `2.31 GiB`. */
  readonly size: (bytes: number) => string;
  /** Bytes per second: `41.8 MiB/s`. */
  readonly rate: (bytesPerSecond: number) => string;
  readonly count: (count: number) => string;
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
