/** `prl upload` as built, within its limits: memory, bandwidth, patience, descriptors, and how soon it stops (U7, U10, U13, U22, U24). */
import { spawn } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { NO_FAULTS } from '../../src/service/faults.js';
import { type Running, watchChild } from '../helpers/child.js';
import { type EmbeddedService, startEmbedded } from '../helpers/embedded-service.js';
import { type FaultyServer, startFaultyServer } from '../helpers/faulty-server.js';
import { writeGeneratedRun } from '../helpers/generated-run.js';
import { tempFolder } from '../helpers/temp-folder.js';
import { documentOf, runPrl, startPrl, storedEpisodes } from '../helpers/upload-command.js';

const MIB = 2 ** 20;
const RUN_ID = 'generated-run';
const KEY = { PRIME_API_KEY: 'a-token-of-tests' };

type Prepared = { readonly home: string; readonly run: string };

function generate(episodes: number, episodeBytes: number, chunkBytes = 5 * 1024 ** 3): Prepared {
  const home = tempFolder();
  const run = join(home, 'run');
  writeGeneratedRun(run, { episodes, episodeBytes, runId: RUN_ID, chunkBytes });
  return { home, run };
}

async function embedded(latencyMs: number): Promise<EmbeddedService> {
  const service = await startEmbedded({ faults: { ...NO_FAULTS, latencyMs } });
  onTestFinished(() => service.close());
  return service;
}

/** A service in a process of its own, which can be stopped without being told. */
async function serveApart(home: string): Promise<{ readonly url: string; readonly process: Running }> {
  const running = startPrl(['serve', '--port', '0', '--data', join(home, 'served')], { home });
  onTestFinished(async () => {
    running.child.kill('SIGCONT');
    running.child.kill('SIGKILL');
    await running.ended;
  });
  await vi.waitFor(() => expect(running.stdout()).toContain('listening on'), { timeout: 20_000 });
  return { url: /listening on (\S+)/.exec(running.stdout())?.[1] ?? '', process: running };
}

async function faulty(script: Parameters<typeof startFaultyServer>[0]): Promise<FaultyServer> {
  const server = await startFaultyServer(script);
  onTestFinished(() => server.close());
  return server;
}

/** Resolves when a process has read nothing from anywhere for a while: it cannot go on. */
async function untilItRests({ child }: Running): Promise<void> {
  const path = `/proc/${child.pid}/io`;
  const readBytes = (): string => /^rchar: \d+$/m.exec(readFileSync(path, 'utf8'))?.[0] ?? '';
  for (let before = '', same = 0; same < 25; ) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    const now = readBytes();
    same = now === before ? same + 1 : 0;
    before = now;
  }
}

function memoryOf({ child }: Running): { readonly peakBytes: number } {
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
  return { peakBytes: Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024 };
}

describe.skipIf(!existsSync('/proc/self/io'))('memory (needs /proc)', () => {
  test.each([
    ['gzip', 32, 256, 18],
    ['none', 32, 128, 12],
    ['gzip', 1, 128, 12],
  ])(
    'U7, R13, R14, R15: a stopped service, lines of 20 MB, bodies by %s, --concurrency %d: %d MiB and 200 more at most, nothing lost',
    async (compress, concurrency, budgetMib, episodes) => {
      const { home, run } = generate(episodes, 20_000_000);
      const service = await serveApart(home);
      service.process.child.kill('SIGSTOP');
      const limits = ['--concurrency', `${concurrency}`, '--compress', compress, '--budget', `${budgetMib}MiB`];
      const upload = startPrl(['upload', run, '--url', service.url, '--json', ...limits], { home, environment: KEY });
      await untilItRests(upload);
      const mostBytes = (budgetMib + 200) * MIB;
      expect(memoryOf(upload).peakBytes).toBeLessThan(mostBytes);
      service.process.child.kill('SIGCONT');
      const document = documentOf(await upload.ended);
      expect(document).toMatchObject({ sent: { episodes }, complete: true, rejected: [], damaged: [] });
      expect(document.peak_rss_bytes).toBeLessThan(mostBytes);
    },
  );
});

test('U7: a service that takes all there is, 1 GB in lines of 9 MB: 256 MiB and 200 more at most', async () => {
  const { home, run } = generate(115, 9_000_000);
  const service = await serveApart(home);
  const document = documentOf(
    await runPrl(['upload', run, '--url', service.url, '--json'], { home, environment: KEY }),
  );
  expect(document).toMatchObject({ sent: { episodes: 115 }, complete: true });
  expect(document.peak_rss_bytes).toBeLessThan((256 + 200) * MIB);
});

