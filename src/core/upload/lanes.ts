/**
 * The batches that are open while a run is read: one that the rules may cut, and one for each planned cut that is being
 * repeated (U2). They stand side by side, since lines that a filter left out of a cut lie between those of the cut; a
 * line behind one that is not its batch's says so, and the range of the batch is settled around it.
 */
import { Batcher, type BatcherOptions, type Candidate, type Pushed } from './batcher.js';
import type { Address } from './resume.js';
import type { Batch, Cut } from './types.js';
import type { OpenLines } from './upload-memory.js';

type Lane = {
  readonly batcher: Batcher;
  /** Null for what the rules may cut. */
  readonly cut: Cut | null;
  chunk: number;
  /** Of the line that came last, among all that are not blank to a batch; 0 before the first. */
  position: number;
  /** Since its last line came one that is not its own. */
  hasGap: boolean;
};

export class Lanes {
  readonly #options: BatcherOptions;
  readonly #free: Lane;
  /** In the order they were opened. */
  #cuts: Lane[] = [];
  #position = 0;

  /** @throws PrlError `PRL_ERR_USAGE` for a bad batch size */
  constructor(options: BatcherOptions) {
    this.#options = options;
    this.#free = this.#open(null, -1);
  }

  /** Notes a line, or several, that belong to no batch of this upload, and that no batch around them may settle. */
  pass(): void {
    this.#position += 1;
  }

  /** Batches that end before a record: of an earlier chunk, of a planned cut that lies before it, free ones before a cut. */
  closedBefore({ chunk, offset }: Address, cut: Cut | null): Batch[] {
    const isOpening = cut !== null && !this.#cuts.some((lane) => lane.cut === cut);
    return this.#close((lane) => {
      if (lane.chunk !== chunk) return true;
      return lane.cut === null ? isOpening : offset >= lane.cut.end;
    });
  }

  /** Takes the next line of the input into the batch of its cut. */
  push(candidate: Candidate, cut: Cut | null): Pushed {
    const { line } = candidate;
    const lane = this.#laneOf(line.chunk, cut);
    lane.hasGap ||= lane.position !== this.#position;
    this.#position += 1;
    lane.position = this.#position;
    const placed = lane.hasGap ? { ...candidate, line: { ...line, isBehindGap: true } } : candidate;
    const pushed = lane.batcher.push(placed, cut !== null);
    // The gap before a line that is left out is one before the next line as well.
    if (pushed.rejected === null) lane.hasGap = false;
    return pushed;
  }

  /** Lines that are in no closed batch yet, and their bytes. */
  get open(): OpenLines {
    const open = { lines: 0, bytes: 0 };
    for (const { batcher } of [this.#free, ...this.#cuts]) {
      open.lines += batcher.openLines;
      open.bytes += batcher.openBytes;
    }
    return open;
  }

  /** Everything that is still open. */
  closeAll(): Batch[] {
    return this.#close(() => true);
  }

  #laneOf(chunk: number, cut: Cut | null): Lane {
    const known = cut === null ? this.#free : this.#cuts.find((lane) => lane.cut === cut);
    if (known !== undefined) {
      known.chunk = chunk;
      return known;
    }
    const lane = this.#open(cut, chunk);
    this.#cuts.push(lane);
    return lane;
  }

  #open(cut: Cut | null, chunk: number): Lane {
    return { batcher: new Batcher(this.#options), cut, chunk, position: 0, hasGap: false };
  }

  #close(isOver: (lane: Lane) => boolean): Batch[] {
    const over = [this.#free, ...this.#cuts].filter(isOver);
    this.#cuts = this.#cuts.filter((lane) => !over.includes(lane));
    return over.flatMap(({ batcher }) => batcher.flush() ?? []);
  }
}
