/** What the service says, and what a prime monitor makes of it (spec 07 sections 3 and 6). Real processes and sockets. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { SECRET } from '../helpers/access.js';
import type { Fault } from '../helpers/faulty-server.js';
import { episodeOf } from '../helpers/monitored-run.js';
import { ids, Primed, serve, storedIds } from '../helpers/primed.js';
import { tempFolder } from '../helpers/temp-folder.js';

// The process that uploads comes behind everybody else: on a busy machine that takes its time.
vi.setConfig({ testTimeout: 120_000 });

const TRAIN = { step: 5, kind: 'train' } as const;
const answer = (status: number, body?: string): Extract<Fault, { kind: 'answer' }> => ({
  kind: 'answer',
  status,
  ...(body === undefined ? {} : { body }),
});
const NOT_ENABLED = answer(403, '{"error":{"code":"service_not_enabled","message":"not in the beta"}}');
const FORBIDDEN = answer(403, '{"error":{"code":"forbidden","message":"no scope"}}');

const log = ({ monitor }: Primed, names: readonly string[]): boolean =>
  monitor.log(
    names.map((id) => episodeOf(id)),
    TRAIN,
  );

test.each([
  ['a bad key', answer(401), /the service refused the API key \(401\); check PRIME_API_KEY and its scopes$/],
  ['billing', answer(402), /the service asks for payment \(402\); /],
  ['a key without the right', FORBIDDEN, /the service forbids the upload \(403\): no scope; /],
  ['no traces service', answer(404), /no traces service answers at this URL \(HTTP 404\): .*; check the URL/],
])(
  '%s retires it at once: what is on the disk stays there, later episodes fail, and a better start sends the rest',
  async (_what, fault, message) => {
    const server = await serve(() => fault);
    const environment = { PRL_STATE_DIR: join(tempFolder(), 'state') };
    const primed = await Primed.open({ url: server.url, environment });
    log(primed, ids(5));
    await primed.until(({ monitor }) => monitor.snapshot().state === 'retired');
    log(primed, ids(7, 'late'));
    expect(await primed.monitor.flush()).toBe(false);
    expect(primed.monitor.failedRecords).toBe(7);
    const report = await primed.finish();
    expect(report).toMatchObject({
      counts: { admitted: 12, failed: 7, unsent: 5, unknown: 0, stored: 0 },
      left: { directory: primed.spool, records: 5 },
    });
    expect(server.requests).toHaveLength(1);
    expect(primed.told('retired')).toEqual([expect.stringMatching(message)]);
    expect(JSON.stringify([primed.notices, report])).not.toContain(SECRET);
    const healthy = await serve();
    const next = await Primed.open({ url: healthy.url, environment });
    expect(await next.finish()).toMatchObject({ isComplete: true, counts: { adopted: 5, stored: 5 } });
    expect(storedIds(healthy)).toEqual(ids(5));
  },
);

test('scenario F: an account without the service switches it off quietly: nothing failed, one warning', async () => {
  const server = await serve(() => NOT_ENABLED);
  const primed = await Primed.open({ url: server.url });
  log(primed, ids(5));
  await primed.until(({ monitor }) => monitor.snapshot().state === 'off');
  log(primed, ids(7, 'late'));
  await primed.monitor.flush();
  expect(primed.monitor.failedRecords).toBe(0);
  const report = await primed.finish();
  expect(report.counts).toMatchObject({ admitted: 12, failed: 0, skipped: 7, unsent: 5 });
  expect(report.stopped).toMatchObject({ code: 'service_not_enabled' });
  expect(server.requests).toHaveLength(1);
  expect(primed.told('retired')).toEqual([expect.stringMatching(/^nothing is sent to the service: .*not in the beta/)]);
});

test('scenario E: failures that pass are no strikes where the disk keeps the records: it keeps trying, and all arrive', async () => {
  const statuses = [503, 502, 201, 429, 503, 504];
  const server = await serve((index) => {
    const status = statuses[index] ?? 201;
    return status === 201 ? undefined : { ...answer(status), headers: { 'Retry-After': '1' } };
  });
  const primed = await Primed.open({ url: server.url, concurrency: 1, batchBytes: 1 });
  log(primed, ids(2));
  await primed.until(({ monitor }) => monitor.snapshot().retries === 5);
  log(primed, ids(7, 'late'));
  expect(await primed.finish()).toMatchObject({ isComplete: true, counts: { failed: 0, stored: 9 } });
  expect(storedIds(server).sort()).toEqual([...ids(2), ...ids(7, 'late')].sort());
  expect(existsSync(primed.spool)).toBe(false);
});

test.each([
  ['plain HTTP to another machine', { url: 'http://traces.example', apiKey: SECRET }, 'plain HTTP'],
  ['no key', { url: 'https://traces.example', apiKey: '' }, 'no API key'],
  ['no URL', { url: 'traces', apiKey: SECRET }, 'URL'],
])('%s is refused before anything is opened', async (_what, access, message) => {
  const state = join(tempFolder(), 'state');
  const opening = Primed.open({ url: '', access, environment: { PRL_STATE_DIR: state } });
  await expect(opening).rejects.toMatchObject({ code: 'PRL_ERR_USAGE', message: expect.stringContaining(message) });
  expect(existsSync(state)).toBe(false);
});

test('the service and the key come from the environment, as for every command', async () => {
  const server = await serve();
  const environment = {
    ...{ PRIME_TRACES_URL: server.url, PRIME_API_KEY: SECRET, PRL_RUN_ID: 'named/run', HOME: tempFolder() },
    PRL_STATE_DIR: join(tempFolder(), 'state'),
  };
  const primed = await Primed.open({ url: '', access: undefined as never, run: {}, environment });
  expect(primed.monitor.runId).toBe('named/run');
  log(primed, ['a']);
  expect(await primed.finish()).toMatchObject({ isComplete: true });
  expect(server.requests[0]?.headers.authorization).toBe(`Bearer ${SECRET}`);
});
