/**
 * The bytes of a journal: a header and length-framed records, each with its own checksums, so that a torn tail can be
 * told from damage and neither is ever taken for data (reliability.md U5). Pure: bytes in, records out.
 *
 * File:   magic "prljrnl\n" (8) | version u32 | CRC-32 of those 12 bytes u32
 * Record: payload length u32 | CRC-32 of the length's 4 bytes u32 | CRC-32 of the payload u32 | payload, JSON in UTF-8
 * All integers are little-endian.
 */
import type { Damage, LineFormat } from '../scan/types.js';
import type { BatchRange, Island, RejectedLine } from './types.js';

export const JOURNAL_VERSION = 1;

/** CRC-32 as of zlib: an unsigned 32-bit number. */
export type Crc32 = (bytes: Buffer) => number;

/**
 * A stored or planned range as JSON: `tail` in base64. `file` is the chunk's lasting name: numbers of some layouts are
 * positions, which shift when a file appears.
 */
export type RangeEntry = {
  readonly file: string;
  readonly start: number;
  readonly end: number;
  readonly physicalLines: number | null;
  readonly format: LineFormat;
  readonly lines: number;
  readonly sentBytes: number;
  readonly digest: string;
  readonly tail: string;
  /** Digests of the lines, one behind the other, each `LINE_DIGEST_CHARACTERS` long; empty for a cut not yet stored. */
  readonly lineDigests: string;
  /** Stored by `--retry-rejected`: the lines of the range are rejected no more. */
  readonly isRetry?: boolean;
  /** What of the range the entry is about; all of it where they are left out. */
  readonly islands?: readonly Island[];
};

/** Where an upload goes; two uploads that differ here share nothing. */
export type Destination = {
  readonly baseUrl: string;
  readonly teamId: string | null;
  readonly context: Readonly<Record<string, string>>;
  /** `--run-id`, or null when records name their own; `unstamped` with `--no-stamp`. */
  readonly stamp: string | null | { readonly unstamped: true };
};

/** A file as it was when an upload began to read it: unchanged since, its bytes are those the journal knows. */
export type SourceIdentity = {
  readonly isPlain: boolean;
  readonly inode: string;
  readonly sizeBytes: number;
  /** Time of the last change of content or attributes, which no program sets: nanoseconds since the epoch. */
  readonly changedNs: string;
  /** Changed so shortly before it was looked at that the next change may bear the same time. */
  readonly isFresh: boolean;
};

/** One fact. `to` is the key of its destination. */
export type JournalEntry =
  | { readonly kind: 'destination'; readonly to: string; readonly destination: Destination }
  | { readonly kind: 'planned' | 'stored'; readonly to: string; readonly range: RangeEntry }
  | { readonly kind: 'rejected'; readonly to: string; readonly file: string; readonly line: RejectedLine }
  | { readonly kind: 'damage'; readonly to: string; readonly file: string; readonly damage: Damage }
  | { readonly kind: 'seen'; readonly to: string; readonly file: string; readonly identity: SourceIdentity }
  | { readonly kind: 'forgotten'; readonly to: string; readonly file: string };

/**
 * - `intact`: every byte belongs to a whole record; a file of 0 bytes counts too.
 * - `torn`: the last append did not get through; everything before `validBytes` stands.
 * - `damaged`: bytes that no interrupted append leaves behind; everything before `validBytes` stands.
 * - `foreign`: not a journal, or of a version this prl does not know; `validBytes` is 0.
 */
export type Decoded = {
  readonly state: 'intact' | 'torn' | 'damaged' | 'foreign';
  readonly entries: readonly JournalEntry[];
  readonly validBytes: number;
  /** What is wrong, with its offset; empty when intact. */
  readonly reason: string;
};

const MAGIC = Buffer.from('prljrnl\n');
/** 96 bits of SHA-256 in base64: two lines of a run share them by chance in no run there will ever be. */
export const LINE_DIGEST_CHARACTERS = 16;

const HEADER_BYTES = 16;
const FRAME_BYTES = 12;
/** Above a batch of the most lines, each an island and with its digest; more is damage, whatever the checksum says. */
const MAX_PAYLOAD_BYTES = 64 * 1024 * 1024;

export function encodeHeader(crc32: Crc32): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  MAGIC.copy(header);
  header.writeUInt32LE(JOURNAL_VERSION, 8);
  header.writeUInt32LE(crc32(header.subarray(0, 12)), 12);
  return header;
}

