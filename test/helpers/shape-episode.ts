/**
 * Episodes of the four shapes that design/scanning.md measures, from a seed: A production, B text full of escapes,
 * C tiny episodes, D spaced JSON. Each line is a whole legal episode as prime-rl writes it (spec 02), token counts
 * included. A few episodes are put together from a pool of nodes; the lines repeat them in turn under new ids, which is
 * as fast as the disk. Repeats lie further apart than the window of a zstd frame reaches.
 */
import { seededRandom } from './generated-run.js';
import { AGENT, callText, countsText, failedCall, TINY_AGENT, TOOLS, tailText, taskText } from './shape-parts.js';
import {
  between,
  brief,
  code,
  flags,
  hexId,
  logprobs,
  prose,
  type Random,
  rounded,
  spaceOut,
  tokenIds,
} from './shape-text.js';

export type Shape = 'A' | 'B' | 'C' | 'D';

type Plan = {
  /** Bytes of a line on average. */
  readonly episodeBytes: number;
  /** Different episodes and different nodes that lines are made of. */
  readonly episodes: number;
  readonly nodes: number;
  readonly text: (random: Random, length: number) => string;
  /** Characters of the content and number of tokens of a user's or tool's node, and of an assistant's. */
  readonly user: { readonly characters: number; readonly tokens: number };
  readonly assistant: { readonly characters: number; readonly tokens: number };
  /** Share of the assistant's nodes without a tool call; a call's arguments are JSON inside JSON. */
  readonly plainReplies: number;
  /** One line in twenty has a second trace, one in eight no group, one in twelve a failed call; tasks are short. */
  readonly isTiny: boolean;
  readonly isSpaced: boolean;
};

const PRODUCTION: Plan = {
  episodeBytes: 8_000_000,
  episodes: 3,
  nodes: 256,
  text: prose,
  user: { characters: 1_700, tokens: 200 },
  assistant: { characters: 2_800, tokens: 560 },
  plainReplies: 0.3,
  isTiny: false,
  isSpaced: false,
};

const PLANS: Readonly<Record<Shape, Plan>> = {
  A: PRODUCTION,
  B: {
    ...PRODUCTION,
    episodeBytes: 1_000_000,
    episodes: 8,
    nodes: 1_024,
    text: code,
    user: { characters: 2_350, tokens: 0 },
    assistant: { characters: 2_350, tokens: 0 },
    plainReplies: 0.9,
  },
  C: {
    ...PRODUCTION,
    episodeBytes: 1_800,
    episodes: 4_096,
    nodes: 8_192,
    text: brief,
    user: { characters: 24, tokens: 4 },
    assistant: { characters: 16, tokens: 3 },
    plainReplies: 1,
    isTiny: true,
  },
  D: { ...PRODUCTION, isSpaced: true },
};

/** Lines are this much longer than the mean at most, and as much shorter. */
const MOST_ABOVE_MEAN = 1.2;

const RUN_ID = '5f0c7c1e9a4b4d0f8e2a6b3c1d7e9f00';

/** Of what follows the calls, roughly. */
const TAIL_BYTES = 1_000;

const EPOCH_S = 1_790_000_000;

/** What a node holds whatever its place: all but its parent and its time. */
type NodeText = { readonly message: Buffer; readonly arrays: Buffer; readonly tokens: number };

type Id = { readonly offsets: readonly number[]; readonly isTrace: boolean };

type Template = { readonly line: Buffer; readonly ids: readonly Id[] };

export type EpisodeSourceOptions = {
  /** Default 1. */
  readonly seed?: number;
  /** Bytes of a line on average; the plan of the shape by default. Below 2 kB the fixed parts decide. */
  readonly episodeBytes?: number;
  /** Lines get no longer than about this. */
  readonly mostBytes?: number;
};

/** Episodes of one shape without end. Same shape and options, same bytes. */
export class EpisodeSource {
  readonly #plan: Plan;
  readonly #episodeBytes: number;
  readonly #shape: Shape;
  readonly #random: Random;
  readonly #users: readonly NodeText[];
  readonly #assistants: readonly NodeText[];
  readonly #templates: Template[] = [];
  #episodes = 0;
  /** Ids of the traces of the line that `next` gave last. */
  traceIds: string[] = [];

