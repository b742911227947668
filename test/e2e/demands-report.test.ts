/**
 * Demands P1, P2, P3, P4, P6, P7 and R25 at the built command: what it says before, while and after it sends, held against
 * what the service holds and what has left the machine.
 */
import { spawn } from 'node:child_process';
import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { UploadDocument } from '../../src/cli/upload-document.js';
import { NO_FAULTS } from '../../src/service/faults.js';
import type { ServiceOptions } from '../../src/service/server.js';
import { watchChild } from '../helpers/child.js';
import { type EmbeddedService, startEmbedded } from '../helpers/embedded-service.js';
import { type FaultyServer, startFaultyServer } from '../helpers/faulty-server.js';
import { tempFolder } from '../helpers/temp-folder.js';
import { copyOfRun, documentOf, runPrl, startPrl, storedEpisodes } from '../helpers/upload-command.js';
import { writeVariedRun } from '../helpers/varied-run.js';
import { HAS_STRACE } from './serve-child.js';

const RUN_ID = 'varied-run';
const LINES = ['--no-tui', '--progress-interval', '50ms'];
let home = '';

beforeEach(() => {
  home = tempFolder();
});

async function embedded(options: Partial<ServiceOptions> = {}): Promise<EmbeddedService> {
  const service = await startEmbedded(options);
  onTestFinished(() => service.close());
  return service;
}

function episode(id: string, text = ''): string {
  const run = { type: 'eval', id: RUN_ID };
  const traces = [{ id: `t-${id}`, nodes: [], run, info: { text } }];
  return `${JSON.stringify({ id, env: { id: 'e' }, run, traces })}\n`;
}

describe('P1: phases', () => {
  test('a slow verification counts up to its own total, and only then is anything called done', async () => {
    const service = await embedded({ faults: { ...NO_FAULTS, latencyMs: 25 } });
    const { root } = writeVariedRun(join(home, 'run'));
    const args = ['upload', root, '--url', service.url, '--verify', '--concurrency', '1', ...LINES];
    const { status, stderr } = await runPrl(args, { home, environment: { PRIME_API_KEY: service.token } });
    expect(status).toBe(0);
    const lines = stderr.trimEnd().split('\n');
    const counts = lines.map((line) => /^\d\d:\d\d:\d\d upload {2}verified (\d+)\/(\d+) episodes/.exec(line));
    const seen = counts.flatMap((match) => (match === null ? [] : [[Number(match[1]), Number(match[2])] as const]));
    expect(new Set(seen.map(([, total]) => total))).toEqual(new Set([60]));
    const done = seen.map(([count]) => count);
    expect(done).toEqual([...done].sort((a, b) => a - b));
    expect(new Set(done).size).toBeGreaterThan(3);
    // Behind the first line of it come only others of it, and the report.
    const first = counts.findIndex((match) => match !== null);
    const report = lines.findIndex((line) => line.startsWith(' uploaded '));
    expect(counts.slice(first, report).every((match) => match !== null)).toBe(true);
    expect(stderr).toContain(' verified  60 episodes read back: all the same');
  });
});

describe('P2: the report says what the service holds', () => {
  const good = Array.from({ length: 40 }, (_, index) => `good${index + 10}`);
  const long = 'x'.repeat(3_000);

  /** Good lines, and among them what is refused and what is no record. */
  function writeMixed(): string {
    const lines = good.map((id) => episode(id));
    lines.splice(30, 0, episode('long2', long), '[1]\n');
    lines.splice(20, 0, '{"id":"torn\n', episode('long1', long));
    lines.splice(10, 0, '\0\0\0\n', episode('long0', long), '\n');
    const file = join(home, 'traces.jsonl');
    writeFileSync(file, lines.join(''));
    return file;
  }

  test('after responses that were lost and an interruption in the middle: every record of the file is in one place, by both accounts', async () => {
    const file = writeMixed();
    const faults = { ...NO_FAULTS, lostResponseRatio: 0.2, latencyMs: 40 };
    const service = await embedded({ faults, limits: { lineBytes: 2_000 } });
    const environment = { PRIME_API_KEY: service.token };
    const args = ['upload', file, '--url', service.url, '--json', '--batch', '400', '--concurrency', '2'];
    const { child, ended } = startPrl([...args, '--max-attempts', '20'], { home, environment });
    await vi.waitFor(() => expect(storedEpisodes(service, RUN_ID).length).toBeGreaterThan(8), 60_000);
    child.kill('SIGINT');
    const stopped = await ended;
    expect(stopped.status).toBe(130);
    const partial = documentOf(stopped);
    expect(partial).toMatchObject({ partial: true, complete: false });
    const inDatabase = storedEpisodes(service, RUN_ID).length;
    // What was on its way when it was stopped may be stored, and nobody has said so.
    expect(partial.sent.episodes).toBeLessThanOrEqual(inDatabase);
    expect(partial.sent.episodes).toBeGreaterThanOrEqual(inDatabase - 2 * 3);
    const whole = await runPrl([...args, '--max-attempts', '20'], { home, environment });
    expect(whole.status).toBe(3);
    const document = documentOf(whole);
    expectConserved(document);
    expect(document.already.episodes).toBeGreaterThanOrEqual(partial.sent.episodes);
    expect(document.damaged.map(({ kind }) => kind).sort()).toEqual(['nul', 'torn', 'wrong_unit']);
    expect(storedEpisodes(service, RUN_ID)).toEqual(good);
    const text = await runPrl(
      args.filter((word) => word !== '--json'),
      { home, environment },
    );
    expect(text.stderr).toContain(' uploaded 0 episodes, 0 B (0 B on the wire)');
    expect(text.stderr).toContain('; 40 already there, 3 rejected, 3 damaged\n');
  });

  function expectConserved({ plan, sent, already, rejected }: UploadDocument): void {
    expect(plan.episodes).toBe(good.length + 3);
    expect(sent.episodes + already.episodes).toBe(good.length);
    expect(rejected.map(({ id }) => id)).toEqual(['long0', 'long1', 'long2']);
  }
});

