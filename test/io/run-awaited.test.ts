/** A run that is waited for until it begins, and what is not waited for. */
import { mkdirSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { awaitRun } from '../../src/io/run-awaited.js';
import { FastClock } from '../helpers/clocks.js';
import { episodeLine } from '../helpers/read-run.js';
import { tempFolder, writeTree } from '../helpers/temp-folder.js';

const never = new AbortController().signal;
const clock = new FastClock(50);
const LINE = episodeLine('a');

/** What is made step by step; only the last step makes it a run. */
const BEGINNINGS: readonly (readonly [string, readonly string[]])[] = [
  ['R3', ['monitors/', 'monitors/file/traces/', 'monitors/file/traces/stream/']],
  ['R1b', ['rollouts/step_0/train/all/', 'rollouts/step_0/train/all/traces.jsonl']],
  ['V1c', ['config.toml', 'traces.jsonl']],
  ['R3', ['00000.jsonl']],
];

test.each(BEGINNINGS)('a run of layout %s is opened when it has begun, and not before: %j', async (layout, steps) => {
  const path = tempFolder();
  const told: string[] = [];
  let isOpen = false;
  const opening = awaitRun(path, { signal: never, clock, onWaiting: () => void told.push(path) }).then((run) => {
    isOpen = true;
    return run;
  });
  for (const step of steps) {
    // Two looks find nothing before the next step.
    await clock.sleep(1_200, never);
    expect(isOpen).toBe(false);
    writeTree(path, { [step]: step === 'config.toml' ? '' : LINE });
  }
  expect(await opening).toMatchObject({ layout, root: path });
  expect(told).toEqual([path]);
});

test('what is there is opened at once, and a path that is not there is refused', async () => {
  const path = writeTree(tempFolder(), { 'run/traces.jsonl': LINE, 'runs/a/traces.jsonl': LINE });
  const onWaiting = (): void => expect.unreachable();
  const open = (name: string): Promise<unknown> => awaitRun(join(path, name), { signal: never, clock, onWaiting });
  await open('run');
  await open('run/traces.jsonl');
  await expect(open('typo')).rejects.toMatchObject({ code: 'PRL_ERR_NOT_FOUND' });
  await expect(open('runs')).rejects.toMatchObject({ code: 'PRL_ERR_USAGE' });
});

test('waiting ends with the signal, and with the directory', async () => {
  const path = tempFolder();
  const abort = new AbortController();
  const reason = new Error('enough');
  const waiting = awaitRun(path, { signal: abort.signal, clock, onWaiting: () => abort.abort(reason) });
  await expect(waiting).rejects.toThrow();
  mkdirSync(join(path, 'gone'));
  const gone = awaitRun(join(path, 'gone'), { signal: never, clock, onWaiting: () => rmdirSync(join(path, 'gone')) });
  await expect(gone).rejects.toMatchObject({ code: 'PRL_ERR_NOT_FOUND' });
});
