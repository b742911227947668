/**
 * The built `prl upload --follow` beside real writers: each episode once, whoever is killed, and an end by itself where the
 * run has one (P6, U1, U2, U3, U17, U24, U27). The check reads every stored copy out of the service's database.
 */
import { spawn } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { type Running, watchChild } from '../helpers/child.js';
import { type Fault, type FaultyServer, startFaultyServer } from '../helpers/faulty-server.js';
import { seededRandom } from '../helpers/generated-run.js';
import { holdOpen } from '../helpers/index-command.js';
import { seal } from '../helpers/seal.js';
import { documentOf, runPrl, startPrl, storedEpisodes } from '../helpers/upload-command.js';
import { onTestEnd, temporaryFolder } from '../service/service-fixture.js';
import { type ServeChild, serveChild } from './serve-child.js';

const STREAM = 'monitors/file/traces/stream';
const HOOKS = resolve('test/helpers/typescript-hooks.mjs');
let directory = '';
let home = '';
let run = '';
let service: ServeChild;

beforeEach(async () => {
  directory = temporaryFolder();
  home = temporaryFolder();
  run = join(home, 'run');
  mkdirSync(run);
  service = await serveChild(directory);
});

const url = (): string => `http://127.0.0.1:${service.port}`;
const follow = (...args: string[]): Running => {
  const running = startPrl(['upload', run, '--follow', '--url', url(), '--json', ...args], { home });
  onTestEnd(() => void running.child.kill('SIGKILL'));
  return running;
};
const stored = (runId: string): string[] => storedEpisodes({ directory }, runId);

/** Receipts that the uploader has: what is stored, its service knows some time before. */
function receipts(): number {
  const journals = readdirSync(home, { recursive: true, encoding: 'utf8' }).filter(
    (name) => basename(name) === 'journal',
  );
  const texts = journals.map((name) => readFileSync(join(home, name), 'latin1'));
  return texts.join('').split('"kind":"stored"').length - 1;
}