  constructor(
    shape: Shape,
    { seed = 1, episodeBytes, mostBytes = Number.POSITIVE_INFINITY }: EpisodeSourceOptions = {},
  ) {
    this.#plan = PLANS[shape];
    this.#shape = shape;
    this.#episodeBytes = Math.min(episodeBytes ?? this.#plan.episodeBytes, mostBytes / MOST_ABOVE_MEAN);
    this.#random = seededRandom(seed);
    const turns = this.#plan.nodes / 2;
    this.#users = Array.from({ length: turns }, () => userNode(this.#random, this.#plan));
    this.#assistants = Array.from({ length: turns }, () => assistantNode(this.#random, this.#plan));
  }

  /** A line, LF included. Its bytes are written over by a later call: copy what is kept. */
  next(): Buffer {
    const index = this.#episodes % this.#plan.episodes;
    this.#episodes += 1;
    const template = this.#templates[index] ?? this.#makeTemplate();
    this.#templates[index] = template;
    this.traceIds = [];
    for (const { offsets, isTrace } of template.ids) {
      const id = hexId(this.#random);
      if (isTrace) this.traceIds.push(id);
      for (const offset of offsets) template.line.write(id, offset, 'latin1');
    }
    return template.line;
  }

  #makeTemplate(): Template {
    const traceIds: string[] = [];
    const id = hexId(this.#random);
    const parts = [
      ...this.parts(
        id,
        traceIds,
        this.#episodeBytes * (2 - MOST_ABOVE_MEAN + (2 * MOST_ABOVE_MEAN - 2) * this.#random()),
      ),
    ];
    const line = Buffer.concat(parts);
    return {
      line,
      ids: [
        { offsets: findAll(line, id), isTrace: false },
        ...traceIds.map((traceId) => ({ offsets: findAll(line, traceId), isTrace: true })),
      ],
    };
  }

  /** The parts of one line of about `bytes`, LF included; ids of its traces are added to `traceIds`. */
  *parts(id: string, traceIds: string[], bytes: number): Generator<Buffer, void> {
    const random = this.#random;
    const { isTiny } = this.#plan;
    const start = EPOCH_S + random() * 1_000_000;
    const name = `shape-${this.#shape.toLowerCase()}`;
    const task = taskText(random, isTiny);
    const group = isTiny && random() < 0.125 ? '' : `"group":{"id":"${between(random, 0, 999)}"},`;
    const step = between(random, 0, 500);
    const work = `{"type":"train","step":${step},"policy":{"start":${step},"end":${step + 1}}}`;
    const run = `"run":{"type":"train","id":"${RUN_ID}",${isTiny ? '' : `"name":"${name}",`}"work":${work}}`;
    const env = `{"id":"${name}","name":"${name}-train"}`;
    const head = `{"id":"${id}","env":${env},"task":${task},${group}${run},"ok":true,"is_timeout":false,"errors":[]`;
    yield this.#text(`${head},"traces":[`, 1);
    const counts = { input: 0, output: 0 };
    const traces = isTiny && random() < 0.05 ? 2 : 1;
    for (let index = 0; index < traces; index += 1) {
      if (index > 0) yield this.#text(',', 2);
      const traceId = hexId(random);
      traceIds.push(traceId);
      yield* this.#trace({ traceId, task, step, start, bytes: (bytes - head.length) / traces }, counts);
    }
    yield this.#text(`],${countsText(counts)}}\n`, 1);
  }

  *#trace(
    trace: { traceId: string; task: string; step: number; start: number; bytes: number },
    episodeCounts: { input: number; output: number },
  ): Generator<Buffer, void> {
    const random = this.#random;
    const { isTiny } = this.#plan;
    const { traceId, task, step, start } = trace;
    const agent = isTiny ? TINY_AGENT : AGENT;
    const head = `{"version":1,"id":"${traceId}","verifiers":{"version":"0.4.0"},"task":${task},"agent":${agent},"tools":${isTiny ? '[]' : TOOLS},"nodes":[`;
    yield this.#text(head, 3);
    const calls: string[] = [];
    const counts = { input: 0, output: 0 };
    let now = start + 1;
    const first = between(random, 0, this.#users.length - 1);
    for (let turn = 0, size = head.length + TAIL_BYTES; turn === 0 || size < trace.bytes; turn += 1) {
      const user = this.#users[(first + turn) % this.#users.length] as NodeText;
      const assistant = this.#assistants[(first + turn) % this.#assistants.length] as NodeText;
      for (const part of this.#node(user, 2 * turn, now)) {
        size += part.length;
        yield part;
      }
      const call = { node: 2 * turn + 1, cached: counts.input + counts.output, start: now, end: now + 1.5 };
      now = call.end;
      for (const part of this.#node(assistant, call.node, now)) {
        size += part.length;
        yield part;
      }
      counts.input += user.tokens;
      counts.output += assistant.tokens;
      if (random() < (isTiny ? 0.08 : 0.005)) calls.push(failedCall(call));
      calls.push(callText(random, call, user.tokens, assistant.tokens));
      size += (calls.at(-1) as string).length + 1;
    }
    episodeCounts.input += counts.input;
    episodeCounts.output += counts.output;
    yield this.#text(
      `],"calls":[${calls.join(',')}],${tailText(random, { step, start, end: now })}${countsText(counts)}}`,
      3,
    );
  }

