/**
 * Compares what was uploaded with what a service gives back (`--verify`). Holds one digest a trace and one a request,
 * never a record: a run of any size fits.
 */
import type { LineFormat } from '../scan/types.js';
import { readFacts } from '../stream/facts.js';
import { runIdOf } from '../stream/stamp.js';
import type { BatchLine } from './types.js';

/** SHA-256 of the given slices, one after the other, 64 lower-case hex. */
export type Sha256 = (slices: readonly Buffer[]) => string;

export type Difference = {
  readonly kind:
    | 'episode_missing'
    | 'episode_doubled'
    | 'trace_missing'
    | 'trace_doubled'
    | 'trace_unexpected'
    | 'trace_differs'
    | 'unreadable';
  readonly episodeId: string | null;
  readonly traceId: string | null;
  readonly message: string;
};

export type VerifyResult = {
  /** Episodes that were expected; of bare traces, those. */
  readonly episodes: number;
  readonly ok: boolean;
  readonly differences: readonly Difference[];
  /** Episodes that another upload has stored anew since: ours were found, but a service reads out the newest copy only. */
  readonly superseded: number;
};

/** One episode as expected, or the bare traces under the key null. */
export type ExpectedTraces = ReadonlyMap<string, string>;

/** What one source line was: its ids, the run it names as it travelled, and digests of its traces. */
export type LineExpectation = {
  readonly episodeId: string | null;
  readonly runId: string | null;
  readonly traces: ExpectedTraces;
};

/**
 * What a stored line must come back as. The service gives a trace's raw document as exactly the bytes of the member
 * object inside its episode; of a trace line, as the line without LF.
 */
export function expectationOf(format: LineFormat, line: BatchLine, sha256: Sha256): LineExpectation {
  const [only] = line.parts;
  const bytes = line.parts.length === 1 && only !== undefined ? only : Buffer.concat(line.parts);
  const facts = readFacts(bytes, format);
  const traces = new Map<string, string>();
  for (const trace of facts?.traces ?? []) {
    if (trace.id === null) continue;
    const document = format === 'trace' ? withoutLf(bytes) : bytes.subarray(trace.start, trace.end);
    traces.set(trace.id, sha256([document]));
  }
  const runId = facts === null ? null : runIdOf(facts, { runId: null, fallbackRunId: null });
  return { episodeId: format === 'episode' ? (facts?.envelope.id ?? null) : null, runId, traces };
}

/** Collects expectations while batches are stored, and differences while the service is read back. */
export class Verification {
  /** More than one where the run holds an id more than once: the service shows one of the copies, the newest. */
  readonly #episodes = new Map<string, ExpectedTraces[]>();
  readonly #bareTraces = new Map<string, string>();
  readonly #runIds = new Set<string>();
  readonly #unfiled = new Set<string>();
  readonly #ownUploads = new Set<string>();
  readonly #superseded = new Set<string>();
  readonly #differences: Difference[] = [];

  expect({ episodeId, runId, traces }: LineExpectation): void {
    if (runId !== null) this.#runIds.add(runId);
    if (episodeId !== null && runId === null) this.#unfiled.add(episodeId);
    if (episodeId !== null) this.#episodes.set(episodeId, [...(this.#episodes.get(episodeId) ?? []), traces]);
    else for (const [traceId, digest] of traces) this.#bareTraces.set(traceId, digest);
  }

  /** Ids of the episodes to read back, in order of upload. */
  get episodeIds(): readonly string[] {
    return [...this.#episodes.keys()];
  }

  /** Notes an upload that stored lines of the run. */
  addUpload(uploadId: string): void {
    this.#ownUploads.add(uploadId);
  }

  get ownUploads(): ReadonlySet<string> {
    return this.#ownUploads;
  }

  /** Whether a stored copy came from this run. Where no upload is known, or not whose it is, a copy passes for one. */
  isOwn(uploadId: string | null): boolean {
    return uploadId === null || this.#ownUploads.size === 0 || this.#ownUploads.has(uploadId);
  }

  /** The newest copy of the episode is another upload's: what it says is no statement about ours. */
  supersede(episodeId: string): void {
    this.#superseded.add(episodeId);
  }

  get superseded(): ReadonlySet<string> {
    return this.#superseded;
  }

  /** @param stored ids of the episodes that the service lists for the uploads of this run */
  compareSuperseded(stored: ReadonlySet<string>): void {
    for (const episodeId of this.#superseded) {
      if (stored.has(episodeId)) continue;
      this.#note(
        'episode_missing',
        episodeId,
        null,
        `episode ${episodeId} is not among what this run's uploads stored`,
      );
    }
  }

