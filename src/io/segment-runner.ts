/** What one thread needs to scan segments: the walkers and the memory of the rows, made once and used for all of them. */

import { messageOf } from '../core/errors.js';
import { BlockDigester } from '../core/index/block-digests.js';
import { RowBuffer } from '../core/index/row-buffer.js';
import { RowBuilder } from '../core/index/row-builder.js';
import { SegmentScan } from '../core/index/segment-scan.js';
import type { LineChecker, RowFault, SegmentSource } from '../core/index/segment-types.js';
import { StrictCheck } from '../core/index/strict-check.js';
import type { RecordTape, TapeSink } from '../core/scan/record-tape.js';
import { TextWalker } from '../core/scan/text-walker.js';
import type { RecordWalker } from '../core/scan/walker.js';
import { WasmValidator } from '../core/scan/wasm-validator.js';
import type { FrameMap } from '../core/stream/frame-map.js';
import { MAX_LINE_BYTES } from '../core/upload/limits.js';
import { openWalker } from './open-walker.js';
import { RowRecords } from './row-records.js';
import type { ChunkFile } from './run-types.js';
import { readFrames } from './scan-chunk.js';
import type { RowSettings, ScanChunk, SegmentJob, SegmentResult } from './scan-types.js';
import type { RecordRows } from './slow-scan.js';
import { PlainSource, SealedSource } from './sync-source.js';
import { TokenWalker } from './token-walk.js';
import { wasmModule } from './wasm-modules.js';

/** Hands tapes on to whoever is at work, so that one walker serves many segments. */
class Switch implements TapeSink {
  target: TapeSink | null = null;

  beginRecord(): void {
    this.target?.beginRecord();
  }

  take(tape: RecordTape, entries: number): void {
    this.target?.take(tape, entries);
  }
}

export class SegmentRunner {
  readonly #sink = new Switch();
  readonly #walker: RecordWalker = openWalker(this.#sink);
  #sideWalker: RecordWalker | null = null;
  #checker: LineChecker | null = null;
  #builder: { readonly settings: RowSettings; readonly builder: RowBuilder } | null = null;
  readonly #buffer = new RowBuffer(1_048_576);
  #frames: { readonly file: string; readonly descriptor: number; readonly frames: FrameMap } | null = null;
  readonly #open = new WeakMap<SegmentScan, { readonly rows: RowRecords; readonly digester: BlockDigester | null }>();

  /** Starts on a segment; the one before must be done, its results taken. */
  open(job: SegmentJob): SegmentScan {
    const { chunk, segment, unit, settings } = job;
    const rows = new RowRecords(this.#builderFor(settings), chunk.rowChunk, this.#buffer);
    this.#sink.target = rows;
    this.#sideWalker ??= new TextWalker({ sink: this.#sink, windowBytes: 65_536 });
    const { digest } = this.#walker;
    const digester = digest === null || !settings.hasDigests ? null : new BlockDigester(digest, segment, chunk.bytes);
    const scan = new SegmentScan({
      source: this.#source(chunk),
      secondSource: this.#source(chunk),
      walker: this.#walker,
      sideWalker: this.#sideWalker,
      rows,
      checker: settings.isStrict ? this.#strictCheck() : null,
      digester,
      lineSource: { file: chunk.file, chunk: chunk.chunk, lenient: false, maxLineBytes: MAX_LINE_BYTES },
      unit,
      segment,
    });
    this.#open.set(scan, { rows, digester });
    return scan;
  }

  /** What a scan has found since the last call, in memory of its own. */
  take(scan: SegmentScan): SegmentResult {
    const open = this.#open.get(scan);
    if (open === undefined) throw new Error('a scan of another runner');
    const { position, openLineOffset, unit } = scan;
    const digests = open.digester?.take() ?? new Uint32Array(0);
    return { ...open.rows.takeBatch(), ...scan.take(), digests, position, openLineOffset, unit };
  }

  /** Rows of records that are read one by one. A document's are walked token by token, whatever they are made of. */
  openRecords(file: ChunkFile, rowChunk: number | null, settings: RowSettings): RecordRows {
    const rows = new RowRecords(this.#builderFor(settings), rowChunk, this.#buffer);
    return new WalkedRecords(rows, file.chunk);
  }

  #builderFor(settings: RowSettings): RowBuilder {
    const { tokens, mode, isBothCounts: bothCounts } = settings;
    const known = this.#builder;
    const isSame = tokens === known?.settings.tokens && mode === known.settings.mode;
    if (known !== null && isSame && bothCounts === known.settings.isBothCounts) return known.builder;
    const builder = new RowBuilder({ tokens, mode, bothCounts });
    this.#builder = { settings, builder };
    return builder;
  }

  #strictCheck(): LineChecker {
    this.#checker ??= new StrictCheck(new WasmValidator(wasmModule('validator')));
    return this.#checker;
  }

  #source(chunk: ScanChunk): SegmentSource {
    if (chunk.form === 'plain') return new PlainSource(chunk.descriptor, chunk.bytes);
    const { file, descriptor } = chunk;
    if (this.#frames?.file !== file || this.#frames.descriptor !== descriptor) {
      const frames = readFrames(descriptor, chunk.fileBytes);
      if (frames === null) throw new Error(`${file} lost its seek table while it was read`);
      this.#frames = { file, descriptor, frames };
    }
    return new SealedSource(descriptor, this.#frames.frames);
  }
}

class WalkedRecords implements RecordRows {
  readonly #rows: RowRecords;
  readonly #chunk: number;
  readonly #walker: TokenWalker;
  #oddities: SegmentResult['oddities'][number][] = [];
  #oddityCounts: SegmentResult['oddityCounts'] = {};

  constructor(rows: RowRecords, chunk: number) {
    this.#rows = rows;
    this.#chunk = chunk;
    this.#walker = new TokenWalker(rows);
  }

  add(bytes: Buffer, offset: number, length: number): RowFault | null {
    try {
      this.#walker.walk(bytes);
    } catch (error) {
      return { kind: 'invalid_json', reason: messageOf(error) };
    }
    const fault = this.#rows.finish();
    if (fault !== null) return fault;
    this.#rows.writeRow(offset);
    for (const kind of this.#rows.oddities) {
      this.#oddityCounts = { ...this.#oddityCounts, [kind]: (this.#oddityCounts[kind] ?? 0) + 1 };
      this.#oddities.push({ chunk: this.#chunk, offset, bytes: length, kind });
    }
    return null;
  }

  take(): ReturnType<RecordRows['take']> {
    const [oddities, oddityCounts] = [this.#oddities, this.#oddityCounts];
    this.#oddities = [];
    this.#oddityCounts = {};
    return { ...this.#rows.takeBatch(), oddities, oddityCounts };
  }
}
