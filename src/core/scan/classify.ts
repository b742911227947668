/**
 * Says what one physical line is: blank, a record, damage, or both (spec 03 section 7). The bytes of a line always
 * add up: records plus damage plus blank bytes equal its length, so that a reader can prove that it skipped nothing.
 * The check is structural and never builds the payload; what it cannot see is listed in skip.ts.
 */
import { isBlank, type Picked, type PickResult, pick } from './pick.js';
import { RECORD_SELECTOR, UNIT_SELECTOR } from './record-selector.js';
import { type RecoveredRange, recoverEpisodes } from './recover.js';
import { unitOf } from './sniff.js';
import type { Damage, DamageKind, FramedLine, RecordUnit, StreamRecord } from './types.js';
import { findInvalidUtf8, isCutCharacter } from './utf8.js';

/** Where a line comes from, and what is let through. */
export type LineSource = {
  /** Path as reports show it, relative to the run. */
  readonly file: string;
  readonly chunk: number;
  /** Accept v0 rollouts, and lines of both shapes in one file. */
  readonly lenient: boolean;
  readonly maxLineBytes: number;
  /** The units that belong here; default episodes and bare traces. */
  readonly units?: ReadonlySet<RecordUnit>;
};

/** What a line turned out to hold. All three empty or zero is impossible for a line of one byte or more. */
export type LineContent = {
  /** More than one only when records were glued together. */
  readonly records: readonly StreamRecord[];
  readonly damage: readonly Damage[];
  readonly blankBytes: number;
};

const BOM = Buffer.from([0xef, 0xbb, 0xbf]);

/** Units that can be stored; a v0 rollout is let through under `lenient` only. */
const STORABLE: ReadonlySet<RecordUnit> = new Set(['episode', 'trace']);

/** What an annotation stream holds. */
export const ANNOTATIONS: ReadonlySet<RecordUnit> = new Set(['annotation']);

const UNIT_NAMES: Readonly<Record<RecordUnit, string>> = {
  episode: 'an episode',
  trace: 'a bare trace',
  v0: 'a v0 rollout',
  annotation: 'an annotation update',
  delta: 'a live delta',
  index: 'an index row',
  unknown: 'an object of no known kind',
};

/** Classifies the lines of one chunk; the first record settles which shape the others must have. */
export class LineClassifier {
  readonly #source: LineSource;
  /** Unit of the first record, which the rest of the file must share unless lenient (spec 01, mixed files). */
  #fileUnit: RecordUnit | null;

  constructor(source: LineSource, fileUnit: RecordUnit | null = null) {
    this.#source = source;
    this.#fileUnit = fileUnit;
  }

  /** The unit of the first record seen, null before it. */
  get unit(): RecordUnit | null {
    return this.#fileUnit;
  }

  classify(line: FramedLine): LineContent {
    const { bytes } = line;
    if (bytes === null) return this.#wholeLine(line, 'line_too_large', this.#tooLarge(line));
    const end = contentEnd(bytes);
    if (isBlank(bytes, 0, end)) return { records: [], damage: [], blankBytes: line.length };
    const hasBom = line.offset === 0 && bytes.subarray(0, BOM.length).equals(BOM);
    if (hasBom) return this.#behindBom(line, bytes, end);
    return this.#content(line, bytes, 0, end);
  }

