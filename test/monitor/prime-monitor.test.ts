/** The prime monitor over a spool: what is logged arrives once and in order, and nothing stays. Real files, processes and sockets. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { episodeOf, type ProducedEpisode } from '../helpers/monitored-run.js';
import { ids, Primed, serve, storedEpisodes, storedIds } from '../helpers/primed.js';
import { tempFolder } from '../helpers/temp-folder.js';

// The process that uploads comes behind everybody else: on a busy machine that takes its time.
vi.setConfig({ testTimeout: 120_000 });

const TRAIN = { step: 5, kind: 'train' } as const;
const AWAY = { kind: 'answer', status: 503, headers: { 'Retry-After': '1' } } as const;

const logAll = ({ monitor }: Primed, names: readonly string[]): boolean[] =>
  names.map((id) => monitor.log(episodeOf(id), TRAIN));
const STREAM = 'monitors/file/traces/stream';

test('what is logged is stored, each once and in order, with its run and arrival; then nothing is left', async () => {
  const server = await serve();
  const primed = await Primed.open({ url: server.url, concurrency: 1 });
  const { monitor } = primed;
  expect(logAll(primed, ids(50))).not.toContain(false);
  expect(monitor.snapshot()).toMatchObject({
    submitted: 50,
    admitted: 50,
    queuedRecords: 50,
    stored: 0,
    state: 'open',
  });
  const report = await primed.finish();
  expect(report).toEqual({
    counts: {
      ...{ submitted: 50, admitted: 50, dropped: 0, afterClose: 0, adopted: 0 },
      ...{ stored: 50, failed: 0, rejected: 0, skipped: 0, unsent: 0, unknown: 0 },
    },
    isComplete: true,
    left: null,
    lost: 0,
    missing: 0,
    rejected: [],
    stopped: null,
  });
  expect(storedIds(server)).toEqual(ids(50));
  expect(storedEpisodes(server)[0]).toMatchObject({
    run: { type: 'train', id: 'r1', work: { type: 'train', step: 5 } },
    traces: [{ run: { id: 'r1' }, info: { kind: 'train', arrival: { step: 5, time: 1_790_000_000 } } }],
  });
  expect(existsSync(primed.spool)).toBe(false);
  expect(primed.notices).toEqual([]);
});

test('a record without a JSON form, or that the service refuses, costs itself alone', async () => {
  const server = await serve(() => ({ kind: 'refuse', refuses: (jsonl) => jsonl.includes('"id":"e3"') }));
  const primed = await Primed.open({ url: server.url });
  const odd = { ...episodeOf('odd'), task: { data: { text: '\ud800' } } };
  primed.monitor.log([episodeOf('e0'), odd, episodeOf('e1'), null as never, episodeOf('e2')], TRAIN);
  logAll(primed, ['e3', 'e4']);
  const report = await primed.finish();
  expect(storedIds(server).sort()).toEqual(['e0', 'e1', 'e2', 'e4']);
  expect(report).toMatchObject({ isComplete: true, counts: { submitted: 7, admitted: 7, stored: 4, rejected: 3 } });
  expect(report.rejected).toMatchObject([{ id: 'e3', code: 'invalid_trace' }]);
  expect(primed.told('refused')).toEqual([
    expect.stringMatching(
      /^1 episode was refused, 1 in all; the last one: task\.data\.text cannot be written as JSON: /,
    ),
    expect.stringMatching(/^1 episode was refused, 2 in all; the last one: .*an episode is an object$/),
  ]);
  expect(primed.told('rejected')).toEqual([
    '1 episode was rejected, 1 in all; the service called the last one invalid_trace',
  ]);
});

test('R-Q-6: flush resolves when everything before is settled, and says when it will not be in time', async () => {
  let isAway = true;
  const server = await serve(() => (isAway ? AWAY : undefined));
  const primed = await Primed.open({ url: server.url });
  const { monitor } = primed;
  expect(await monitor.flush()).toBe(true);
  logAll(primed, ids(3));
  expect(await monitor.flush(300)).toBe(false);
  isAway = false;
  expect(await monitor.flush()).toBe(true);
  expect(monitor.snapshot()).toMatchObject({ stored: 3, unsent: 0, unknown: 0, queuedRecords: 0 });
  // The spool has the chunk that grows, until the end.
  expect(readdirSync(join(primed.spool, STREAM))).toEqual(['00000.jsonl']);
  expect((await primed.finish()).isComplete).toBe(true);
  expect(await monitor.flush()).toBe(false);
});

test('the disk is given back as records are settled', async () => {
  const server = await serve();
  const primed = await Primed.open({ url: server.url, chunkBytes: 4000 });
  logAll(primed, ids(40));
  await primed.monitor.flush();
  logAll(primed, ids(2, 'late'));
  await primed.until(({ spool }) => readdirSync(join(spool, STREAM)).length === 1);
  expect(primed.monitor.snapshot().spoolBytes).toBeLessThanOrEqual(4000);
  expect(await primed.finish()).toMatchObject({ isComplete: true, counts: { stored: 42 } });
  expect(storedIds(server).sort()).toEqual([...ids(40), ...ids(2, 'late')].sort());
});

describe('the end', () => {
  test('one within its time, the same for everybody who asks; what comes later is not taken', async () => {
    const server = await serve();
    const primed = await Primed.open({ url: server.url });
    const { monitor } = primed;
    logAll(primed, ['a']);
    const finishing = monitor.finish();
    expect(monitor.finish(1)).toBe(finishing);
    expect(logAll(primed, ['b', 'c'])).toEqual([false, false]);
    expect(await finishing).toMatchObject({ isComplete: true });
    // What was handed over after the end is counted, and nothing else.
    expect(monitor.snapshot()).toMatchObject({ submitted: 3, admitted: 1, afterClose: 2, stored: 1, state: 'closed' });
    expect(storedIds(server)).toEqual(['a']);
  });

  test('what is not settled in time stays on the disk, is reported, and the next monitor of the run sends it', async () => {
    const server = await serve((index) => (index === 0 ? undefined : { kind: 'stall' }));
    const environment = { PRL_STATE_DIR: join(tempFolder(), 'state') };
    const first = await Primed.open({ url: server.url, environment, concurrency: 1, batchBytes: 1 });
    logAll(first, ids(6));
    await first.until(({ monitor }) => monitor.snapshot().inFlightRequests === 1 && monitor.snapshot().stored === 1);
    const startMs = performance.now();
    const report = await first.finish(200);
    expect(performance.now() - startMs).toBeLessThan(5_000);
    expect(report).toMatchObject({
      isComplete: false,
      counts: { admitted: 6, stored: 1, unknown: 1, unsent: 4 },
      left: { directory: first.spool, records: 5 },
      lost: 0,
    });
    expect(first.told('left')).toEqual([
      `5 episodes are not confirmed by the service and kept in ${first.spool}; \`prl upload\` of it sends what is left`,
    ]);
    const healthy = await serve();
    const second = await Primed.open({ url: healthy.url, environment });
    logAll(second, ['new']);
    const end = await second.finish();
    // Another service knows nothing of the first.
    expect(end).toMatchObject({ isComplete: true, counts: { admitted: 1, adopted: 6, stored: 7 }, left: null });
    expect(storedIds(healthy)).toEqual([...ids(6), 'new']);
    expect(existsSync(second.spool)).toBe(false);
  });

  test('a lost answer: the next monitor sends the same bytes again, and the service has them once', async () => {
    let requests = 0;
    const server = await serve(() => {
      requests += 1;
      return requests === 1 ? { kind: 'lost_response' } : requests < 4 ? { kind: 'stall' } : undefined;
    });
    const options = { url: server.url, environment: { PRL_STATE_DIR: join(tempFolder(), 'state') } };
    const first = await Primed.open(options);
    logAll(first, ids(5));
    await first.until(({ monitor }) => monitor.snapshot().retries === 1);
    expect(await first.finish(50)).toMatchObject({ counts: { stored: 0, unknown: 5, unsent: 0 } });
    requests = 10;
    const second = await Primed.open(options);
    expect(await second.finish()).toMatchObject({ isComplete: true, counts: { adopted: 5, stored: 5 } });
    expect(storedIds(server)).toEqual(ids(5));
    expect(server.stored.size).toBe(1);
  });
});

describe('an episode that changes after it was logged', () => {
  const change = (episode: ProducedEpisode): void => {
    for (const trace of episode.traces) trace.info = { late: true };
  };

  test('is stored as it was, with snapshots', async () => {
    const server = await serve();
    const primed = await Primed.open({ url: server.url, snapshot: true });
    const episode = episodeOf('a');
    primed.monitor.log(episode, TRAIN);
    change(episode);
    await primed.finish();
    expect(storedEpisodes(server)[0]?.traces[0]?.info).not.toHaveProperty('late');
  });

  test('may change once it was flushed, without', async () => {
    const server = await serve();
    const primed = await Primed.open({ url: server.url });
    const episode = episodeOf('a');
    primed.monitor.log(episode, TRAIN);
    await primed.monitor.flush();
    change(episode);
    await primed.finish();
    expect(storedEpisodes(server)[0]?.traces[0]?.info).not.toHaveProperty('late');
  });
});

test('one process writes the spool of a run', async () => {
  const server = await serve();
  const first = await Primed.open({ url: server.url });
  const options = { url: server.url, spoolDirectory: first.spool };
  await expect(Primed.open(options)).rejects.toMatchObject({ code: 'PRL_ERR_LOCKED' });
  await first.finish();
  await Primed.open(options);
});
