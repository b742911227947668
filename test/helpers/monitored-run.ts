/** Runs written through a file monitor for tests: episodes as a producer has them, and what readers find afterwards. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { IndexComparison } from '../../src/core/index/compare.js';
import { FileMonitor } from '../../src/monitor/file-monitor.js';
import type { FileMonitorOptions } from '../../src/monitor/monitor-settings.js';
import type { MonitorNotice } from '../../src/monitor/monitor-types.js';
import { readRun } from './read-run.js';
import { checkedIndexes, SEAL_WORKER } from './stream-folder.js';
import { tempFolder } from './temp-folder.js';

export type Monitored = {
  readonly monitor: FileMonitor;
  readonly run: string;
  readonly notices: MonitorNotice[];
};

/** A monitor of a run of its own, or of a given one; the clock stands still. */
export async function openMonitor(options: FileMonitorOptions = {}, at?: string): Promise<Monitored> {
  const run = at ?? join(tempFolder(), 'run');
  const notices: MonitorNotice[] = [];
  const monitor = await FileMonitor.open(run, {
    run: { id: 'r1' },
    nowS: () => 1_790_000_000,
    onNotice: (notice) => notices.push(notice),
    workerUrl: SEAL_WORKER,
    ...options,
  });
  onTestFinished(() => monitor.finalize().catch(() => {})); // a test that is about its failure has seen it
  return { monitor, run, notices };
}

/** An episode of a few hundred bytes that verifiers loads, with a trace, and a node for each text. */
export function episodeOf(id: string, texts: readonly string[] = ['2+2?', '4']): ProducedEpisode {
  const task = { type: 'T', data: { idx: 0 } };
  const nodes = texts.map((content, index) => ({
    ...(index === 0 ? {} : { parent: index - 1 }),
    message: { role: index % 2 === 0 ? 'user' : 'assistant', content },
    sampled: index % 2 === 1,
    timestamp: 1_790_000_000.5 + index,
    token_ids: [index, 17, 3],
    mask: [false, index % 2 === 1, true],
    logprobs: [-0.03125, 0, -1e-7],
  }));
  const calls = nodes.flatMap(({ sampled }, node) =>
    sampled ? [{ node, finish_reason: 'stop', usage: { prompt_tokens: 12, completion_tokens: 3, cost: 0.5 } }] : [],
  );
  const trace: ProducedTrace = {
    version: 1,
    id: `${id}-t`,
    task,
    agent: { config: {}, name: 'agent', trainable: true },
    nodes,
    calls,
    rewards: { correct: { score: 1, weight: 1 } },
    metrics: {},
    info: {},
    is_completed: true,
    ok: true,
    stop_condition: 'agent_completed',
    errors: [],
    timing: { start: 1_790_000_000, agent: { start: 1_790_000_000, end: 1_790_000_001.5 } },
  };
  return { id, env: { id: 'arith' }, task, group: { id: 'g7' }, ok: true, errors: [], traces: [trace] };
}

export type ProducedTrace = { readonly id: string; info: Record<string, unknown>; readonly [key: string]: unknown };
export type ProducedEpisode = {
  readonly id: string;
  readonly traces: ProducedTrace[];
  readonly [key: string]: unknown;
};

export function tracesOf(run: string): string {
  return join(run, 'monitors/file/traces');
}

/** The rows of an index file. */
export function rowsOf(
  run: string,
  index = 'stream.index.jsonl',
): { id: string; trace_id: string; line: number; chunk: number; offset: number }[] {
  const text = readFileSync(join(tracesOf(run), index), 'utf8');
  return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]));
}

/** The ids of a run's episodes in their order; nothing may be damaged. */
export async function idsOf(run: string): Promise<string[]> {
  const { records, damage } = await readRun(run);
  if (damage.length > 0) throw new Error(JSON.stringify(damage));
  return records.map(({ bytes }) => (JSON.parse(bytes.toString()) as { id: string }).id);
}

/** What `prl index --check` finds in each index of a run. */
export async function checkIndexes(run: string): Promise<(IndexComparison | null)[]> {
  return (await checkedIndexes(run)).map(({ check }) => check);
}
