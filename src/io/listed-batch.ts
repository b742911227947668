/**
 * The lines of a run that a service lists under one upload, in order, and the proof that they are that upload: its id is
 * the SHA-256 of its bytes. Holds hashes and addresses, no line.
 */
import { createHash } from 'node:crypto';
import type { LineFormat } from '../core/scan/types.js';
import type { Candidate } from '../core/upload/batcher.js';
import { rangeOf } from '../core/upload/split.js';
import type { BatchLine, BatchRange } from '../core/upload/types.js';
import { lineDigest } from './pack.js';

const LF = '\n';

export class ListedBatch {
  readonly #format: LineFormat;
  readonly #hash = createHash('sha256');
  readonly #lines: BatchLine[] = [];
  readonly #lineDigests: string[] = [];
  readonly #ids = new Set<string>();
  /** The last line ends with an LF that is not hashed yet: the upload may have been cut before it was written (U17). */
  #owesLf = false;

  constructor(format: LineFormat) {
    this.#format = format;
  }

  /** Takes the next line of the chunk that is listed under the upload. A second line of one id was left out (R-UP-4). */
  add(id: string, { line }: Candidate): void {
    if (this.#ids.has(id)) return;
    this.#ids.add(id);
    for (const part of line.parts) this.#update(part);
    const last = this.#lines.at(-1);
    const isBehindGap = last !== undefined && last.offset + last.length !== line.offset;
    // The bytes are hashed; kept, they would be the whole chunk.
    this.#lines.push({ ...line, parts: [], ...(isBehindGap ? { isBehindGap } : {}) });
    this.#lineDigests.push(lineDigest(line.parts));
  }

  /** The range that the upload settles, with or without the last LF; null when the lines are not its bytes. */
  provenBy(uploadId: string): BatchRange | null {
    const open = this.#hash.copy().digest('hex');
    if (open === uploadId) return this.#range(uploadId, Number(this.#owesLf));
    if (!this.#owesLf) return null;
    return this.#hash.copy().update(LF).digest('hex') === uploadId ? this.#range(uploadId, 0) : null;
  }

  /** @param openBytes of the last line that did not travel */
  #range(digest: string, openBytes: number): BatchRange {
    const lines = this.#lines.map((line, index) =>
      index === this.#lines.length - 1 ? shorter(line, openBytes) : line,
    );
    const batchBytes = lines.reduce((sum, line) => sum + line.byteLength, 0);
    const chunk = lines[0]?.chunk ?? 0;
    return rangeOf({ format: this.#format, chunk, lines, batchBytes }, { digest, lineDigests: this.#lineDigests });
  }

  #update(bytes: Buffer): void {
    if (bytes.length === 0) return;
    if (this.#owesLf) this.#hash.update(LF);
    this.#owesLf = bytes.at(-1) === 0x0a;
    this.#hash.update(this.#owesLf ? bytes.subarray(0, -1) : bytes);
  }
}

function shorter(line: BatchLine, bytes: number): BatchLine {
  const { length, byteLength, sourceTail } = line;
  return {
    ...line,
    length: length - bytes,
    byteLength: byteLength - bytes,
    sourceTail: sourceTail.subarray(0, sourceTail.length - bytes),
  };
}
