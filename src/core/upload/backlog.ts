/**
 * What an upload of a growing run has read and not settled: lines of batches that are still open, and batches on their
 * way, oldest first. Tells how far the upload is behind, and when nothing is on its way. Times are handed in.
 */
import type { Batch } from './types.js';

/** Lines (rows of an index), their bytes as they travel, and how long the oldest of them has been waiting; 0 without any. */
export type BacklogTotals = { readonly rows: number; readonly bytes: number; readonly ageMs: number };

export class Backlog {
  /** Lines that are in no batch yet. `sinceMs` is that of the oldest. */
  #open = { rows: 0, bytes: 0, sinceMs: 0 };
  #underWay: { readonly rows: number; readonly bytes: number; readonly sinceMs: number }[] = [];
  #waiting: (() => void)[] = [];

  /** Since when a line has been waiting for its batch to be cut; null when none is. */
  get openSinceMs(): number | null {
    return this.#open.rows === 0 ? null : this.#open.sinceMs;
  }

  /** A line goes into a batch. */
  add(bytes: number, nowMs: number): void {
    const { rows, bytes: openBytes, sinceMs } = this.#open;
    this.#open = { rows: rows + 1, bytes: openBytes + bytes, sinceMs: rows === 0 ? nowMs : sinceMs };
  }

  /** A batch was cut of lines that were added; what is still open came about now, with the line that closed it. */
  cut({ lines, batchBytes }: Pick<Batch, 'lines' | 'batchBytes'>, nowMs: number): void {
    const { rows, bytes, sinceMs } = this.#open;
    this.#underWay.push({ rows: lines.length, bytes: batchBytes, sinceMs });
    this.#open = { rows: rows - lines.length, bytes: bytes - batchBytes, sinceMs: nowMs };
  }

  /** The oldest batch on its way came to its end, whatever that was. */
  settle(): void {
    this.#underWay.shift();
    if (this.#underWay.length > 0) return;
    for (const wake of this.#waiting.splice(0)) wake();
  }

  /** Resolves once no batch is on its way. @throws the signal's reason */
  async whenSettled(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#underWay.length === 0) return;
    await new Promise<void>((resolve) => {
      const wake = (): void => {
        signal.removeEventListener('abort', wake);
        resolve();
      };
      this.#waiting.push(wake);
      signal.addEventListener('abort', wake, { once: true });
    });
    signal.throwIfAborted();
  }

  totals(nowMs: number): BacklogTotals {
    const parts = this.#open.rows === 0 ? this.#underWay : [...this.#underWay, this.#open];
    const [oldest] = parts;
    return {
      rows: parts.reduce((sum, { rows }) => sum + rows, 0),
      bytes: parts.reduce((sum, { bytes }) => sum + bytes, 0),
      ageMs: oldest === undefined ? 0 : nowMs - oldest.sinceMs,
    };
  }
}
