/** A journal that only remembers in which order it was told what. */
import type { BatchRange, RejectedLine, UploadJournal } from '../../src/core/upload/types.js';

export class MemoryJournal implements UploadJournal {
  readonly plannedRanges: BatchRange[] = [];
  readonly storedRanges: BatchRange[] = [];
  readonly rejectedLines: RejectedLine[] = [];

  async planned(range: BatchRange): Promise<void> {
    this.plannedRanges.push(range);
  }

  async stored(range: BatchRange): Promise<void> {
    this.storedRanges.push(range);
  }

  async rejected(line: RejectedLine): Promise<void> {
    this.rejectedLines.push(line);
  }
}