  /** The mark is damage of three bytes; the record behind it is whole and nobody's to lose (I8). */
  #behindBom(line: FramedLine, bytes: Buffer, end: number): LineContent {
    const mark = this.#damage(line, 0, BOM.length, 'bom', true, 'byte order mark before the first record, passed over');
    if (isBlank(bytes, BOM.length, end)) {
      return { records: [], damage: [mark], blankBytes: line.length - BOM.length };
    }
    const rest = this.#content(line, bytes, BOM.length, end);
    return { ...rest, damage: [mark, ...rest.damage] };
  }

  /** Classifies `bytes[start, end)`; the record or damage also accounts for the LF behind `end`. */
  #content(line: FramedLine, bytes: Buffer, start: number, end: number): LineContent {
    const facts = pick(bytes, RECORD_SELECTOR, start, end);
    const result = facts.ok ? facts : pick(bytes, UNIT_SELECTOR, start, end);
    if (result.ok && isJsonSpace(bytes, result.end, end) && !hasNul(bytes, start, end)) {
      const invalid = findInvalidUtf8(bytes, start, end);
      if (invalid < 0) return this.#record(line, bytes, start, result.root, facts.ok);
      const message = `bytes that are not UTF-8 at byte ${line.offset + invalid}`;
      return this.#fromStart(line, start, 'invalid_utf8', message);
    }
    const ranges = recoverEpisodes(bytes, start, end);
    if (ranges.length > 0) return this.#recovered(line, bytes, start, ranges);
    const { kind, message } = explain(line, bytes, end, result);
    return this.#fromStart(line, start, kind, message);
  }

  #record(line: FramedLine, bytes: Buffer, start: number, root: Picked, hasFacts: boolean): LineContent {
    const unit = unitOf(root);
    const refusal = this.admit(unit);
    if (refusal !== null) return this.#fromStart(line, start, 'wrong_unit', refusal);
    const record = this.#streamRecord(line, bytes, start, bytes.length, unit);
    // Ranges count from the beginning of the line.
    const isPicked = hasFacts && start === 0;
    return { records: [isPicked ? { ...record, root } : record], damage: [], blankBytes: 0 };
  }

  /** Lets a whole record into the file: null, or why one of this unit has no place in it. */
  admit(unit: RecordUnit): string | null {
    const units = this.#source.units ?? STORABLE;
    if (!units.has(unit) && !(unit === 'v0' && this.#source.lenient)) {
      const wanted = units === ANNOTATIONS ? 'an annotation update' : 'an episode or a bare trace';
      return `${UNIT_NAMES[unit]}, where ${wanted} belongs`;
    }
    if (this.#fileUnit !== null && this.#fileUnit !== unit && !this.#source.lenient) {
      return `${UNIT_NAMES[unit]}, in a file whose first record is ${UNIT_NAMES[this.#fileUnit]}`;
    }
    this.#fileUnit ??= unit;
    return null;
  }

  #recovered(line: FramedLine, bytes: Buffer, start: number, ranges: readonly RecoveredRange[]): LineContent {
    const refusal = this.admit('episode');
    if (refusal !== null) return this.#fromStart(line, start, 'wrong_unit', refusal);
    const first = ranges[0]?.start ?? start;
    const last = ranges.length - 1;
    const records = ranges.map((range, index) =>
      this.#streamRecord(line, bytes, range.start, index === last ? bytes.length : range.end, 'episode'),
    );
    const { kind, message } = explainGlued(bytes, start, first, records.length);
    return { records, damage: [this.#damage(line, start, first - start, kind, true, message)], blankBytes: 0 };
  }

  /** The record in `bytes[start, end)`. A whole line counts as long as its source, which may have been compacted. */
  #streamRecord(line: FramedLine, bytes: Buffer, start: number, end: number, unit: RecordUnit): StreamRecord {
    const isWhole = start === 0 && end === bytes.length;
    return {
      ...(isWhole && line.lease != null ? { lease: line.lease } : {}),
      chunk: this.#source.chunk,
      offset: line.offset + start,
      length: isWhole ? line.length : end - start,
      lineNumber: line.lineNumber,
      unit,
      bytes: isWhole ? bytes : bytes.subarray(start, end),
    };
  }

  #wholeLine(line: FramedLine, kind: DamageKind, message: string): LineContent {
    return this.#fromStart(line, 0, kind, message);
  }

  #fromStart(line: FramedLine, start: number, kind: DamageKind, message: string): LineContent {
    const damage = this.#damage(line, start, line.length - start, kind, false, message);
    return { records: [], damage: [damage], blankBytes: 0 };
  }

  #damage(
    line: FramedLine,
    start: number,
    bytes: number,
    kind: DamageKind,
    recovered: boolean,
    message: string,
  ): Damage {
    const { file, chunk } = this.#source;
    return { file, chunk, offset: line.offset + start, bytes, kind, recovered, message };
  }

  #tooLarge(line: FramedLine): string {
    const contentBytes = line.terminated ? line.length - 1 : line.length;
    return `a line of ${contentBytes} bytes, over the cap of ${this.#source.maxLineBytes}`;
  }
}