describe('requests in flight', () => {
  test('left to itself an upload finds out that a slow service takes eight at once, and says so', async () => {
    const { home, run } = generate(150, 12_000);
    const service = await embedded(200);
    const args = ['upload', run, '--url', service.url, '--batch', '24KB', '--no-tui', '--progress-interval', '100ms'];
    const { status, stderr } = await runPrl(args, { home, environment: KEY });
    expect(status).toBe(0);
    const limits = [...stderr.matchAll(/in flight \d+ of (\d+) /g)].map(([, limit]) => Number(limit));
    expect(limits[0]).toBe(2);
    expect(Math.max(...limits)).toBe(8);
    expect(storedEpisodes(service, RUN_ID)).toHaveLength(150);
  });

  test.skipIf(process.platform !== 'linux')(
    'U22: 32 descriptors and 300 files: fewer requests, no file is lost',
    async () => {
      const { home, run } = generate(300, 12_000, 1);
      expect(globSync(join(run, 'monitors/file/traces/stream/*.jsonl'))).toHaveLength(300);
      const service = await embedded(5);
      const command = [
        process.execPath,
        'bin/run.js',
        'upload',
        run,
        '--url',
        service.url,
        '--json',
        '--concurrency',
        '32',
      ];
      const child = spawn('bash', ['-c', 'ulimit -n 32; exec "$@"', 'bash', ...command], {
        env: { PATH: process.env.PATH ?? '', HOME: home, PRL_STATE_DIR: join(home, 'state'), LANG: 'C.UTF-8', ...KEY },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      const document = documentOf(await watchChild(child).ended);
      expect(document).toMatchObject({ sent: { episodes: 300 }, damaged: [], rejected: [], complete: true });
      expect(storedEpisodes(service, RUN_ID)).toHaveLength(300);
    },
  );
});

test('--bwlimit: the bodies of all requests together are no faster, whoever serves', async () => {
  const { home, run } = generate(30, 30_000);
  const service = await embedded(0);
  const limits = ['--bwlimit', '200KB/s', '--compress', 'none', '--batch', '100KB', '--concurrency', '8'];
  const document = documentOf(
    await runPrl(['upload', run, '--url', service.url, '--json', ...limits], { home, environment: KEY }),
  );
  expect(document).toMatchObject({ sent: { episodes: 30 }, retries: 0, complete: true });
  expect(document.sent.wire_bytes / (document.seconds + 0.1)).toBeLessThan(200_000);
});

describe('patience', () => {
  test('--max-wait: a service that asks for more ends the upload at once, with both times (exit 5)', async () => {
    const { home, run } = generate(4, 12_000);
    const server = await faulty(() => ({ kind: 'answer', status: 503, headers: { 'Retry-After': '120' } }));
    const args = ['upload', run, '--url', server.url, '--json', '--max-wait', '1m'];
    const { status, stdout, stderr } = await runPrl(args, { home, environment: KEY });
    expect(status).toBe(5);
    expect(JSON.parse(stdout)).toMatchObject({ partial: true, sent: { episodes: 0, requests: 1 } });
    expect(JSON.parse(stderr).error.message).toMatch(/asks to wait 120 s, allowed are 60 s/);
  });

  const signals = [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const;

  test.each(signals)(
    'U24, R06: %s during a Retry-After of 120 s: out within 2 s, and nothing is lost',
    async (signal, expected) => {
      const { home, run } = generate(4, 12_000);
      let isBusy = true;
      const server = await faulty(() =>
        isBusy ? { kind: 'answer', status: 503, headers: { 'Retry-After': '120' } } : undefined,
      );
      const args = ['upload', run, '--url', server.url, '--no-tui', '--progress-interval', '100ms'];
      const upload = startPrl(args, { home, environment: KEY });
      await vi.waitFor(() => expect(upload.stderr()).toMatch(/waiting for the service until .* \(it asked\)/), 20_000);
      await expectSoon(upload, signal, expected);
      isBusy = false;
      const again = documentOf(
        await runPrl(['upload', run, '--url', server.url, '--json'], { home, environment: KEY }),
      );
      expect(again).toMatchObject({ sent: { episodes: 4 }, already: { episodes: 0 }, complete: true });
    },
  );

  test.each(signals)('U24, R12: %s with a service that was stopped: out within 2 s', async (signal, expected) => {
    const { home, run } = generate(8, 2_000_000);
    const service = await serveApart(home);
    service.process.child.kill('SIGSTOP');
    const args = ['upload', run, '--url', service.url, '--no-tui', '--progress-interval', '100ms', '--batch', '4MB'];
    const upload = startPrl(args, { home, environment: KEY });
    await vi.waitFor(() => expect(upload.stderr()).toMatch(/in flight [12] of 2 /), 20_000);
    await expectSoon(upload, signal, expected);
  });

  test('U24: during a wait of our own, for the bandwidth limit, as well', async () => {
    const { home, run } = generate(8, 200_000);
    const service = await embedded(0);
    const args = [
      'upload',
      run,
      '--url',
      service.url,
      '--no-tui',
      '--progress-interval',
      '100ms',
      '--bwlimit',
      '1KiB/s',
    ];
    const upload = startPrl(args, { home, environment: KEY });
    await vi.waitFor(() => expect(upload.stderr()).toMatch(/in flight 1 of 2 /), 20_000);
    await expectSoon(upload, 'SIGINT', 130);
  });
});

/** The demand itself is a time; it is a tenth of a second on a quiet machine. */
async function expectSoon({ child, ended }: Running, signal: NodeJS.Signals, status: number): Promise<void> {
  const startedMs = performance.now();
  child.kill(signal);
  expect((await ended).status).toBe(status);
  expect(performance.now() - startedMs).toBeLessThan(2000);
}
