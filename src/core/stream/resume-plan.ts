/**
 * Where a writer goes on in a stream directory, from its names alone: the table of spec 03 section 3. A number that was
 * ever used, if only by a seal that was killed, is never given out again.
 */
import { listChunks } from './chunk-names.js';

/** A plain chunk as its file is called. */
export type PlainChunkName = { readonly chunk: number; readonly name: string };

export type ResumePlan = {
  /** The chunk to go on with; null starts the one numbered `next`. */
  readonly live: PlainChunkName | null;
  /** Lowest number that nothing has used. */
  readonly next: number;
  /** Plain chunks below, which a crash kept from being sealed; in numeric order. */
  readonly unsealed: readonly PlainChunkName[];
};

/** @param names what the directory holds; names that are no chunks are passed over (R-CHK-4) */
export function planResume(names: readonly string[]): ResumePlan {
  const { chunks, highest } = listChunks(names);
  const plain = chunks.flatMap(({ chunk, plain: name }) => (name === null ? [] : [{ chunk, name }]));
  const last = plain.at(-1);
  const live = last !== undefined && last.chunk === highest ? last : null;
  return { live, next: highest + 1, unsealed: live === null ? plain : plain.slice(0, -1) };
}
