/**
 * `--verify` of one run: collects what every stored line must come back as, then reads it back. Lines are noted while they
 * are at hand; those that an earlier upload stored are looked up in the run once more.
 */
import { createHash } from 'node:crypto';
import type { LineFormat } from '../core/scan/types.js';
import type { RunStamp } from '../core/stream/stamp.js';
import { prepareRecord } from '../core/upload/prepare.js';
import type { Batch, BatchLine } from '../core/upload/types.js';
import { expectationOf, Verification, type VerifyResult } from '../core/upload/verify.js';
import { monotonicClock } from './clock.js';
import type { Journal } from './journal.js';
import { readBack } from './read-back.js';
import { readRecords } from './run-records.js';
import type { Run } from './run-types.js';
import type { ServiceAccess } from './sender.js';
import { TracesReader } from './traces-reader.js';

/** Episodes read back and episodes expected. */
export type VerifyProgress = { readonly done: number; readonly total: number };

export class RunVerification {
  readonly #verification = new Verification();
  #progress: VerifyProgress | null = null;

  /** Null until reading back has begun. */
  get progress(): VerifyProgress | null {
    return this.#progress;
  }

  /** Notes the uploads that stored lines before; what they stored is told line by line. */
  addUploads(uploadIds: Iterable<string>): void {
    for (const uploadId of uploadIds) this.#verification.addUpload(uploadId);
  }

  expectBatch(batch: Batch, uploadId: string): void {
    this.#verification.addUpload(uploadId);
    for (const line of batch.lines) this.expectLine(batch.format, line);
  }

  expectLine(format: LineFormat, line: BatchLine): void {
    this.#verification.expect(expectationOf(format, line, sha256));
  }

  /** Notes what the journal says is stored already. @throws the signal's reason on abort */
  async expectSettled(run: Run, journal: Journal, stamp: RunStamp | null, signal: AbortSignal): Promise<void> {
    this.addUploads(journal.lines.uploadIds());
    for await (const event of readRecords(run, { signal })) {
      if (event.type !== 'record' || journal.resume.placementOf(event.record) !== 'settled') continue;
      const prepared = prepareRecord(event.record, stamp);
      if (prepared.ok) this.expectLine(prepared.candidate.format, prepared.candidate.line);
    }
  }

  /** Reads everything back and compares. @throws PrlError as `readBack`; the signal's reason on abort */
  async readBack(access: ServiceAccess, concurrency: number, signal: AbortSignal): Promise<VerifyResult> {
    const reader = new TracesReader({ ...access, clock: monotonicClock, random: Math.random });
    try {
      await readBack({
        reader,
        verification: this.#verification,
        concurrency,
        signal,
        onProgress: (done, total) => {
          this.#progress = { done, total };
        },
      });
    } finally {
      await reader.close();
    }
    return this.#verification.result();
  }
}

function sha256(slices: readonly Buffer[]): string {
  const hash = createHash('sha256');
  for (const slice of slices) hash.update(slice);
  return hash.digest('hex');
}
