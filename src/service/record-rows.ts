/**
 * One line of an upload as the rows the service keeps: the few values of the columns, and where the raw documents lie
 * inside the line. Payloads are checked as JSON but never turned into objects (lines are 2 to 20 MB).
 */
import { CompiledSelector, type Picked, parsePicked, pick, type Selector } from '../core/scan/pick.js';
import type { LineFormat } from '../core/scan/types.js';
import { validateJson } from '../core/scan/validate.js';
import type { ServiceLimits } from './limits.js';
import { type RefusalCode, rejected } from './refusal.js';
import {
  type CallValues,
  countOf,
  createdAtUsOf,
  durationMsOf,
  hasErrorOf,
  intOf,
  isObject,
  isTruncated,
  type JsonObject,
  rewardOf,
  textOf,
  totalTokens,
} from './trace-values.js';

/** A byte range inside the line, end exclusive. */
type Range = { readonly start: number; readonly end: number };

/** The columns of one trace (spec 06 section 1); `createdAtUs` null when the record does not say. */
export type TraceRow = Range & {
  readonly traceId: string;
  readonly episodeId: string | null;
  /** True when a bare trace names an episode that must have been uploaded before. */
  readonly isReference: boolean;
  readonly createdAtUs: number | null;
  readonly runId: string | null;
  readonly runType: string | null;
  readonly runStep: number | null;
  readonly environmentId: string | null;
  readonly modelProvider: string | null;
  readonly modelId: string | null;
  readonly taskId: string | null;
  readonly agentName: string | null;
  readonly reward: number | null;
  readonly outcome: string | null;
  readonly hasError: boolean;
  readonly isTruncated: boolean;
  readonly durationMs: number;
  readonly totalTokens: number;
};

/** The columns of one episode; `traces` is where its array of traces lies, for the raw envelope. */
export type EpisodeRow = Range & {
  readonly episodeId: string;
  readonly createdAtUs: number | null;
  readonly runId: string | null;
  readonly environmentId: string | null;
  readonly outcome: string | null;
  readonly hasError: boolean;
  readonly errorType: string | null;
  readonly errorMessage: string | null;
  readonly traces: Range;
  readonly traceIds: readonly string[];
};

export type RecordRows = { readonly episode: EpisodeRow | null; readonly traces: readonly TraceRow[] };

export type RowLimits = Pick<
  ServiceLimits,
  'idBytes' | 'environmentIdBytes' | 'columnBytes' | 'episodeTraces' | 'futureMs'
>;

/** One line to be read, and what decides about it. */
export type LineInput = {
  readonly bytes: Buffer;
  readonly lineNumber: number;
  readonly format: LineFormat;
  readonly limits: RowLimits;
  /** Epoch microseconds of the upload. */
  readonly nowUs: number;
};

/** An error message longer than this is cut in the summary; the raw document holds all of it. */
const ERROR_MESSAGE_CHARACTERS = 16_384;

/** A small value such as `rewards` that is larger than this is not parsed: 60 MB of brackets become 1.5 GB of arrays. */
const PARSED_CONTAINER_BYTES = 1024 * 1024;

const TRACE: Selector = {
  id: true,
  episode_id: true,
  run: true,
  task: { key: true, hash: true },
  agent: { name: true, config: { model: true, provider: true } },
  rewards: true,
  info: { outcome: true },
  outcome: true,
  ok: true,
  errors: [true],
  stop_condition: true,
  timing: true,
  num_total_tokens: true,
  calls: [{ node: true, model: true, finish_reason: true, error: true, usage: true }],
  traces: true,
};

const EPISODE: Selector = {
  id: true,
  env: { id: true },
  run: true,
  outcome: true,
  ok: true,
  errors: [{ type: true, message: true }],
  traces: [TRACE],
};

const TRACE_LINE = new CompiledSelector(TRACE);
const EPISODE_LINE = new CompiledSelector(EPISODE);
const PARENTS = new CompiledSelector({ nodes: [{ parent: true }] });

/**
 * Reads one line.
 *
 * @throws Refusal 400: `invalid_trace`, `line_format_mismatch`, `too_many_traces_in_episode`, `episode_id_too_long`,
 *   `environment_id_too_long`, `created_at_out_of_window`. Every message names the line.
 */
