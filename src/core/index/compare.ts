/**
 * Compares the index on disk with rebuilt rows, both in stream order, in one pass and bounded memory (spec 04 section 8,
 * `--check`). Rows are matched by their address, so that one missing row is one difference and not all behind it.
 */
import {
  compareAddresses,
  gluedRest,
  type IndexedRow,
  isRemark,
  ROW_KEYS,
  type RowAddress,
  type RowKey,
  readRow,
} from './row-text.js';

/** What can be wrong with an index; the first four as spec 04 names them. */
export type DifferenceKind =
  /** A record without a row; without an address, a synthetic index without its header or last line. */
  | 'missing_row'
  /** A row that points behind the end of the stream, or into a chunk that is not there. */
  | 'extra_row'
  /** A row whose address is not the start of that record. */
  | 'stale_row'
  /** Only the number of the line differs: a row before it was never written. Legal. */
  | 'line_gap'
  | 'field_diff'
  /** A second row of one address, as two writers on one stream leave it. */
  | 'duplicate_row'
  /** A row that points before the row above it. */
  | 'misplaced_row'
  | 'torn_index_tail'
  /** A block of the stream that is no longer what was indexed, by the digest that was kept then. */
  | 'changed_data'
  /** A row written behind a torn one on the same line. */
  | 'glued_index_row'
  /** A line that is no row; in a synthetic index also a header that is not that of the run. */
  | 'unreadable_row';

export type FieldDifference = { readonly key: RowKey; readonly disk: string | null; readonly rebuilt: string | null };

export type RowDifference = {
  readonly kind: DifferenceKind;
  /** Physical line of the index file, from 1; null for a row that is not there. */
  readonly index_line: number | null;
  readonly chunk: number | null;
  readonly offset: number | null;
  /** Id of the episode, or of the trace of an annotation; null when unknown. */
  readonly id: string | null;
  /** Of field_diff, line_gap and stale_row. */
  readonly fields: readonly FieldDifference[];
};

export type IndexComparison = {
  /** Rows on disk that could be read, and rows rebuilt. */
  readonly rows: number;
  readonly rebuilt: number;
  readonly ok: boolean;
  readonly counts: Readonly<Partial<Record<DifferenceKind, number>>>;
  /** The first 20, by where they were found. */
  readonly differences: readonly RowDifference[];
};

/** Differences that are shown; all are counted. */
export const SHOWN_DIFFERENCES = 20;

/** Rows that wait for their other half; beyond it the oldest is given up as missing or stale. */
const MAX_WAITING_ROWS = 50_000;

/** Kinds that are legal in an index: the rows are right. */
const LEGAL: ReadonlySet<DifferenceKind> = new Set(['line_gap']);

type DiskRow = IndexedRow & { readonly line: number };

/** What a live writer does while its index is compared: rows of records behind those that were read are no difference. */
export type Growth = {
  /** Whether the stream went on behind what was read of it. */
  hasGrown(): boolean;
  /** Whether an address lies behind the last line that was read whole, in a stream that went on. */
  isAhead(address: RowAddress): boolean;
};

const NO_GROWTH: Growth = { hasGrown: () => false, isAhead: () => false };

export class IndexComparer {
  readonly #counts: Partial<Record<DifferenceKind, number>> = {};
  readonly #shown: RowDifference[] = [];
  /** Rebuilt rows without a row on disk so far, and the other way round, by address and in stream order. */
  readonly #waitingRebuilt = new Map<string, IndexedRow>();
  readonly #waitingDisk = new Map<string, DiskRow>();
  readonly #extentOf: (chunk: number) => number | null;
  readonly #growth: Growth;
  /** Lines of a synthetic index that are no rows, rebuilt and on disk; only the end tells which of them belong there. */
  readonly #rebuiltRemarks = new Set<string>();
  readonly #diskRemarks = new Map<string, number>();
  #lastOnDisk: RowAddress | null = null;
  #rows = 0;
  #rebuilt = 0;
  #diskLine = 0;

  /** `extentOf`: uncompressed bytes of a chunk, asked for at the end; null when the run has no such chunk. */
  constructor(extentOf: (chunk: number) => number | null, growth = NO_GROWTH) {
    this.#extentOf = extentOf;
    this.#growth = growth;
  }

  /** Whether a row on disk waits for the record at this address. */
  isAwaited(address: RowAddress): boolean {
    return this.#waitingDisk.size > 0 && this.#waitingDisk.has(keyOf(address));
  }

  /** `count` rows that are the same on disk, byte for byte, `last` the last of them. */
  addEqual(count: number, last: RowAddress): void {
    this.#lastOnDisk = last;
    this.#diskLine += count;
    this.#rows += count;
    this.#rebuilt += count;
  }

