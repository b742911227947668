/**
 * Which files of a stream directory are chunks, in which order, and which numbers are missing; spec 03 sections 1 to 4.
 * Names alone: whether a file can be read is for the edge to find out.
 */

/** `<decimal>.jsonl` or `<decimal>.jsonl.zst`; all other names are foreign (R-CHK-4). */
const CHUNK_NAME = /^([0-9]+)\.jsonl(\.zst)?$/;
const SEAL_LEFTOVER = /^([0-9]+)\.jsonl\.zst\.tmp$/;

/** One chunk number and the names that hold it. At least one is not null. */
export type ChunkNames = {
  readonly chunk: number;
  /** Plain file; the one to read when both exist (R-CHK-5, crash table of section 4). */
  readonly plain: string | null;
  readonly sealed: string | null;
};

/** Consecutive chunk numbers without a file, both ends included. */
export type ChunkHole = { readonly first: number; readonly last: number };

export type ChunkListing = {
  /** In numeric order, each number once. */
  readonly chunks: readonly ChunkNames[];
  /** Numbers from 0 to the highest one known, leftovers of a seal included, that have no file. */
  readonly holes: readonly ChunkHole[];
  /** Leftovers of an interrupted seal: never data. */
  readonly leftovers: readonly string[];
  /** Names that are no chunk at all, or a second spelling of a number. */
  readonly foreign: readonly string[];
  /** Highest number known, leftovers of a seal included; -1 when there is none. */
  readonly highest: number;
};

/** What a plain chunk is called: at least five digits (spec 03 section 1). Sealed it gets `.zst` behind that. */
export function chunkName(chunk: number): string {
  return `${String(chunk).padStart(5, '0')}.jsonl`;
}

/** The number and the form of a chunk file's name; null for any other name and for numbers beyond 2^53 - 1. */
export function parseChunkName(name: string): { readonly chunk: number; readonly isSealed: boolean } | null {
  const match = CHUNK_NAME.exec(name);
  if (match === null) return null;
  const chunk = Number(match[1]);
  return Number.isSafeInteger(chunk) ? { chunk, isSealed: match[2] !== undefined } : null;
}

/** Sorts the names of a stream directory into chunks, holes and the rest. */
export function listChunks(names: readonly string[]): ChunkListing {
  const chunks = new Map<number, { plain: string | null; sealed: string | null }>();
  const leftovers: string[] = [];
  const foreign: string[] = [];
  let highest = -1;
  // Sorted, so that of two spellings of one number (00001, 1) the same one is taken everywhere: the padded one.
  for (const name of [...names].sort()) {
    const leftover = SEAL_LEFTOVER.exec(name);
    const parsed = leftover === null ? parseChunkName(name) : null;
    if (leftover !== null) {
      leftovers.push(name);
      const chunk = Number(leftover[1]);
      if (Number.isSafeInteger(chunk)) highest = Math.max(highest, chunk);
    } else if (parsed === null) {
      foreign.push(name);
    } else {
      const entry = chunks.get(parsed.chunk) ?? { plain: null, sealed: null };
      const form = parsed.isSealed ? 'sealed' : 'plain';
      if (entry[form] === null) entry[form] = name;
      else foreign.push(name);
      chunks.set(parsed.chunk, entry);
      highest = Math.max(highest, parsed.chunk);
    }
  }
  const sorted = [...chunks].sort(([a], [b]) => a - b).map(([chunk, entry]) => ({ chunk, ...entry }));
  return { chunks: sorted, holes: findHoles(sorted, highest), leftovers, foreign, highest };
}

function findHoles(chunks: readonly ChunkNames[], highest: number): readonly ChunkHole[] {
  const holes: ChunkHole[] = [];
  let expected = 0;
  for (const { chunk } of chunks) {
    if (chunk > expected) holes.push({ first: expected, last: chunk - 1 });
    expected = chunk + 1;
  }
  if (highest >= expected) holes.push({ first: expected, last: highest });
  return holes;
}
