/** What random lives of a prime monitor meet: faults of a service, and processes of a test that are found by their script. */
import { readdirSync, readFileSync } from 'node:fs';
import type { Fault } from './faulty-server.js';

const answer = (status: number, headers = {}, code = ''): Fault => ({
  kind: 'answer',
  ...{ status, headers, body: code === '' ? '' : JSON.stringify({ error: { code, message: '' } }) },
});
/** What passes. */
export const PASSING = [
  answer(503, { 'Retry-After': '1' }),
  answer(429),
  { kind: 'stall' },
  { kind: 'reset', afterBytes: 100 },
] as const;
/** The record that was stored before the answer was lost must be one that is stored, so not beside refusals. */
export const LOSING = [...PASSING, { kind: 'lost_response' }, { kind: 'cut_answer' }] as const;
export const REFUSING: Fault = { kind: 'refuse', refuses: (jsonl) => jsonl.includes('"id":"poison') };
/** What retires a monitor. */
export const FINAL = [answer(401, {}, 'unauthenticated'), answer(403, {}, 'service_not_enabled')] as const;

/** Processes of this one that run the script. */
export function childrenBy(script: string): number[] {
  const lists = readdirSync('/proc/self/task').map((task) => readFileSync(`/proc/self/task/${task}/children`, 'utf8'));
  const pids = lists.flatMap((list) => list.split(' ').map(Number)).filter((pid) => pid > 0);
  return pids.filter((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(script));
}

type RandomLife = { step(): Promise<void>; end(timeoutMs: number): Promise<unknown> };

/** Lives a run through `lives` times, `steps` random steps each, and ends each within none of the time, some, or more. */
export async function liveRandomly(
  begin: () => Promise<RandomLife>,
  { lives, steps, pickMs }: { lives: number; steps: number; pickMs: (choices: readonly number[]) => number },
): Promise<void> {
  for (let count = 0; count < lives; count += 1) {
    const life = await begin();
    for (let step = 0; step < steps; step += 1) await life.step();
    await life.end(pickMs([0, 30, 300]));
  }
}
