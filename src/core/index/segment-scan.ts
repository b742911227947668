/**
 * Scans the lines that one segment of a chunk owns, at the speed of the walker. Lines that are no records take the slow
 * way: they are read again and classified like everywhere else, so that an index and an upload call the same damage by
 * the same name. Every byte of the owned lines is counted once: record, damage or blank.
 */
import { LineClassifier, type LineContent, type LineSource, mergeRemainder } from '../scan/classify.js';
import { MemorySource } from '../scan/memory-source.js';
import type { Damage, DamageKind, FramedLine, RecordUnit, StreamRecord } from '../scan/types.js';
import { validateJson } from '../scan/validate.js';
import { type ByteSource, LINE, type RecordWalker } from '../scan/walker.js';
import type { BlockDigester } from './block-digests.js';
import { faultOf } from './line-fault.js';
import type { LineChecker, Oddity, OddityKind, RowMaker, SegmentSource } from './segment-types.js';
import type { Segment } from './segments.js';

export type SegmentScanOptions = {
  readonly source: SegmentSource;
  /** The same bytes once more, for lines that are looked at a second time. */
  readonly secondSource: SegmentSource;
  readonly walker: RecordWalker;
  /** Walks single records; feeds the same maker. */
  readonly sideWalker: RecordWalker;
  readonly rows: RowMaker;
  readonly checker: LineChecker | null;
  /** Takes digests of what is pulled; null takes none. */
  readonly digester: BlockDigester | null;
  readonly lineSource: LineSource;
  /** The unit that the chunk was found to hold; null lets its first record settle it. */
  readonly unit: RecordUnit | null;
  readonly segment: Segment;
};

const LF = 0x0a;

const NONE: readonly OddityKind[] = [];

/** Oddities that one segment lists. */
const MAX_LISTED_ODDITIES = 1000;

/** What was found in the lines that were settled. */
export type ScanFindings = {
  readonly damage: Damage[];
  /** The first MAX_LISTED_ODDITIES; all are counted. */
  readonly oddities: Oddity[];
  readonly oddityCounts: Partial<Record<OddityKind, number>>;
  readonly counts: ScanCounts;
};

/** Sums of a scan, in uncompressed bytes. */
export type ScanCounts = {
  records: number;
  recordBytes: number;
  damagedBytes: number;
  blankBytes: number;
};

export class SegmentScan {
  readonly #options: SegmentScanOptions;
  readonly #classifier: LineClassifier;
  #found = nothingFound();
  /** Where the last line of the chunk begins when it has no LF. */
  openLineOffset: number | null = null;
  /** First byte that was not settled. */
  position: number;
  /** A loss whose line may go on behind it. */
  #loss: Damage | null = null;
  readonly #reader: ByteSource = { read: (target) => this.#read(target) };
  /** Offset of the next byte that is pulled. */
  #readAt = 0;
  /** Bytes that the walker may still pull. */
  #bound = Number.POSITIVE_INFINITY;
  /** No line begins in the segment. */
  #isEmpty = false;

  constructor(options: SegmentScanOptions) {
    this.#options = options;
    this.#classifier = new LineClassifier(options.lineSource, options.unit);
    this.position = options.segment.start;
    this.#startAt(options.segment.start);
    if (options.segment.start > 0) this.#passForeignLine();
    this.#passSettledLines();
  }

  /** The unit of the records so far, null before the first. */
  get unit(): RecordUnit | null {
    return this.#classifier.unit;
  }

  /** What was found since the last call. */
  take(): ScanFindings {
    const found = this.#found;
    this.#found = nothingFound();
    return found;
  }