export function readRecord(input: LineInput): RecordRows {
  const { bytes, format, lineNumber } = input;
  const fault = validateJson(bytes);
  if (fault !== null) throw refuse(input, 'invalid_trace', `not valid JSON at byte ${fault.offset}: ${fault.reason}`);
  const result = pick(bytes, format === 'episode' ? EPISODE_LINE : TRACE_LINE);
  // The text is valid JSON, so a failure here is ours.
  if (!result.ok) throw new Error(`line ${lineNumber}: pick refused valid JSON at ${result.offset}: ${result.reason}`);
  const { root } = result;
  if (root.kind !== 'object') throw refuse(input, 'invalid_trace', `a record must be an object, this is ${root.kind}`);
  const hasTraces = root.members?.get('traces')?.kind === 'array';
  if (hasTraces !== (format === 'episode')) throw shapeMismatch(input, hasTraces);
  const reader = new RecordReader(input);
  return format === 'episode' ? reader.episode(root) : { episode: null, traces: [reader.bareTrace(root)] };
}

function shapeMismatch(input: LineInput, hasTraces: boolean): Error {
  const found = hasTraces ? 'an episode (it has an array "traces")' : 'not an episode (it has no array "traces")';
  return refuse(input, 'line_format_mismatch', `declared as ${input.format}, but the record is ${found}`);
}

function refuse(input: LineInput, code: RefusalCode, message: string): Error {
  return rejected(code, `line ${input.lineNumber}: ${message}`);
}

class RecordReader {
  readonly #input: LineInput;

  constructor(input: LineInput) {
    this.#input = input;
  }