  *#node(node: NodeText, index: number, now: number): Generator<Buffer, void> {
    const place = index === 0 ? '{' : `,{"parent":${index - 1},`;
    yield this.#text(`${place}"semantic_parents":[],"message":`, 4);
    yield node.message;
    yield this.#text(`,"sampled":${index % 2 === 1},"timestamp":${rounded(now, 6)}`, 5);
    yield node.arrays;
  }

  #text(text: string, depth: number): Buffer {
    return Buffer.from(this.#plan.isSpaced ? spaceOut(text, depth) : text);
  }
}

function userNode(random: Random, plan: Plan): NodeText {
  const { characters, tokens } = plan.user;
  const length = between(random, characters >> 1, characters + (characters >> 1));
  const content = JSON.stringify(plan.text(random, length));
  const call = `"tool_call_id":"call_${between(random, 1_000, 9_999)}"`;
  const message =
    random() < 0.5 ? `{"role":"user","content":${content}}` : `{"role":"tool",${call},"content":${content}}`;
  return nodeText(random, plan, message, tokens, false);
}

function assistantNode(random: Random, plan: Plan): NodeText {
  const { characters, tokens } = plan.assistant;
  const length = between(random, characters >> 1, characters + (characters >> 1));
  if (random() < plan.plainReplies) {
    const content = JSON.stringify(plan.text(random, length));
    return nodeText(random, plan, `{"role":"assistant","content":${content}}`, tokens, true);
  }
  const content = JSON.stringify(plan.text(random, length >> 1));
  const given = JSON.stringify(JSON.stringify({ path: 'src/main.py', text: plan.text(random, length >> 1) }));
  const call = `{"id":"call_${between(random, 1_000, 9_999)}","type":"function","name":"edit","arguments":${given}}`;
  return nodeText(random, plan, `{"role":"assistant","content":${content},"tool_calls":[${call}]}`, tokens, true);
}

function nodeText(random: Random, plan: Plan, message: string, mean: number, isSampled: boolean): NodeText {
  const tokens = between(random, mean >> 1, mean + (mean >> 1));
  const masks = `"mask":${flags(random, tokens, isSampled)},"is_content":${flags(random, tokens, true)}`;
  const probabilities = logprobs(random, isSampled ? tokens : 0);
  const arrays = `,"token_ids":${tokenIds(random, tokens)},${masks},"logprobs":${probabilities}}`;
  const print = (text: string): Buffer => Buffer.from(plan.isSpaced ? spaceOut(text, 5) : text);
  return { message: print(message), arrays: print(arrays), tokens };
}

function findAll(line: Buffer, id: string): number[] {
  const offsets: number[] = [];
  for (let at = line.indexOf(id); at >= 0; at = line.indexOf(id, at + 32)) offsets.push(at);
  return offsets;
}