  /** Reads lines until about `bytes` more are settled; false when the segment is done. A line is never cut. */
  step(bytes: number): boolean {
    if (this.#isEmpty) return false;
    const { walker, segment } = this.#options;
    const pauseAt = this.position + bytes;
    while (this.position < pauseAt) {
      // Behind a loss comes the rest of its line, wherever the segment ends.
      if (this.position > segment.end && this.#loss === null) return false;
      const kind = walker.next();
      if (this.#endsInLoss(kind !== LINE.END)) continue;
      if (kind === LINE.END) {
        this.#settleLoss(null);
        return false;
      }
      if (kind === LINE.BAD) this.#badLine();
      else {
        this.#settleLoss(null);
        if (kind === LINE.RECORD) this.#record();
        else this.#found.counts.blankBytes += walker.lineEnd - walker.lineStart;
      }
      if (!walker.isTerminated) this.openLineOffset = walker.lineStart;
      this.position = walker.lineEnd;
    }
    return true;
  }

  /**
   * The line that reaches into the segment belongs to the one before, with every loss it runs into and the line behind.
   * A line that reaches over the whole segment leaves nothing to own, and nobody looks further for its end.
   */
  #passForeignLine(): void {
    const { walker, source, segment } = this.#options;
    for (let from = this.position; ; ) {
      this.#bound = segment.end - from;
      this.position = walker.skipLine();
      const isBounded = this.#bound <= 0;
      this.#bound = Number.POSITIVE_INFINITY;
      const { loss } = source;
      const isAtLoss = loss !== null && this.position === loss.offset;
      if ((!isAtLoss && this.position < segment.end) || this.#isLineEnd(from)) {
        // The walker took the bound for the end of the bytes.
        if (isBounded) this.#startAt(this.position);
        return;
      }
      if (!isAtLoss || loss.offset + loss.bytes >= segment.end) {
        this.#isEmpty = true;
        return;
      }
      from = loss.offset + loss.bytes;
      this.#startAt(from);
    }
  }

  /** Reads on to where the lines begin that are not settled, for the digests alone. */
  #passSettledLines(): void {
    const { walker, source, segment } = this.#options;
    const { linesFrom = 0 } = segment;
    while (this.position < linesFrom && !this.#isEmpty) {
      this.position = walker.skipLine();
      if (source.loss === null || this.position !== source.loss.offset) continue;
      // What cannot be read there was reported by who settled it.
      this.#startAt(linesFrom);
      this.position = linesFrom;
    }
  }

  /** Whether an LF stands before the position, behind `from`. */
  #isLineEnd(from: number): boolean {
    if (this.position === from) return false;
    const { secondSource } = this.#options;
    const last = new Uint8Array(1);
    secondSource.seek(this.position - 1);
    return secondSource.read(last) === 1 && last[0] === LF;
  }

  #startAt(offset: number): void {
    const { source, walker, checker } = this.#options;
    source.seek(offset);
    this.#readAt = offset;
    checker?.reset(offset);
    walker.reset(this.#reader, offset);
  }

  /** What the walker pulls: the source, up to the bound, shown to the checker. */
  #read(target: Uint8Array): number {
    const { source, checker, digester } = this.#options;
    const part = target.length > this.#bound ? target.subarray(0, this.#bound) : target;
    const read = part.length === 0 ? 0 : source.read(part);
    if (read === 0) {
      checker?.end();
      return 0;
    }
    const bytes = part.subarray(0, read);
    digester?.add(bytes, this.#readAt);
    checker?.feed(bytes);
    this.#bound -= read;
    this.#readAt += read;
    return read;
  }