  episode(root: Picked): RecordRows {
    const { limits } = this.#input;
    const episodeId = this.#id(root, 'episode', 'episode_id_too_long');
    const environmentId = this.#text('env.id', this.#value(child(child(root, 'env'), 'id')), {
      cap: limits.environmentIdBytes,
      code: 'environment_id_too_long',
    });
    const list = child(root, 'traces') as Picked;
    const elements = list.elements ?? [];
    if (elements.length > limits.episodeTraces) {
      const found = `the episode has ${elements.length} traces, at most ${limits.episodeTraces} are taken`;
      throw refuse(this.#input, 'too_many_traces_in_episode', found);
    }
    const traces = elements.map((element) => this.#trace(element, { episodeId, environmentId, isReference: false }));
    const ownRun = this.#run(root).runId;
    const createdAtUs = traces.flatMap((trace) => trace.createdAtUs ?? []);
    const episode: EpisodeRow = {
      ...rangeOf(root),
      episodeId,
      createdAtUs: createdAtUs.length === 0 ? null : Math.min(...createdAtUs),
      runId: ownRun ?? traces.find((trace) => trace.runId !== null)?.runId ?? null,
      environmentId,
      outcome: this.#text('outcome', this.#value(child(root, 'outcome'))),
      ...this.#errors(root),
      traces: rangeOf(list),
      traceIds: traces.map((trace) => trace.traceId),
    };
    return { episode, traces };
  }

  /** A line that is one trace: its raw document is the whole line without the LF. */
  bareTrace(root: Picked): TraceRow {
    const { bytes } = this.#input;
    const episodeId = this.#text('episode_id', this.#value(child(root, 'episode_id')));
    const trace = this.#trace(root, { episodeId, environmentId: null, isReference: episodeId !== null });
    const end = bytes[bytes.length - 1] === 0x0a ? bytes.length - 1 : bytes.length;
    return { ...trace, start: 0, end };
  }

  #trace(root: Picked, owner: Pick<TraceRow, 'episodeId' | 'environmentId' | 'isReference'>): TraceRow {
    if (root.kind !== 'object') throw refuse(this.#input, 'invalid_trace', `a trace must be an object: ${root.kind}`);
    const calls = this.#calls(root);
    const timing = this.#value(child(root, 'timing'));
    const config = child(child(root, 'agent'), 'config');
    const task = child(root, 'task');
    const models = [
      child(config, 'model'),
      ...(child(root, 'calls')?.elements ?? []).map((call) => child(call, 'model')),
    ];
    return {
      ...rangeOf(root),
      ...owner,
      traceId: this.#id(root, 'trace', 'invalid_trace'),
      createdAtUs: this.#createdAtUs(timing),
      ...this.#run(root),
      modelProvider: this.#text('agent.config.provider', this.#value(child(config, 'provider'))),
      modelId: this.#firstText('model', models),
      taskId: this.#firstText('task key', [child(task, 'key'), child(task, 'hash')]),
      agentName: this.#text('agent.name', this.#value(child(child(root, 'agent'), 'name'))),
      reward: rewardOf(this.#value(child(root, 'rewards'))),
      outcome: this.#firstText('outcome', [child(root, 'outcome'), child(child(root, 'info'), 'outcome')]),
      hasError: hasErrorOf(this.#value(child(root, 'ok')), child(root, 'errors')?.elements?.length ?? 0),
      isTruncated: isTruncated(this.#value(child(root, 'stop_condition')), calls),
      durationMs: durationMsOf(timing),
      totalTokens: countOf(this.#value(child(root, 'num_total_tokens'))) ?? this.#derivedTokens(root, calls),
    };
  }

  #id(root: Picked, what: 'episode' | 'trace', tooLong: RefusalCode): string {
    const id = textOf(this.#value(child(root, 'id')));
    if (id === null) throw refuse(this.#input, 'invalid_trace', `the ${what} has no "id", a string that is not empty`);
    const { idBytes } = this.#input.limits;
    const bytes = Buffer.byteLength(id);
    if (bytes <= idBytes) return id;
    throw refuse(this.#input, tooLong, `the ${what} id has ${bytes} bytes, at most ${idBytes} are taken`);
  }

  /** A text column; what is not a string, or empty, is not recorded. */
  #text(what: string, value: unknown, bound?: { cap: number; code: RefusalCode }): string | null {
    const text = textOf(value);
    if (text === null) return null;
    const { cap, code } = bound ?? { cap: this.#input.limits.columnBytes, code: 'invalid_trace' };
    const bytes = Buffer.byteLength(text);
    if (bytes > cap) throw refuse(this.#input, code, `${what} has ${bytes} bytes, at most ${cap} are taken`);
    return text;
  }

  /** The first of several places that holds a text. */
  #firstText(what: string, places: readonly (Picked | undefined)[]): string | null {
    for (const place of places) {
      const text = this.#text(what, this.#value(place));
      if (text !== null) return text;
    }
    return null;
  }

  /** Only a record's own `run` counts (spec 06 section 4); the step is in `work`, in older records beside the id. */
  #run(root: Picked): Pick<TraceRow, 'runId' | 'runType' | 'runStep'> {
    const run = this.#value(child(root, 'run'));
    if (!isObject(run)) return { runId: null, runType: null, runStep: null };
    const step = isObject(run.work) ? run.work.step : run.step;
    return {
      runId: this.#text('run.id', run.id),
      runType: this.#text('run.type', run.type),
      runStep: intOf(step),
    };
  }

  #createdAtUs(timing: unknown): number | null {
    const atUs = createdAtUsOf(timing);
    const { nowUs, limits } = this.#input;
    if (atUs === null || atUs <= nowUs + limits.futureMs * 1000) return atUs;
    const start = (timing as JsonObject).start;
    throw refuse(
      this.#input,
      'created_at_out_of_window',
      `timing.start ${String(start)} is not between 1970 and now plus ${limits.futureMs / 3_600_000} h (epoch seconds)`,
    );
  }

  #errors(root: Picked): Pick<EpisodeRow, 'hasError' | 'errorType' | 'errorMessage'> {
    const errors = child(root, 'errors')?.elements ?? [];
    const last = errors.at(-1);
    const message = textOf(this.#value(child(last, 'message')));
    return {
      hasError: hasErrorOf(this.#value(child(root, 'ok')), errors.length),
      errorType: this.#text('the type of an error', this.#value(child(last, 'type'))),
      errorMessage: message === null ? null : message.slice(0, ERROR_MESSAGE_CHARACTERS),
    };
  }

  #calls(root: Picked): CallValues[] {
    return (child(root, 'calls')?.elements ?? []).map((call) => {
      const usage = this.#value(child(call, 'usage'));
      const error = child(call, 'error');
      return {
        node: intOf(this.#value(child(call, 'node'))),
        hasError: error !== undefined && error.kind !== 'null',
        finishReason: textOf(this.#value(child(call, 'finish_reason'))),
        usage: isObject(usage) ? usage : null,
      };
    });
  }

  /** Only for records that do not carry the count: it takes a second walk, over the nodes' parents. */
  #derivedTokens(root: Picked, calls: readonly CallValues[]): number {
    const { bytes } = this.#input;
    const result = pick(bytes, PARENTS, root.start, root.end);
    const nodes = result.ok ? (child(result.root, 'nodes')?.elements ?? []) : [];
    return totalTokens(
      nodes.map((node) => intOf(this.#value(child(node, 'parent')))),
      calls,
    );
  }

  /** Undefined, "not recorded", for what is missing and for objects and arrays of a size that no real value has. */
  #value(picked: Picked | undefined): unknown {
    if (picked === undefined) return undefined;
    const isContainer = picked.kind === 'object' || picked.kind === 'array';
    if (isContainer && picked.end - picked.start > PARSED_CONTAINER_BYTES) return undefined;
    return parsePicked(this.#input.bytes, picked);
  }
}

function child(picked: Picked | undefined, key: string): Picked | undefined {
  return picked?.members?.get(key);
}

function rangeOf(picked: Picked): Range {
  return { start: picked.start, end: picked.end };
}
