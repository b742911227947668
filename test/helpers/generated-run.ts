/**
 * Writes runs of any size from a seed: production-shaped episodes (long token arrays, some text, escapes and wide
 * characters), in the stream layout of prime-rl. Same seed and sizes, same bytes. Generated at test time, never kept.
 */
import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';

export type GeneratedRun = {
  readonly episodes: number;
  /** Bytes of one line, roughly; 10 kB or more. */
  readonly episodeBytes: number;
  readonly seed?: number;
  readonly runId?: string;
  /** Uncompressed bytes after which a new chunk begins; default 5 GiB, as upstream. */
  readonly chunkBytes?: number;
};

const TOKENS_A_NODE = 500;

/** Small, fast and the same everywhere (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Writes the run under `directory`; returns the number of bytes of its stream. */
export function writeGeneratedRun(directory: string, options: GeneratedRun): number {
  const stream = join(directory, 'monitors', 'file', 'traces', 'stream');
  mkdirSync(stream, { recursive: true });
  const random = seededRandom(options.seed ?? 1);
  const payload = nodesOf(random, options.episodeBytes);
  const chunkBytes = options.chunkBytes ?? 5 * 1024 ** 3;
  let chunk = 0;
  let size = 0;
  let total = 0;
  let file = openSync(chunkPath(stream, chunk), 'w');
  for (let index = 0; index < options.episodes; index += 1) {
    const line = generatedLine(random, payload, options.runId ?? 'generated-run', index);
    if (size > 0 && size + line.length > chunkBytes) {
      closeSync(file);
      chunk += 1;
      size = 0;
      file = openSync(chunkPath(stream, chunk), 'w');
    }
    writeSync(file, line);
    size += line.length;
    total += line.length;
  }
  closeSync(file);
  return total;
}

function chunkPath(stream: string, chunk: number): string {
  return join(stream, `${String(chunk).padStart(5, '0')}.jsonl`);
}

function generatedLine(random: () => number, payload: string, runId: string, index: number): Buffer {
  const run = { type: 'train', id: runId, work: { type: 'train', step: index >> 3 } };
  const head = JSON.stringify({
    id: hex(random),
    env: { id: 'generated', name: `generated-${index % 3}` },
    task: { type: 'GeneratedTask', data: { idx: index } },
    run,
    ok: true,
    errors: [],
  });
  const trace = JSON.stringify({
    version: 1,
    id: hex(random),
    task: { type: 'GeneratedTask', data: { idx: index } },
    agent: { config: { model: 'generated-model' }, name: 'agent', trainable: true },
  });
  const tail = JSON.stringify({
    calls: [],
    rewards: { score: { score: Math.round(random() * 100) / 100, weight: 1 } },
    metrics: {},
    info: { kind: 'train' },
    is_completed: true,
    ok: true,
    stop_condition: 'agent_completed',
    errors: [],
    run,
  });
  return Buffer.from(`${head.slice(0, -1)},"traces":[${trace.slice(0, -1)},"nodes":${payload},${tail.slice(1)}]}\n`);
}

function hex(random: () => number): string {
  return Array.from({ length: 8 }, () =>
    Math.floor(random() * 0x10000)
      .toString(16)
      .padStart(4, '0'),
  ).join('');
}

function nodesOf(random: () => number, bytes: number): string {
  const nodes: string[] = [];
  let size = 0;
  for (let index = 0; size < bytes - 1000; index += 1) {
    const ids = Array.from({ length: TOKENS_A_NODE }, () => Math.floor(random() * 150_000));
    const node = JSON.stringify({
      ...(index === 0 ? {} : { parent: index - 1 }),
      message: {
        role: index % 2 === 0 ? 'user' : 'assistant',
        content: `turn ${index}: "quoted" \\ path\n${'word '.repeat(200)} 漢字 🙂 ${random()}`,
      },
      sampled: index % 2 === 1,
      timestamp: 1_760_000_000 + index,
      token_ids: ids,
      mask: ids.map((id) => id % 2 === 0),
      logprobs: ids.map((id) => -Math.round((id % 7919) * 7) / 10_000),
    });
    nodes.push(node);
    size += node.length + 1;
  }
  return `[${nodes.join(',')}]`;
}