  /** Whether the bytes ended at a range that cannot be read; an open line is then part of the loss. */
  #endsInLoss(hasLine: boolean): boolean {
    const { walker, source, lineSource } = this.#options;
    const { loss } = source;
    if (loss === null || (hasLine && walker.isTerminated)) return false;
    this.#settleLoss(null);
    const offset = hasLine ? walker.lineStart : loss.offset;
    const end = loss.offset + loss.bytes;
    const { file, chunk } = lineSource;
    this.#loss = { file, chunk, offset, bytes: end - offset, kind: loss.kind, recovered: false, message: loss.reason };
    this.position = end;
    this.#startAt(end);
    return true;
  }

  /** Reports the loss at hand, with the rest of its line when `content` is that. Says whether it was. */
  #settleLoss(content: LineContent | null): boolean {
    if (this.#loss === null) return false;
    const merged = content === null ? null : mergeRemainder(this.#loss, content);
    this.#report(merged ?? this.#loss);
    this.#loss = null;
    return merged !== null;
  }

  #record(): void {
    const { walker, rows, checker } = this.#options;
    const { lineStart, lineEnd } = walker;
    const verdict = checker?.verdict(lineStart);
    const fault = rows.finish() ?? verdict?.fault ?? null;
    if (fault !== null) this.#reportLine(lineStart, lineEnd, fault.kind, fault.reason);
    else this.#admit(lineStart, lineEnd, verdict?.oddities ?? NONE);
  }

  /** Gives the record that the maker has settled its row, if its unit belongs here. */
  #admit(start: number, end: number, found: readonly OddityKind[]): void {
    const { rows } = this.#options;
    const refusal = this.#classifier.admit(rows.unit);
    if (refusal !== null) {
      this.#reportLine(start, end, 'wrong_unit', refusal);
      return;
    }
    rows.writeRow(start);
    this.#found.counts.records += 1;
    this.#found.counts.recordBytes += end - start;
    if (rows.oddities.length > 0 || found.length > 0) this.#noteOddities(start, end, [...rows.oddities, ...found]);
  }

  #noteOddities(offset: number, end: number, kinds: readonly OddityKind[]): void {
    const { chunk } = this.#options.lineSource;
    for (const kind of new Set(kinds)) {
      this.#found.oddityCounts[kind] = (this.#found.oddityCounts[kind] ?? 0) + 1;
      if (this.#found.oddities.length < MAX_LISTED_ODDITIES)
        this.#found.oddities.push({ chunk, offset, bytes: end - offset, kind });
    }
  }

  #badLine(): void {
    const { walker, lineSource } = this.#options;
    const { lineStart, lineEnd } = walker;
    const line = this.#readAgain(lineStart, lineEnd);
    if (line.bytes === null && lineEnd - lineStart > lineSource.maxLineBytes + 1) {
      // Too long to be looked at in one piece, so nothing behind a torn beginning can be recovered.
      this.#settleLoss(null);
      const { kind, reason } = faultOf(walker);
      this.#reportLine(lineStart, lineEnd, kind, reason);
      return;
    }
    if (line.bytes === null) {
      this.#settleLoss(null);
      this.#reportLine(
        lineStart,
        lineEnd,
        'unreadable',
        'the line could be read once, and no more when it was looked at',
      );
      return;
    }
    const content = this.#classifier.classify(line);
    if (this.#settleLoss(content)) return;
    this.#found.counts.blankBytes += content.blankBytes;
    for (const damage of content.damage) this.#report(damage);
    for (const record of content.records) this.#recoveredRecord(record);
  }

  /** A record out of a damaged line, walked by itself. */
  #recoveredRecord(record: StreamRecord): void {
    const { sideWalker, rows, checker } = this.#options;
    const end = record.offset + record.length;
    sideWalker.reset(new MemorySource(record.bytes), record.offset);
    const isRecord = sideWalker.next() === LINE.RECORD;
    const invalid = checker === null ? null : validateJson(record.bytes);
    const fault = isRecord ? rows.finish() : faultOf(sideWalker);
    if (fault !== null) this.#reportLine(record.offset, end, fault.kind, fault.reason);
    else if (invalid !== null) {
      const reason = `${invalid.reason}, at byte ${record.offset + invalid.offset}`;
      this.#reportLine(record.offset, end, 'invalid_json', reason);
    } else this.#admit(record.offset, end, []);
  }

  #readAgain(start: number, end: number): FramedLine {
    const { walker, secondSource, lineSource } = this.#options;
    const length = end - start;
    const line = { offset: start, length, terminated: walker.isTerminated, lineNumber: 1 };
    if (length > lineSource.maxLineBytes + 1) return { ...line, bytes: null };
    const bytes = Buffer.allocUnsafe(length);
    secondSource.seek(start);
    for (let at = 0; at < length; ) {
      const read = secondSource.read(bytes.subarray(at));
      if (read === 0) return { ...line, bytes: null };
      at += read;
    }
    return { ...line, bytes };
  }

  #reportLine(start: number, end: number, kind: DamageKind, message: string): void {
    const { file, chunk } = this.#options.lineSource;
    this.#report({ file, chunk, offset: start, bytes: end - start, kind, recovered: false, message });
  }

  #report(damage: Damage): void {
    this.#found.damage.push(damage);
    this.#found.counts.damagedBytes += damage.bytes;
  }
}

function nothingFound(): ScanFindings {
  const counts = { records: 0, recordBytes: 0, damagedBytes: 0, blankBytes: 0 };
  return { damage: [], oddities: [], oddityCounts: {}, counts };
}