  /** A line of the index file, LF included; the last one may have none. Returns the row it holds, null for none. */
  addDisk(bytes: Buffer): RowAddress | null {
    this.#diskLine += 1;
    const line = this.#diskLine;
    const row = readRow(bytes);
    if (row !== null) {
      this.#takeDisk({ ...row, line });
      return row;
    }
    if (isRemark(bytes)) {
      const text = bytes.toString('utf8');
      if (this.#diskRemarks.has(text)) this.#report(lineDifference('unreadable_row', line));
      this.#diskRemarks.set(text, line);
      return null;
    }
    const isTorn = bytes[bytes.length - 1] !== 0x0a;
    const rest = gluedRest(bytes);
    const kind = rest !== null ? 'glued_index_row' : isTorn ? 'torn_index_tail' : 'unreadable_row';
    // A row on its way.
    if (kind === 'torn_index_tail' && this.#growth.hasGrown()) return null;
    this.#report(lineDifference(kind, line));
    const restRow = rest === null ? null : readRow(rest);
    if (restRow !== null) this.#takeDisk({ ...restRow, line });
    return restRow;
  }

  /** The header of a synthetic index, or its last line; LF included. */
  addRemark(bytes: Buffer): void {
    this.#rebuiltRemarks.add(bytes.toString('utf8'));
  }

  /** A rebuilt row. */
  addRebuilt(row: IndexedRow): void {
    this.#rebuilt += 1;
    const address = keyOf(row);
    const disk = this.#waitingDisk.get(address);
    if (disk === undefined) {
      this.#waitingRebuilt.set(address, row);
      if (this.#waitingRebuilt.size > MAX_WAITING_ROWS) this.#giveUpRebuilt();
      return;
    }
    this.#waitingDisk.delete(address);
    this.#match(disk, row);
  }

  /** The block of a chunk at `offset` is not what it was. */
  addChangedData(chunk: number, offset: number): void {
    this.#report({ kind: 'changed_data', index_line: null, chunk, offset, id: null, fields: [] });
  }

  end(): IndexComparison {
    for (const [text, line] of this.#diskRemarks) {
      if (!this.#rebuiltRemarks.delete(text)) this.#report(lineDifference('unreadable_row', line));
    }
    for (const _missing of this.#rebuiltRemarks) this.#report(lineDifference('missing_row', null));
    for (const row of this.#waitingRebuilt.values()) this.#reportMissing(row);
    for (const row of this.#waitingDisk.values()) this.#reportLost(row);
    return {
      rows: this.#rows,
      rebuilt: this.#rebuilt,
      ok: Object.keys(this.#counts).every((kind) => LEGAL.has(kind as DifferenceKind)),
      counts: this.#counts,
      differences: [...this.#shown].sort((a, b) => (a.index_line ?? Infinity) - (b.index_line ?? Infinity)),
    };
  }

  #takeDisk(row: DiskRow): void {
    this.#rows += 1;
    const address = keyOf(row);
    const last = this.#lastOnDisk;
    this.#lastOnDisk = row;
    const isDuplicate = this.#waitingDisk.has(address) || (last !== null && keyOf(last) === address);
    if (isDuplicate) {
      this.#report({ kind: 'duplicate_row', ...placeOf(row), index_line: row.line, fields: [] });
      return;
    }
    if (last !== null && compareAddresses(row, last) < 0) {
      this.#report({ kind: 'misplaced_row', ...placeOf(row), index_line: row.line, fields: [] });
    }
    const rebuilt = this.#waitingRebuilt.get(address);
    if (rebuilt === undefined) {
      this.#waitingDisk.set(address, row);
      if (this.#waitingDisk.size > MAX_WAITING_ROWS) this.#giveUpDisk();
      return;
    }
    this.#waitingRebuilt.delete(address);
    this.#match(row, rebuilt);
  }

  #match(disk: DiskRow, rebuilt: IndexedRow): void {
    const fields = ROW_KEYS.flatMap((key) => {
      const [old, right] = [disk.fields.get(key) ?? null, rebuilt.fields.get(key) ?? null];
      return old === right ? [] : [{ key, disk: old, rebuilt: right }];
    });
    if (fields.length === 0) return;
    const keys = new Set(fields.map(({ key }) => key));
    const kind =
      keys.has('id') || keys.has('trace_id')
        ? 'stale_row'
        : keys.size === 1 && keys.has('line')
          ? 'line_gap'
          : 'field_diff';
    this.#report({ kind, ...placeOf(disk), index_line: disk.line, fields });
  }

  #giveUpRebuilt(): void {
    const [[address, row] = []] = this.#waitingRebuilt;
    if (address === undefined || row === undefined) return;
    this.#waitingRebuilt.delete(address);
    this.#reportMissing(row);
  }

  #giveUpDisk(): void {
    const [[address, row] = []] = this.#waitingDisk;
    if (address === undefined || row === undefined) return;
    this.#waitingDisk.delete(address);
    this.#reportLost(row);
  }

  #reportMissing(row: IndexedRow): void {
    this.#report({ kind: 'missing_row', ...placeOf(row), index_line: null, fields: [] });
  }

  #reportLost(row: DiskRow): void {
    if (this.#growth.isAhead(row)) return;
    const extent = this.#extentOf(row.chunk);
    const kind = extent === null || row.offset >= extent ? 'extra_row' : 'stale_row';
    this.#report({ kind, ...placeOf(row), index_line: row.line, fields: [] });
  }

  #report(difference: RowDifference): void {
    this.#counts[difference.kind] = (this.#counts[difference.kind] ?? 0) + 1;
    if (this.#shown.length < SHOWN_DIFFERENCES) this.#shown.push(difference);
  }
}

function lineDifference(kind: DifferenceKind, line: number | null): RowDifference {
  return { kind, index_line: line, chunk: null, offset: null, id: null, fields: [] };
}

function keyOf({ chunk, offset }: RowAddress): string {
  return `${chunk}:${offset}`;
}

function placeOf({ chunk, offset, fields }: IndexedRow): Pick<RowDifference, 'chunk' | 'offset' | 'id'> {
  const text = fields.get('id') ?? fields.get('trace_id');
  return { chunk, offset, id: text === undefined || !text.startsWith('"') ? null : idOf(text) };
}

function idOf(text: string): string {
  try {
    return String(JSON.parse(text));
  } catch {
    return text; // an escape that is none: shown as it stands
  }
}