/** The rest of a line whose beginning was lost belongs to the loss; null when the next line is whole. */
export function mergeRemainder(loss: Damage, content: LineContent): Damage | null {
  const [rest] = content.damage;
  if (rest === undefined || content.records.length > 0 || rest.offset !== loss.offset + loss.bytes) return null;
  return { ...loss, bytes: loss.bytes + rest.bytes };
}

/** End of a line's content: before its LF. CR stays, it is white space to JSON. */
function contentEnd(bytes: Buffer): number {
  return bytes[bytes.length - 1] === 0x0a ? bytes.length - 1 : bytes.length;
}

type Explanation = { readonly kind: DamageKind; readonly message: string };

/** Names what stands before the records that were recovered from one line; it may be nothing but a missing LF. */
function explainGlued(bytes: Buffer, start: number, first: number, count: number): Explanation {
  if (first === start) {
    return { kind: 'glued', message: `${count} records on one line: the end of line between them is missing` };
  }
  const records = count === 1 ? 'a whole record' : `${count} whole records`;
  const before = bytes.subarray(start, first);
  if (before.every((byte) => byte === 0)) {
    return { kind: 'nul', message: `${before.length} NUL bytes before ${records} on one line` };
  }
  const message = `a torn record of ${before.length} bytes before ${records} on one line, as an interrupted append leaves it`;
  return { kind: 'glued', message };
}

/** Whether only JSON white space follows a value: VT and FF make a line blank, but no JSON. */
function isJsonSpace(bytes: Buffer, start: number, end: number): boolean {
  for (let position = start; position < end; position += 1) {
    const byte = bytes[position];
    if (byte !== 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0d) return false;
  }
  return true;
}

/** A raw NUL is no JSON anywhere, but a skip passes over it outside strings. */
function hasNul(bytes: Buffer, start: number, end: number): boolean {
  const nul = bytes.indexOf(0, start);
  return nul >= 0 && nul < end;
}

/** Names the damage of a line that holds no record at all. */
function explain(line: FramedLine, bytes: Buffer, end: number, result: PickResult): Explanation {
  if (hasNul(bytes, 0, end)) return explainNul(line, bytes, end);
  if (result.ok) {
    const extra = end - result.end;
    return {
      kind: 'trailing',
      message: `${extra} bytes after the end of the value at byte ${line.offset + result.end}`,
    };
  }
  const invalid = findInvalidUtf8(bytes, 0, end);
  if (invalid >= 0 && invalid < result.offset && !isCutCharacter(bytes, invalid, end)) {
    return { kind: 'invalid_utf8', message: `bytes that are not UTF-8 at byte ${line.offset + invalid}` };
  }
  const where = `${result.reason}, at byte ${line.offset + result.offset}`;
  if (result.offset < end) return { kind: 'invalid_json', message: where };
  const ending = line.terminated ? 'the line ends before its record does' : 'the file ends before its last record does';
  return { kind: 'torn', message: `${ending}: ${where}` };
}

function explainNul(line: FramedLine, bytes: Buffer, end: number): Explanation {
  const nul = bytes.indexOf(0);
  let count = 0;
  for (let position = nul; position < end; position += 1) if (bytes[position] === 0) count += 1;
  const message = `${count} NUL bytes from byte ${line.offset + nul} on, as a power loss or preallocation leaves them`;
  return { kind: 'nul', message };
}