test('P3: of a service that refuses one in a hundred each is listed with its place and reason, and goes up when asked again', async () => {
  const ids = Array.from({ length: 300 }, (_, index) => `e${index + 100}`);
  const texts = ids.map((id, index) => episode(id, index % 100 === 50 ? 'x'.repeat(3_000) : ''));
  const file = join(home, 'traces.jsonl');
  writeFileSync(file, texts.join(''));
  const dataDir = join(home, 'served');
  const strict = await startEmbedded({ dataDir, limits: { lineBytes: 2_000 } });
  const port = Number(new URL(strict.url).port);
  const options = { home, environment: { PRIME_API_KEY: strict.token } };
  const args = ['upload', file, '--url', strict.url];
  const first = await runPrl([...args, '--json'], options);
  const text = await runPrl(args, options);
  await strict.close();
  expect([first.status, text.status]).toEqual([3, 3]);
  const expected = [50, 150, 250].map((index) => ({
    ...{ chunk: 0, line: index + 1, offset: texts.slice(0, index).join('').length, id: ids[index] },
    ...{ code: 'trace_too_large', message: expect.stringMatching(/\d/) },
  }));
  expect(documentOf(first).rejected).toEqual(expected.map((entry) => expect.objectContaining(entry)));
  expect(
    text.stderr.match(/^ rejected {2}line \d+ \(chunk 0, offset [\d,]+\) episode e\d+ {2}trace_too_large: "/gm),
  ).toHaveLength(3);
  expect(text.stderr.trimEnd().split('\n').at(-1)).toMatch(/^ next .* --retry-rejected$/);
  const lenient = await embedded({ dataDir, port });
  const retried = await runPrl([...args, '--json', '--retry-rejected'], options);
  expect(documentOf(retried)).toMatchObject({ sent: { episodes: 3 }, already: { episodes: 297 }, rejected: [] });
  expect(storedEpisodes(lenient, RUN_ID)).toEqual(ids);
});

test('P4: --bwlimit is met from both sides', async () => {
  const file = join(home, 'traces.jsonl');
  writeFileSync(file, Array.from({ length: 40 }, (_, index) => episode(`e${index}`, 'x'.repeat(20_000))).join(''));
  const server = await startFaultyServer();
  onTestFinished(() => server.close());
  const limits = ['--bwlimit', '250KB/s', '--compress', 'none', '--batch', '40KB', '--concurrency', '4'];
  const { status } = await runPrl(['upload', file, '--url', server.url, '--json', ...limits], { home });
  expect(status).toBe(0);
  const arrived = server.requests.map(({ atMs }) => atMs);
  const seconds = (Math.max(...arrived) - Math.min(...arrived)) / 1000;
  expect(seconds).toBeGreaterThan(1.5);
  // Requests are told by their beginnings: those of the four at either end are not counted, or counted whole.
  const middle = server.requests.slice(0, -1).reduce((sum, { rawBody }) => sum + rawBody.length, 0);
  expect(middle / seconds).toBeGreaterThan(250_000 * 0.6);
  expect((middle - 4 * 45_000) / seconds).toBeLessThan(250_000 * 1.05);
});

test('P6: who follows says how far behind he is in records and bytes, and that he waits', async () => {
  let release = (): void => {};
  const until = new Promise<void>((done) => {
    release = done;
  });
  const server = await startFaultyServer((index) => (index === 0 ? { kind: 'held', until } : undefined));
  onTestFinished(() => server.close());
  const file = join(home, 'traces.jsonl');
  writeFileSync(file, episode('a') + episode('b', 'x'.repeat(2_000)));
  const upload = startPrl(['upload', file, '--follow', '--url', server.url, '--batch', '300', ...LINES], { home });
  onTestFinished(() => void upload.child.kill('SIGKILL'));
  await vi.waitFor(() => expect(upload.stderr()).toMatch(/ backlog 2 \(2\.\d+ KiB, oldest \d:\d\d\)/), 20_000);
  appendFileSync(file, episode('c'));
  await vi.waitFor(() => expect(upload.stderr()).toMatch(/ backlog 3 \(/), 20_000);
  expect(upload.stderr()).not.toContain('waiting for new episodes');
  release();
  await vi.waitFor(() => expect(upload.stderr()).toMatch(/ 3\/3 episodes .* waiting for new episodes/), 20_000);
  upload.child.kill('SIGINT');
  expect((await upload.ended).status).toBe(130);
  expect([...server.stored.values()].length).toBe(3);
});

describe('P7: no surprise', () => {
  async function serve(): Promise<FaultyServer> {
    const server = await startFaultyServer(() => undefined, { scriptsReads: true });
    onTestFinished(() => server.close());
    return server;
  }

  test.skipIf(!HAS_STRACE)(
    'the first line comes before any connection, and tells destination, account, run, count and size (needs strace)',
    async () => {
      const run = copyOfRun('prime-rl-stream', home);
      const server = await serve();
      const log = join(home, 'strace');
      const strace = ['-f', '-qq', '-s', '20', '-o', log, '-e', 'trace=write,connect'];
      const prl = [process.execPath, 'bin/run.js', 'upload', run, '--url', server.url, '--no-tui'];
      const child = spawn('strace', [...strace, ...prl], {
        env: { PATH: process.env.PATH ?? '', HOME: home, PRIME_API_KEY: 'a-key', PRIME_TEAM_ID: 'team-7' },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      const { status, stderr } = await watchChild(child).ended;
      expect(status).toBe(0);
      expect(stderr.split('\n')[0]).toBe(
        `uploading prime-rl-stream to ${server.url} as the run its records name (team team-7): about 16 episodes, 230 KiB in 3 chunks`,
      );
      const calls = readFileSync(log, 'utf8').split('\n');
      const told = calls.findIndex((call) => /write\(2, "uploading /.test(call));
      const connected = calls.findIndex((call) => /connect\(.*AF_INET/.test(call));
      expect(told).toBeGreaterThan(-1);
      expect(connected).toBeGreaterThan(told);
    },
  );

  test('a dry run opens no connection, whatever it plans, and whatever is known', async () => {
    const run = copyOfRun('prime-rl-stream', home);
    const other = writeVariedRun(join(home, 'other')).root;
    const server = await serve();
    const environment = { PRIME_API_KEY: 'a-key' };
    const plan = async (...words: string[]): Promise<void> => {
      const ended = await runPrl(['upload', ...words, '--url', server.url, '--dry-run'], { home, environment });
      expect({ words, status: ended.status }).toEqual({ words, status: 0 });
    };
    await plan(run);
    await plan(run, other, '--json', '--kind', 'eval');
    await plan(run, '--retry-rejected');
    expect(server.connections()).toBe(0);
    // With a journal, of which half is lost, and of a run that the service would list.
    await runPrl(['upload', run, other, '--url', server.url], { home, environment });
    rmSync(join(other, 'monitors/prl'), { recursive: true });
    const after = server.connections();
    expect(after).toBeGreaterThan(0);
    await plan(run, other);
    await plan(run, '--retry-rejected');
    expect(server.connections()).toBe(after);
  });
});

test('R25: what was stored before a SIGINT at half way is not sent again', async () => {
  const count = 80;
  const texts = Array.from({ length: count }, (_, index) => episode(`e${index + 100}`, 'x'.repeat(20_000)));
  const file = join(home, 'traces.jsonl');
  writeFileSync(file, texts.join(''));
  const server = await startFaultyServer(() => ({ kind: 'held', until: new Promise((done) => setTimeout(done, 20)) }));
  onTestFinished(() => server.close());
  const args = [
    'upload',
    file,
    '--url',
    server.url,
    '--json',
    '--compress',
    'none',
    '--batch',
    '100KB',
    '--concurrency',
    '2',
  ];
  const { child, ended } = startPrl(args, { home });
  const half = (): boolean =>
    [...server.stored.values()].reduce((sum, { length }) => sum + length, 0) > texts.join('').length / 2;
  await vi.waitFor(() => expect(half()).toBe(true), { timeout: 30_000, interval: 5 });
  child.kill('SIGINT');
  const first = documentOf(await ended);
  const readBefore = server.readBytes();
  const second = documentOf(await runPrl(args, { home }));
  expect(second).toMatchObject({ complete: true, already: { episodes: first.sent.episodes } });
  expect(first.sent.episodes).toBeGreaterThan(count / 2 - 1);
  // The other half, and two requests with what is around them.
  const most = texts.join('').length / 2 + 2 * 101_000;
  expect(server.readBytes() - readBefore).toBeLessThan(most + 20 * 1_000);
  expect([...server.stored.values()].map(String).join('').split('\n').sort()).toEqual(
    texts.join('').split('\n').sort(),
  );
});
