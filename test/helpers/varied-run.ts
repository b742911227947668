/** A run whose episodes differ in everything that a filter looks at, and what each of them is, known without prl. */
import { join } from 'node:path';
import { seededRandom } from './generated-run.js';
import { seal } from './seal.js';
import { writeTree } from './temp-folder.js';

export type VariedEpisode = {
  readonly id: string;
  readonly kind: 'train' | 'eval';
  readonly env: string;
  /** Null where the record says none. */
  readonly step: number | null;
  readonly reward: number | null;
  readonly turns: number;
  readonly ok: boolean;
  readonly errors: number;
};

export type VariedRun = { readonly root: string; readonly episodes: readonly VariedEpisode[] };

export type VariedRunOptions = {
  readonly episodes?: number;
  readonly runId?: string;
  readonly seed?: number;
  /** Files; the last one is growing, the others are sealed. */
  readonly chunks?: number;
};

function lineOf(episode: VariedEpisode, runId: string, padding: number): string {
  const { id, kind, env, step, reward, turns, ok, errors } = episode;
  const run = { type: kind, id: runId, work: { type: kind, step: 0 } };
  const nodes = Array.from({ length: turns }, (_, index) => ({
    ...(index === 0 ? {} : { parent: index - 1 }),
    message: { role: 'assistant', content: 'w'.repeat(padding) },
  }));
  const trace = {
    id: `t-${id}`,
    nodes,
    calls: [],
    rewards: reward === null ? {} : { score: { score: reward, weight: 1 } },
    info: { kind, ...(step === null ? {} : { arrival: { step, time: 100 + step } }) },
    stop_condition: turns > 4 ? 'max_turns' : null,
    run,
  };
  const failures = Array.from({ length: errors }, () => ({ type: 'SandboxError', message: 'boot' }));
  return JSON.stringify({ id, env: { id: 'e', name: env }, run, ok, errors: failures, traces: [trace] });
}

/** Writes a run in the layout of prime-rl. Same options, same bytes. */
export function writeVariedRun(root: string, options: VariedRunOptions = {}): VariedRun {
  const { episodes: count = 60, runId = 'varied-run', seed = 1, chunks = 3 } = options;
  const random = seededRandom(seed);
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
  const episodes = Array.from({ length: count }, (_, index): VariedEpisode => {
    const errors = pick([0, 0, 0, 1, 2]);
    return {
      id: `e${String(index).padStart(4, '0')}`,
      kind: pick(['train', 'train', 'eval']),
      env: pick(['math', 'code', 'web']),
      step: random() < 0.1 ? null : index >> 3,
      reward: random() < 0.1 ? null : Math.round(random() * 100) / 100,
      turns: Math.floor(random() * 8),
      ok: random() < 0.9,
      errors,
    };
  });
  const files: Record<string, string | Buffer> = {};
  const each = Math.ceil(count / chunks);
  for (let chunk = 0; chunk < chunks; chunk += 1) {
    const lines = episodes.slice(chunk * each, (chunk + 1) * each);
    const text = lines.map((episode) => `${lineOf(episode, runId, Math.floor(random() * 400))}\n`).join('');
    const isSealed = chunk < chunks - 1;
    const name = `${String(chunk).padStart(5, '0')}.jsonl${isSealed ? '.zst' : ''}`;
    files[join('monitors/file/traces/stream', name)] = isSealed ? seal(Buffer.from(text), { frameBytes: 2000 }) : text;
  }
  return { root: writeTree(root, files), episodes };
}