export function encodeEntry(entry: JournalEntry, crc32: Crc32): Buffer {
  const payload = Buffer.from(JSON.stringify(entry));
  const record = Buffer.allocUnsafe(FRAME_BYTES + payload.length);
  record.writeUInt32LE(payload.length, 0);
  record.writeUInt32LE(crc32(record.subarray(0, 4)), 4);
  record.writeUInt32LE(crc32(payload), 8);
  payload.copy(record, FRAME_BYTES);
  return record;
}

/** Reads a whole journal. Never throws, whatever the bytes. */
export function decodeJournal(bytes: Buffer, crc32: Crc32): Decoded {
  const header = headerState(bytes, crc32);
  if (header !== null) return { entries: [], validBytes: 0, ...header };
  const entries: JournalEntry[] = [];
  let at = HEADER_BYTES;
  while (at < bytes.length) {
    const record = decodeRecord(bytes, at, crc32);
    if (!record.ok) return { state: record.state, entries, validBytes: at, reason: `${record.reason} at byte ${at}` };
    entries.push(record.entry);
    at = record.end;
  }
  return { state: 'intact', entries, validBytes: at, reason: '' };
}

export function toRangeEntry(range: BatchRange, file: string): RangeEntry {
  const { start, end, physicalLines, format, lines, sentBytes, digest, islands } = range;
  const tail = range.tail.toString('base64');
  return {
    file,
    start,
    end,
    physicalLines,
    format,
    lines,
    sentBytes,
    digest,
    tail,
    lineDigests: range.lineDigests.join(''),
    ...(islands === undefined ? {} : { islands }),
  };
}

/** The digests of a range's lines, in order. */
export function* lineDigestsOf({ lineDigests }: Pick<RangeEntry, 'lineDigests'>): Generator<string> {
  for (let at = 0; at < lineDigests.length; at += LINE_DIGEST_CHARACTERS) {
    yield lineDigests.slice(at, at + LINE_DIGEST_CHARACTERS);
  }
}

type Fault = { readonly state: 'torn' | 'damaged' | 'foreign'; readonly reason: string };

function headerState(bytes: Buffer, crc32: Crc32): (Omit<Fault, 'state'> & { state: Decoded['state'] }) | null {
  if (bytes.length === 0) return { state: 'intact', reason: '' };
  const expected = encodeHeader(crc32);
  if (bytes.length < HEADER_BYTES) {
    const isTorn = expected.subarray(0, bytes.length).equals(bytes) || isZero(bytes, 0);
    return isTorn
      ? { state: 'torn', reason: 'header cut off at byte 0' }
      : { state: 'foreign', reason: 'not a journal' };
  }
  if (expected.equals(bytes.subarray(0, HEADER_BYTES))) return null;
  if (isZero(bytes, 0)) return { state: 'torn', reason: 'zeros at byte 0' };
  const isChecked = crc32(bytes.subarray(0, 12)) === bytes.readUInt32LE(12);
  const isOurs = MAGIC.equals(bytes.subarray(0, MAGIC.length)) && isChecked;
  const reason = isOurs ? `version ${bytes.readUInt32LE(8)}, known is ${JOURNAL_VERSION}` : 'no journal header';
  return { state: 'foreign', reason };
}

type RecordResult =
  | { readonly ok: true; readonly entry: JournalEntry; readonly end: number }
  | ({ readonly ok: false } & Fault);

function decodeRecord(bytes: Buffer, at: number, crc32: Crc32): RecordResult {
  // A power loss can leave an extended file without its data.
  if (isZero(bytes, at)) return { ok: false, state: 'torn', reason: 'zeros' };
  if (bytes.length - at < FRAME_BYTES) return { ok: false, state: 'torn', reason: 'frame cut off' };
  const payloadBytes = bytes.readUInt32LE(at);
  if (crc32(bytes.subarray(at, at + 4)) !== bytes.readUInt32LE(at + 4) || payloadBytes > MAX_PAYLOAD_BYTES) {
    return { ok: false, state: 'damaged', reason: 'wrong frame' };
  }
  const end = at + FRAME_BYTES + payloadBytes;
  if (end > bytes.length) return { ok: false, state: 'torn', reason: 'record cut off' };
  const payload = bytes.subarray(at + FRAME_BYTES, end);
  if (crc32(payload) !== bytes.readUInt32LE(at + 8)) {
    // The frame can be durable before the payload when power fails in between.
    const isLast = end === bytes.length;
    return { ok: false, state: isLast ? 'torn' : 'damaged', reason: 'wrong checksum' };
  }
  return { ok: true, entry: JSON.parse(payload.toString()) as JournalEntry, end };
}

function isZero(bytes: Buffer, from: number): boolean {
  return bytes.subarray(from).every((byte) => byte === 0);
}
