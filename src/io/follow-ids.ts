/**
 * Which records were told before a rewrite, by episode id, in a few bytes each. A run may hold one id twice and then
 * both records count; only a file that is read again is held against what was told before (spec 03 section 8, step 6).
 */
import { createHash } from 'node:crypto';
import { hashId, SeenIds } from '../core/index/seen-ids.js';
import { CompiledSelector, pick } from '../core/scan/pick.js';
import type { ToldRecords } from './follow-types.js';

/** Ids that are remembered at least: a hundred times the largest run known, in up to 200 MB. */
const MAX_IDS = 4_194_304;

/** How every written record begins; the id behind it needs no walk through the record. */
const RECORD_START = Buffer.from('{"id":"');
const MAX_ID_BYTES = 128;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const ID = new CompiledSelector({ id: true });

export class ToldIds implements ToldRecords {
  readonly #seen = new SeenIds(MAX_IDS);
  readonly #hash = new Uint32Array(2);
  #generation = 1;

  admit({ bytes }: { readonly bytes: Buffer }): boolean {
    hashKey(bytes, this.#hash);
    const [high, low] = this.#hash as unknown as [number, number];
    const toldIn = this.#seen.add(high, low, this.#generation);
    return toldIn === 0 || toldIn === this.#generation;
  }

  rewritten(): void {
    this.#generation += 1;
  }
}

/** The id of the record; of one without an id, its bytes. */
function hashKey(bytes: Buffer, hash: Uint32Array): void {
  const [start, end] = findId(bytes);
  if (start < end) {
    hashId(bytes, start, end - start, hash, 0);
    return;
  }
  const digest = createHash('sha256').update(bytes).digest();
  hashId(digest, 0, digest.length, hash, 0);
}

/** The range of the id without its quotes, empty when there is none. */
function findId(bytes: Buffer): readonly [number, number] {
  if (bytes.subarray(0, RECORD_START.length).equals(RECORD_START)) {
    const start = RECORD_START.length;
    const end = bytes.subarray(0, start + MAX_ID_BYTES + 1).indexOf(QUOTE, start);
    if (end > start && !bytes.subarray(start, end).includes(BACKSLASH)) return [start, end];
  }
  const result = pick(bytes, ID);
  const id = result.ok ? result.root.members?.get('id') : undefined;
  return id?.kind === 'string' ? [id.start + 1, id.end - 1] : [0, 0];
}
