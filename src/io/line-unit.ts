/** What the record of a very long line is, without holding the line: a run is opened in a few megabytes of memory. */
import { closeSync } from 'node:fs';
import { FIELD, type RecordTape, TAPE_ENTRY_WORDS, type TapeSink, TYPE } from '../core/scan/record-tape.js';
import { unitOfKeys } from '../core/scan/sniff.js';
import type { RecordUnit } from '../core/scan/types.js';
import { LINE } from '../core/scan/walker.js';
import { openWalker } from './open-walker.js';
import type { ChunkFile } from './run-types.js';
import { openForScan, readFrames } from './scan-chunk.js';
import { PlainSource, SealedSource } from './sync-source.js';

/** The unit of the record whose line begins at `offset`; null when there is none, or only the slow readers can tell. */
export function unitAt(file: ChunkFile, offset: number): RecordUnit | null {
  const opened = openForScan(file, true);
  if (opened.kind !== 'open') return null;
  const { descriptor, form, bytes, fileBytes } = opened.chunk;
  try {
    const frames = form === 'sealed' ? readFrames(descriptor, fileBytes) : null;
    const source = frames === null ? new PlainSource(descriptor, bytes) : new SealedSource(descriptor, frames);
    const sink = new UnitSink();
    const walker = openWalker(sink);
    source.seek(offset);
    walker.reset(source, offset);
    return walker.next() === LINE.RECORD ? sink.unit : null;
  } finally {
    closeSync(descriptor);
  }
}

class UnitSink implements TapeSink {
  #hasTraceList = false;
  unit: RecordUnit | null = null;

  beginRecord(): void {
    this.#hasTraceList = false;
    this.unit = null;
  }

  take({ words }: RecordTape, entries: number): void {
    for (let at = 0; at < entries * TAPE_ENTRY_WORDS; at += TAPE_ENTRY_WORDS) {
      const head = words[at] as number;
      const field = head & 0xff;
      if (field === FIELD.TRACES) this.#hasTraceList = head >> 8 === TYPE.ARRAY;
      else if (field === FIELD.UNIT_KEYS) this.unit = unitOfKeys(words[at + 1] as number, this.#hasTraceList);
    }
  }
}