/** A process that writes the run; killed with the test at the latest. */
function startWriter(...args: string[]): Running {
  const child = spawn(process.execPath, ['--no-warnings', ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestEnd(() => void child.kill('SIGKILL'));
  return watchChild(child);
}

/** Looks again until it holds; the time limit of the test ends it. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((done) => setTimeout(done, 20));
}

function episode(id: string, text = ''): string {
  const identity = { type: 'train', id: 'r1' };
  const traces = [{ id: `t-${id}`, nodes: [], run: identity, info: { text } }];
  return `${JSON.stringify({ id, env: { id: 'e' }, run: identity, ok: true, errors: [], traces })}\n`;
}

function writeChunk(chunk: number, content: string): string {
  const path = join(run, STREAM, `${String(chunk).padStart(5, '0')}.jsonl`);
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, content);
  return path;
}

describe('beside a writer', () => {
  test('the file monitor: begun before the run is, it ends with finalize, every episode stored and read back', {
    timeout: 60_000,
  }, async () => {
    const uploading = follow('--verify', '--batch', '4000');
    const ids = Array.from({ length: 40 }, (_, index) => `e${String(index).padStart(2, '0')}`);
    const writer = await startWriter(resolve('test/helpers/monitor-child.mjs'), run, 'flush', ...ids).ended;
    expect(writer.stdout).toMatch(/closed\n$/);
    const ended = await uploading.ended;
    expect(ended).toMatchObject({ status: 0, stderr: '' });
    expect(documentOf(ended)).toMatchObject({
      complete: true,
      partial: false,
      run_id: 'r1',
      plan: { episodes: 40 },
      sent: { episodes: 40 },
      verified: { episodes: 40, ok: true },
    });
    expect(stored('r1')).toEqual(ids);
  });

  test.each([1, 2])(
    'one that stops inside lines, rolls, takes back and seals, the uploader killed at random moments, seed %i',
    {
      timeout: 120_000,
    },
    async (seed) => {
      const count = 1_200;
      const random = seededRandom(seed);
      mkdirSync(join(run, STREAM), { recursive: true });
      const args = ['--import', HOOKS, resolve('test/helpers/restless-writer.ts'), join(run, STREAM)];
      const writing = startWriter(...args, String(count), String(seed));
      const options = ['--run-id', 'restless', '--batch', '6000', '--concurrency', '3'];
      let kills = 0;
      while (kills < 3 || writing.child.exitCode === null) {
        const uploading = follow(...options);
        const enough = Math.min(count, stored('restless').length + Math.floor(random() * 120));
        await until(() => stored('restless').length >= enough);
        uploading.child.kill('SIGKILL');
        await uploading.ended;
        kills += 1;
      }
      expect((await writing.ended).status).toBe(0);
      const ended = await follow(...options, '--verify').ended;
      expect(ended.status).toBe(3); // it leaves torn lines
      expect(documentOf(ended)).toMatchObject({
        complete: true,
        rejected: [],
        verified: { episodes: count, ok: true },
      });
      expect(
        stored('restless')
          .map(Number)
          .sort((a, b) => a - b),
      ).toEqual(Array.from({ length: count }, (_, index) => index));
    },
  );
});

describe('the end', () => {
  test('of a run that was finished before it began: at once, as without --follow', async () => {
    const sealed = join(run, STREAM, '00000.jsonl.zst');
    mkdirSync(join(sealed, '..'), { recursive: true });
    writeFileSync(sealed, seal(Buffer.from(episode('a') + episode('b'))));
    const ended = await follow().ended;
    expect(ended).toMatchObject({ status: 0, stderr: '' });
    expect(documentOf(ended)).toMatchObject({ complete: true, sent: { episodes: 2, requests: 1 } });
  });

  test.each(['SIGINT', 'SIGTERM'] as const)(
    'of a run whose writer is gone comes with %s, within two seconds, and the state is saved',
    async (signal) => {
      const path = writeChunk(0, episode('a'));
      const writer = await holdOpen(path);
      await writer.end();
      const uploading = follow();
      await until(() => receipts() === 1);
      appendFileSync(path, `${episode('b')}{"id":"torn`);
      await until(() => receipts() === 2);
      const startMs = performance.now();
      uploading.child.kill(signal);
      const ended = await uploading.ended;
      expect(performance.now() - startMs).toBeLessThan(2_000);
      expect(ended.status).toBe(signal === 'SIGINT' ? 130 : 143);
      expect(documentOf(ended)).toMatchObject({ partial: true, complete: false, sent: { episodes: 2 }, damaged: [] });
      const again = documentOf(await runPrl(['upload', run, '--url', url(), '--json'], { home }));
      expect(again).toMatchObject({ sent: { requests: 0 }, already: { episodes: 2 }, damaged: [{ kind: 'torn' }] });
      expect(existsSync(join(run, 'monitors/prl/lock'))).toBe(false);
    },
  );

  test('comes with a signal before there is a run, and before it has an episode', async () => {
    for (const content of [null, '', '{"id":"torn']) {
      if (content !== null) writeChunk(0, content);
      const uploading = startPrl(['upload', run, '-f', '--url', url()], { home });
      await until(() =>
        (content === null ? /no run in .* yet; waiting for it/ : /uploading run to/).test(uploading.stderr()),
      );
      uploading.child.kill('SIGINT');
      expect(await uploading.ended).toMatchObject({ status: 130, signal: null });
    }
    expect(stored('r1')).toEqual([]);
  });
});

test('a bare file and standard input are followed to their own ends', async () => {
  const file = join(home, 'traces.jsonl');
  writeFileSync(file, episode('a'));
  const uploading = startPrl(['upload', file, '-f', '--url', url(), '--json'], { home });
  await until(() => receipts() === 1);
  appendFileSync(file, episode('b'));
  await until(() => receipts() === 2);
  uploading.child.kill('SIGINT');
  expect(documentOf(await uploading.ended)).toMatchObject({ partial: true, sent: { episodes: 2 } });
  const input = Buffer.from(episode('c'));
  const piped = await runPrl(['upload', '-', '-f', '--url', url(), '--json'], { home, input });
  expect(piped.status).toBe(0);
  expect(documentOf(piped)).toMatchObject({ complete: true, sent: { episodes: 1 } });
});

test('another upload of a run that is followed ends with status 9', async () => {
  writeChunk(0, episode('a'));
  follow();
  await until(() => stored('r1').length === 1);
  expect((await runPrl(['upload', run, '--url', url()], { home })).status).toBe(9);
});

test.each([
  [['--dry-run'], /--follow.*--dry-run|--dry-run.*--follow/],
  [['--retry-rejected'], /--follow.*--retry-rejected|--retry-rejected.*--follow/],
  [['another'], /--follow takes one run, not 2/],
])('--follow with %j is exit status 2, and nothing is written', async (args, said) => {
  writeChunk(0, episode('a'));
  const ended = await runPrl(['upload', run, '--follow', '--url', url(), ...args], { home });
  expect(ended.status).toBe(2);
  expect(ended.stderr).toMatch(said);
  expect(existsSync(join(run, 'monitors/prl'))).toBe(false);
});

describe('a slow service', () => {
  async function serve(script: (index: number) => Fault | undefined): Promise<FaultyServer> {
    const server = await startFaultyServer(script);
    onTestEnd(() => server.close());
    return server;
  }

  test('U16: of a writer of 100 MB/s and a service of 100 kB/s memory sees what the requests hold', {
    timeout: 60_000,
  }, async () => {
    const slow = await serve(() => ({ kind: 'slow', bytesPerSecond: 100_000 }));
    const path = writeChunk(0, '');
    const line = Buffer.from(episode('a', 'x'.repeat(1_000_000)));
    const running = startPrl(
      ['upload', run, '-f', '--url', slow.url, '--json', '--batch', '1MB', '--budget', '16MiB', '--compress', 'none'],
      { home },
    );
    for (let count = 0; count < 400; count += 1) appendFileSync(path, line);
    await until(() => slow.readBytes() > 1_000_000);
    running.child.kill('SIGINT');
    const document = documentOf(await running.ended);
    expect(document.partial).toBe(true);
    expect(document.plan.bytes).toBeLessThan(16 * 2 ** 20);
    expect(document.peak_rss_bytes).toBeLessThan(250 * 2 ** 20);
  });

  test('U12: one that is away for longer than any upload tries is waited for, and asked no more than it allows', {
    timeout: 60_000,
  }, async () => {
    const refusal = { kind: 'answer', status: 503, headers: { 'Retry-After': '1' } } as const;
    const server = await serve((index) => (index < 7 ? refusal : undefined));
    writeChunk(0, episode('a'));
    const running = startPrl(['upload', run, '-f', '--url', server.url, '--json'], { home });
    await until(() => server.stored.size === 1);
    running.child.kill('SIGINT');
    expect(documentOf(await running.ended)).toMatchObject({ partial: true, sent: { episodes: 1 }, retries: 7 });
    // As many as are asked for.
    const away = await serve(() => refusal);
    appendFileSync(join(run, STREAM, '00000.jsonl'), episode('b'));
    const args = ['upload', run, '-f', '--url', away.url, '--json', '--max-attempts', '2'];
    expect((await runPrl(args, { home })).status).toBe(5);
    expect(away.requests).toHaveLength(2);
  });

  test('a request that is held does not keep a signal waiting, and is sent again by the next upload, once', async () => {
    let release = (): void => {};
    const held = new Promise<void>((done) => {
      release = done;
    });
    const server = await serve((index) => (index === 0 ? { kind: 'held', until: held } : undefined));
    writeChunk(0, episode('a'));
    const running = startPrl(['upload', run, '-f', '--url', server.url, '--json'], { home });
    await until(() => server.requests.length === 1);
    const startMs = performance.now();
    running.child.kill('SIGINT');
    expect((await running.ended).status).toBe(130);
    expect(performance.now() - startMs).toBeLessThan(2_000);
    release();
    appendFileSync(join(run, STREAM, '00000.jsonl'), episode('b'));
    const again = await runPrl(['upload', run, '--url', server.url, '--json'], { home });
    expect(documentOf(again)).toMatchObject({ sent: { episodes: 2 } });
    // The cut that was made is repeated: the same bytes under the same key.
    expect([...server.stored.values()].map(String)).toEqual([episode('a'), episode('b')]);
    expect(readFileSync(join(run, STREAM, '00000.jsonl'), 'utf8')).toBe(episode('a') + episode('b'));
  });
});
