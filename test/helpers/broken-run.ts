/**
 * A run with every kind of damage at known places, of any size and from a seed: production-shaped episodes over sealed
 * and plain chunks. It says exactly what each reader must report, and which records it must still give. Two kinds are
 * not in it: `unreadable` needs a disk that fails, and `line_too_large` is the reader's own cap.
 */
import { closeSync, mkdirSync, openSync, truncateSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { DamageKind } from '../../src/core/scan/types.js';
import { EpisodeSource } from './shape-episode.js';
import { ChunkWriter, chunkName, FRAME_BYTES } from './shapes.js';

/** `records` is readRecords, `index` is `prl index`, `strict` is `prl index --strict`. */
export type Reader = 'records' | 'index' | 'strict';

export type ExpectedRecord = { readonly chunk: number; readonly offset: number; readonly bytes: number };

export type ExpectedDamage = ExpectedRecord & { readonly kind: DamageKind; readonly recovered: boolean };

/** A part of a chunk: a record when `damage` is null or the reader does not see it. */
type Place = ExpectedRecord & {
  readonly damage: {
    readonly kind: DamageKind;
    readonly recovered: boolean;
    readonly seenBy: readonly Reader[];
  } | null;
};

type Seen = { readonly recovered?: boolean; readonly seenBy?: readonly Reader[] };

type ChunkOptions = { readonly isSealed: boolean; readonly frameBytes: number; readonly source: EpisodeSource };

export type BrokenRun = {
  /** Uncompressed bytes that were written, those behind a cut included. */
  readonly bytes: number;
  readonly places: readonly Place[];
};

export type BrokenRunOptions = {
  /** Of the whole run, about; default 4 MiB, and not less: 40 lines that are damaged need some between them. */
  readonly bytes?: number;
  /** Default 1. */
  readonly seed?: number;
};

/** What a reader must report, by chunk and offset. */
export function damageSeenBy(run: BrokenRun, reader: Reader): ExpectedDamage[] {
  return run.places.flatMap(({ chunk, offset, bytes, damage }) => {
    if (damage?.seenBy.includes(reader) !== true) return [];
    return [{ chunk, offset, bytes, kind: damage.kind, recovered: damage.recovered }];
  });
}

/** The records that a reader must give, by chunk and offset. */
export function recordsSeenBy(run: BrokenRun, reader: Reader): ExpectedRecord[] {
  return run.places
    .filter(({ damage }) => damage === null || !damage.seenBy.includes(reader))
    .map(({ chunk, offset, bytes }) => ({ chunk, offset, bytes }));
}

const LF = Buffer.from('\n');
const MIB = 1_048_576;
const EVERYONE: readonly Reader[] = ['records', 'index', 'strict'];
/** What only stands on the paths that rows are made from. */
const INDEX: readonly Reader[] = ['index', 'strict'];
const STRICT: readonly Reader[] = ['strict'];

/** Chunk 0 sealed, 1 sealed and cut, 2 missing, 3 and 4 plain. */
export function writeBrokenRun(directory: string, { bytes = 4 * MIB, seed = 1 }: BrokenRunOptions = {}): BrokenRun {
  const stream = join(directory, 'monitors', 'file', 'traces', 'stream');
  mkdirSync(stream, { recursive: true });
  const episodeBytes = Math.min(8_000_000, bytes / 128);
  const frameBytes = episodeBytes < MIB ? 65_536 : FRAME_BYTES;
  const source = new EpisodeSource('A', { seed, episodeBytes });
  const options = { isSealed: false, frameBytes, source };
  const sealed = { ...options, isSealed: true };
  const chunks = [
    new BrokenChunk(stream, 0, sealed),
    new BrokenChunk(stream, 1, sealed),
    new BrokenChunk(stream, 3, options),
    new BrokenChunk(stream, 4, options),
  ] as const;
  writeSealed(chunks[0], bytes / 4);
  writeCut(chunks[1], bytes / 8);
  writeDamagedLines(chunks[2], bytes / 2);
  chunks[3].good(bytes / 8);
  chunks[3].damaged(chunks[3].cutLine(0.4), 'torn');
  chunks[3].close();
  const hole: Place = { chunk: 2, offset: 0, bytes: 0, damage: { kind: 'hole', recovered: false, seenBy: EVERYONE } };
  const places = [...chunks.flatMap((chunk) => chunk.places), hole];
  places.sort((a, b) => a.chunk - b.chunk || a.offset - b.offset);
  return { bytes: chunks.reduce((sum, chunk) => sum + chunk.bytes, 0), places };
}

/** A frame in the middle does not decompress, and the last line is torn. */
function writeSealed(chunk: BrokenChunk, bytes: number): void {
  chunk.good(bytes);
  chunk.damaged(chunk.cutLine(0.5), 'torn');
  chunk.close();
  chunk.breakFrame();
}

/** The file ends inside a frame, so it has no seek table. */
function writeCut(chunk: BrokenChunk, bytes: number): void {
  chunk.good(bytes);
  chunk.close();
  chunk.cutFile();
}

const WRONG_UNITS: readonly string[] = [
  '{"version":1,"id":"t1","nodes":[{"message":{"role":"user","content":"x"}}],"calls":[]}',
  '{"cost":null,"line":1,"offset":0,"id":"e1","kind":"train","trace_ids":["t1"],"chunk":0}',
  '{"trace":"t1","nodes":[],"calls":[]}',
  '{"version":1,"trace_id":"t1","info":{"effective":true},"branches":[]}',
  '{"trajectory":[],"reward":1.0}',
  '{"neither":"one nor the other"}',
  '[{"id":"e1"}]',
];

function writeDamagedLines(chunk: BrokenChunk, bytes: number): void {
  chunk.damaged(Buffer.from([0xef, 0xbb, 0xbf]), 'bom', { recovered: true });
  chunk.record(chunk.line());
  writeTornAndGlued(chunk);
  chunk.good(bytes / 4);
  writeBadBytes(chunk);
  chunk.good(bytes / 2);
  writeBadJson(chunk);
  chunk.good((3 * bytes) / 4);
  for (const text of WRONG_UNITS) {
    chunk.damaged(Buffer.from(`${text}\n`), 'wrong_unit');
    chunk.record(chunk.line());
  }
  writeHarmless(chunk);
  chunk.good(bytes);
  chunk.close();
}

function writeTornAndGlued(chunk: BrokenChunk): void {
  chunk.damaged(chunk.cutLine(0.6), 'glued', { recovered: true });
  chunk.record(chunk.line());
  chunk.damaged(Buffer.concat([chunk.cutLine(0.3), LF]), 'torn');
  chunk.record(chunk.line());
  chunk.damaged(Buffer.concat([chunk.line().subarray(0, -1), Buffer.from(' #garbage\n')]), 'trailing');
  // Two records and no LF between them: nothing is lost, and the damage has no bytes.
  chunk.damaged(Buffer.alloc(0), 'glued', { recovered: true });
  chunk.record(chunk.line().subarray(0, -1));
  chunk.record(chunk.line());
}

function writeBadBytes(chunk: BrokenChunk): void {
  const nuls = Buffer.alloc(64);
  chunk.damaged(Buffer.concat([Buffer.alloc(4_096), LF]), 'nul');
  chunk.damaged(Buffer.alloc(512), 'nul', { recovered: true });
  chunk.record(chunk.line());
  chunk.damaged(chunk.overwritten('"content":"', nuls), 'nul');
  chunk.damaged(chunk.overwritten('"token_ids":[', nuls), 'nul');
  chunk.damaged(chunk.overwritten('{"id":"', Buffer.from([0xff])), 'invalid_utf8');
  const payload = chunk.overwritten('"content":"', Buffer.from([0xff]));
  chunk.damaged(payload, 'invalid_utf8', { seenBy: ['records', 'strict'] });
}

/** What replaces the bytes behind the first place of the key text, and who sees it. */
const BAD_JSON: readonly (readonly [after: string, text: string, seenBy: readonly Reader[]])[] = [
  ['"ok":', 'tru ', EVERYONE],
  ['"content":"', '\x01', EVERYONE],
  ['"mask":[', '}', EVERYONE],
  ['"prompt_tokens":', 'x', INDEX],
  ['"role":"assistant"', ' ', INDEX],
  ['"sampled":', 'nope', INDEX],
  ['"token_ids":[', ',', STRICT],
  ['"content":"', '\\x', STRICT],
  ['"sampling":{"temperature"', ',', STRICT],
];

function writeBadJson(chunk: BrokenChunk): void {
  for (const [after, text, seenBy] of BAD_JSON) {
    chunk.damaged(chunk.overwritten(after, Buffer.from(text)), 'invalid_json', { seenBy });
  }
}

/** What may be odd, but costs no record. */
function writeHarmless(chunk: BrokenChunk): void {
  for (const blank of ['\n', ' \t\n', '\r\n']) chunk.blank(Buffer.from(blank));
  const twice = Buffer.from(chunk.line());
  chunk.record(twice);
  chunk.record(twice);
  chunk.record(Buffer.concat([chunk.line().subarray(0, -1), Buffer.from('\r\n')]));
  chunk.record(chunk.inserted('"errors":[],', '"ok":false,"ok":true,'));
  chunk.record(chunk.inserted('"metrics":{', '"odd":NaN,'));
  chunk.record(chunk.inserted('"usage":{', '"cost":NaN,'));
}

/** One chunk, and what stands where in it. */
class BrokenChunk {
  readonly #path: string;
  readonly #chunk: number;
  readonly #frameBytes: number;
  readonly #writer: ChunkWriter;
  readonly #source: EpisodeSource;
  #places: Place[] = [];

  constructor(stream: string, chunk: number, options: ChunkOptions) {
    this.#path = join(stream, chunkName(chunk, options.isSealed));
    this.#chunk = chunk;
    this.#frameBytes = options.frameBytes;
    this.#writer = new ChunkWriter(this.#path, options.isSealed, options.frameBytes);
    this.#source = options.source;
  }

  get bytes(): number {
    return this.#writer.bytes;
  }

  get places(): readonly Place[] {
    return this.#places;
  }

  /** A whole line, to be copied or written before the next is asked for. */
  line(): Buffer {
    return this.#source.next();
  }

  /** The beginning of a line, which may end inside a character. */
  cutLine(share: number): Buffer {
    const line = this.line();
    return Buffer.from(line.subarray(0, Math.floor(line.length * share)));
  }

  /** A line whose bytes behind the first `after` are others. */
  overwritten(after: string, bytes: Buffer): Buffer {
    const line = Buffer.from(this.line());
    bytes.copy(line, behind(line, after));
    return line;
  }

  /** A line that is longer by `text` behind the first `after`. */
  inserted(after: string, text: string): Buffer {
    const line = this.line();
    const at = behind(line, after);
    return Buffer.concat([line.subarray(0, at), Buffer.from(text), line.subarray(at)]);
  }

  record(line: Buffer): void {
    this.#push(line, null);
  }

  /** Whole records until the chunk has `bytes`. */
  good(bytes: number): void {
    while (this.bytes < bytes) this.record(this.line());
  }

  damaged(bytes: Buffer, kind: DamageKind, { recovered = false, seenBy = EVERYONE }: Seen = {}): void {
    this.#push(bytes, { kind, recovered, seenBy });
  }

  blank(bytes: Buffer): void {
    this.#writer.push(bytes);
  }

  close(): void {
    this.#writer.close();
  }

  /** Makes the frame in the middle of the closed chunk unreadable. */
  breakFrame(): void {
    const { frames } = this.#writer;
    const broken = frames.length >> 1;
    const frame = frames[broken] as { compressedBytes: number; bytes: number };
    const file = openSync(this.#path, 'r+');
    writeSync(file, Buffer.alloc(8, 0xff), 0, 8, this.#compressedOffset(broken) + (frame.compressedBytes >> 1));
    closeSync(file);
    const start = broken * this.#frameBytes;
    const end = start + frame.bytes;
    const lineEnd = endOf(this.#places.findLast((place) => place.offset < end) as Place);
    // A rest that is nothing but an LF is a blank line.
    this.#lose(start, lineEnd - end === 1 ? end : lineEnd);
  }

  /** Cuts the closed chunk in the middle of its last frame but one. */
  cutFile(): void {
    const { frames } = this.#writer;
    const cut = frames.length - 2;
    const frame = frames[cut] as { compressedBytes: number };
    truncateSync(this.#path, this.#compressedOffset(cut) + (frame.compressedBytes >> 1));
    const start = cut * this.#frameBytes;
    this.#lose(start, start);
    this.#places = this.#places.filter((place) => place.offset <= start);
  }

  #push(bytes: Buffer, damage: Place['damage']): void {
    this.#places.push({ chunk: this.#chunk, offset: this.bytes, bytes: bytes.length, damage });
    this.#writer.push(bytes);
  }

  /** The lines that bytes from `start` on belong to are lost up to `end`, from where the first of them begins. */
  #lose(start: number, end: number): void {
    const { offset } = this.#places.find((place) => endOf(place) > start) as Place;
    const lost: Place = {
      chunk: this.#chunk,
      offset,
      bytes: end - offset,
      damage: { kind: 'corrupt_frame', recovered: false, seenBy: EVERYONE },
    };
    const isKept = (place: Place): boolean => endOf(place) <= offset || place.offset >= end;
    this.#places = [...this.#places.filter(isKept), lost];
  }

  #compressedOffset(frame: number): number {
    return this.#writer.frames.slice(0, frame).reduce((sum, { compressedBytes }) => sum + compressedBytes, 0);
  }
}

function endOf(place: Place): number {
  return place.offset + place.bytes;
}

function behind(line: Buffer, text: string): number {
  const at = line.indexOf(text);
  if (at < 0) throw new Error(`no ${text} in a line of ${line.length} bytes`);
  return at + text.length;
}
