/** U12, R09: a service that is away for a day, of a time that runs twenty thousand times faster. Real files and sockets. */
import { appendFileSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { FastClock } from '../helpers/clocks.js';
import { type FaultyServer, startFaultyServer } from '../helpers/faulty-server.js';
import { FollowedUpload } from '../helpers/followed-upload.js';
import { episodeLine } from '../helpers/read-run.js';
import { tempFolder } from '../helpers/temp-folder.js';

const STREAM = 'monitors/file/traces/stream';
const DAY_MS = 86_400_000;
const EPISODES = 60;

const name = (index: number): string => `e${String(index).padStart(2, '0')}`;

/** Ids in the order in which they were stored. */
function storedIds({ stored }: FaultyServer): string[] {
  return [...stored.values()].flatMap((jsonl) =>
    [...String(jsonl).matchAll(/^\{"id":"(\w+)"/gm)].map(([, id = '']) => id),
  );
}

test.each([
  ['a run that is finished', false],
  ['a run that grows all the time, with --follow', true],
])('%s: everything arrives, the oldest first', async (_what, follows) => {
  const root = join(tempFolder(), 'run');
  mkdirSync(join(root, STREAM), { recursive: true });
  const chunk = join(root, STREAM, '00000.jsonl');
  const write = (from: number, to: number): void => {
    for (let index = from; index < to; index += 1) appendFileSync(chunk, episodeLine(name(index)));
  };
  write(0, follows ? EPISODES / 2 : EPISODES);
  const clock = new FastClock(20_000);
  const startMs = clock.nowMs();
  let refusals = 0;
  let written = EPISODES / 2;
  const server = await startFaultyServer(() => {
    const awayMs = clock.nowMs() - startMs;
    // The run grows by an episode about every half hour.
    for (; follows && written < EPISODES && awayMs > (written - EPISODES / 2) * (DAY_MS / EPISODES); written += 1)
      write(written, written + 1);
    if (awayMs > DAY_MS) return undefined;
    refusals += 1;
    return { kind: 'answer', status: 503 };
  });
  onTestFinished(() => server.close());
  const oneLine = episodeLine(name(0)).length;
  const upload = await FollowedUpload.start({
    root,
    service: server,
    follows,
    clock,
    concurrency: 1,
    maxAttempts: Number.POSITIVE_INFINITY,
    targetBytes: oneLine * 2,
  });
  if (follows) {
    await upload.untilSent(EPISODES);
    expect(written).toBe(EPISODES);
    void upload.drain();
  }
  expect(await upload.ended).toMatchObject({
    stopped: null,
    interrupted: false,
    sent: { episodes: EPISODES },
    rejected: [],
  });
  // More often than any limit of attempts that prl has by itself.
  expect(refusals).toBeGreaterThan(100);
  const ids = storedIds(server);
  expect([...ids].sort()).toEqual(Array.from({ length: EPISODES }, (_, index) => name(index)));
  expect([...server.stored.values()].join('').length).toBe(readFileSync(chunk).length);
  // Of those that were tried during the outage each has a back-off of its own: one request, and two batches behind it.
  expect(ids.indexOf(name(0))).toBeLessThan(8);
  const others = ids.filter((id) => id >= name(8));
  expect(others).toEqual([...others].sort());
});