  /** Runs whose listings should hold the episodes. */
  get runIds(): ReadonlySet<string> {
    return this.#runIds;
  }

  /** Episodes that travelled without a run: no listing of a run can hold them. */
  get unfiledEpisodeIds(): ReadonlySet<string> {
    return this.#unfiled;
  }

  /** Traces that were uploaded outside an episode, with their digests. */
  get bareTraces(): ExpectedTraces {
    return this.#bareTraces;
  }

  /** Ids of the traces that any copy of an episode has. */
  tracesOf(episodeId: string): ReadonlySet<string> {
    return new Set(this.#copiesOf(episodeId).flatMap((copy) => [...copy.keys()]));
  }

  #copiesOf(episodeId: string): readonly ExpectedTraces[] {
    return this.#episodes.get(episodeId) ?? [];
  }

  /** @param listed how often the service listed each episode of the run */
  compareEpisodes(listed: ReadonlyMap<string, number>): void {
    for (const episodeId of this.#episodes.keys()) {
      const count = listed.get(episodeId) ?? 0;
      if (count === 0)
        this.#note('episode_missing', episodeId, null, `episode ${episodeId} is not listed by the service`);
      if (count > 1) this.#note('episode_doubled', episodeId, null, `episode ${episodeId} is listed ${count} times`);
    }
  }

  /** @param listed trace ids as the service lists them for the episode, repeats included */
  compareTraces(episodeId: string, listed: readonly string[]): void {
    const counts = new Map<string, number>();
    for (const traceId of listed) counts.set(traceId, (counts.get(traceId) ?? 0) + 1);
    const copies = this.#copiesOf(episodeId);
    const isCopy = (copy: ExpectedTraces): boolean =>
      copy.size === counts.size && [...counts.keys()].every((id) => copy.has(id));
    const expected: ExpectedTraces = copies.find(isCopy) ?? copies.at(-1) ?? new Map();
    for (const traceId of expected.keys()) {
      const count = counts.get(traceId) ?? 0;
      const where = `trace ${traceId} of episode ${episodeId}`;
      if (count === 0) this.#note('trace_missing', episodeId, traceId, `${where} is not listed by the service`);
      if (count > 1) this.#note('trace_doubled', episodeId, traceId, `${where} is listed ${count} times`);
    }
    for (const traceId of counts.keys()) {
      if (expected.has(traceId)) continue;
      this.#note(
        'trace_unexpected',
        episodeId,
        traceId,
        `episode ${episodeId} lists trace ${traceId}, which was not in it`,
      );
    }
  }

  /** @param digest SHA-256 of the raw document as read; null when the service has none */
  compareDocument(episodeId: string | null, traceId: string, digest: string | null): void {
    const copies = episodeId === null ? [this.#bareTraces] : this.#copiesOf(episodeId);
    const where = episodeId === null ? `trace ${traceId}` : `trace ${traceId} of episode ${episodeId}`;
    if (digest === null) this.#note('trace_missing', episodeId, traceId, `${where} has no stored document`);
    else if (!copies.some((copy) => copy.get(traceId) === digest)) {
      this.#note('trace_differs', episodeId, traceId, `${where} came back as other bytes than were sent`);
    }
  }

  /** A read that failed for good: what it would have shown is not known, so it counts as a difference. */
  unreadable(episodeId: string | null, traceId: string | null, message: string): void {
    this.#note('unreadable', episodeId, traceId, message);
  }

  result(): VerifyResult {
    const episodes = this.#episodes.size + this.#bareTraces.size;
    const superseded = this.#superseded.size;
    return { episodes, ok: this.#differences.length === 0, differences: this.#differences, superseded };
  }

  #note(kind: Difference['kind'], episodeId: string | null, traceId: string | null, message: string): void {
    this.#differences.push({ kind, episodeId, traceId, message });
  }
}

function withoutLf(bytes: Buffer): Buffer {
  let end = bytes.length;
  while (end > 0 && bytes[end - 1] === 0x0a) end -= 1;
  return bytes.subarray(0, end);
}
