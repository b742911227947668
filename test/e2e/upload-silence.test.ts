/**
 * The built commands before a peer that says nothing: they wait no longer than they must, a signal ends them at once, and
 * what was not sent goes with the next upload (U5, U24, R01, R06, R12).
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Ended, Running } from '../helpers/child.js';
import { startFaultyServer } from '../helpers/faulty-server.js';
import { seededRandom, writeGeneratedRun } from '../helpers/generated-run.js';
import { gone, Producer } from '../helpers/producer.js';
import { startSwallowingPeer } from '../helpers/swallowing-peer.js';
import { tempFolder } from '../helpers/temp-folder.js';
import { documentOf, runPrl, startPrl, storedEpisodes } from '../helpers/upload-command.js';
import { temporaryFolder } from '../service/service-fixture.js';
import { serveChild } from './serve-child.js';

const KEY = { PRIME_API_KEY: 'a-token-of-tests' };
const SIGNALS = [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const;

function generate(episodes: number): { readonly home: string; readonly run: string } {
  const home = tempFolder();
  const run = join(home, 'run');
  writeGeneratedRun(run, { episodes, episodeBytes: 12_000 });
  return { home, run };
}

/** An upload that says on standard error how far it is. */
function start(run: string, home: string, url: string, ...args: string[]): Running {
  const shown = ['--no-tui', '--progress-interval', '100ms'];
  const upload = startPrl(['upload', run, '--url', url, ...shown, ...args], { home, environment: KEY });
  onTestFinished(() => void upload.child.kill('SIGKILL'));
  return upload;
}

/** The demand itself is a time; it is a tenth of a second on a quiet machine. */
async function expectSoon({ child, ended }: Running, signal: NodeJS.Signals, status: number): Promise<Ended> {
  const startedMs = performance.now();
  child.kill(signal);
  const end = await ended;
  expect(end.status).toBe(status);
  expect(performance.now() - startedMs).toBeLessThan(2000);
  return end;
}

describe.skipIf(process.platform !== 'linux')('R12: an endpoint that swallows packets', () => {
  test('a signal while it is asked what it has, or is to take a request: out within 2 s, and nothing is lost', async () => {
    const { home, run } = generate(4);
    const url = await startSwallowingPeer();
    const asked = start(run, home, url);
    await vi.waitFor(() => expect(asked.stderr()).toMatch(/^uploading run to /m), 20_000);
    await expectSoon(asked, 'SIGINT', 130);
    const sending = start(run, home, url);
    await vi.waitFor(() => expect(sending.stderr()).toMatch(/in flight [12] of 2 /), 20_000);
    await expectSoon(sending, 'SIGTERM', 143);
    const server = await startFaultyServer();
    onTestFinished(() => server.close());
    const again = documentOf(await runPrl(['upload', run, '--url', server.url, '--json'], { home, environment: KEY }));
    expect(again).toMatchObject({ sent: { episodes: 4 }, complete: true });
  });

  test('holds no producer that ends: neither it nor the process that uploads for it', async () => {
    const state = temporaryFolder();
    const url = await startSwallowingPeer();
    const producer = new Producer({ url, run: 'r1', state, count: 20, end: 'leave' });
    await producer.until(({ uploadPid }) => uploadPid !== null);
    const uploadPid = producer.uploadPid ?? 0;
    await producer.until((one) => one.said('all-logged').length > 0);
    const startedMs = performance.now();
    expect(await producer.ended).toMatchObject({ status: 0, stderr: '' });
    await gone(uploadPid);
    // Of the 10 s that it tries to connect; a busy machine may be given more than the demand.
    expect(performance.now() - startedMs).toBeLessThan(5_000);
    expect(producer.said('saved')).toHaveLength(20);
  });
});

describe('U5, R01: a journal that is damaged', () => {
  const noise = seededRandom(5);
  test.each<[string, (journal: Buffer) => Buffer]>([
    [
      'a byte flipped in its middle',
      (journal) => Buffer.from(journal.map((byte, at) => (at === journal.length >> 1 ? byte ^ 4 : byte))),
    ],
    [
      'zeros from its middle on, and more behind',
      (journal) => Buffer.concat([journal.subarray(0, journal.length >> 1), Buffer.alloc(8_192), Buffer.from('x')]),
    ],
    ['noise', (journal) => Buffer.from(journal.map(() => Math.floor(noise() * 256)))],
  ])(
    '%s, before a service that was stopped: one warning, SIGINT ends it within 2 s, and the next upload is right',
    async (_what, damage) => {
      const { home, run } = generate(20);
      const directory = temporaryFolder();
      const service = await serveChild(directory);
      const url = `http://127.0.0.1:${service.port}`;
      const batch = ['--batch', '30KB'];
      expect((await start(run, home, url, ...batch).ended).status).toBe(0);
      const journal = join(run, 'monitors/prl/journal');
      writeFileSync(journal, damage(readFileSync(journal)));
      service.kill('SIGSTOP');
      const upload = start(run, home, url, ...batch);
      await vi.waitFor(() => expect(upload.stderr()).toMatch(/the journal is damaged/), 20_000);
      const { stderr } = await expectSoon(upload, 'SIGINT', 130);
      expect(stderr.match(/^! .*$/gm)).toEqual([expect.stringContaining('the journal is damaged')]);
      service.kill('SIGCONT');
      const again = await runPrl(['upload', run, '--url', url, '--json', ...batch], { home, environment: KEY });
      expect(documentOf(again)).toMatchObject({ complete: true, plan: { episodes: 20 } });
      expect(storedEpisodes({ directory }, 'generated-run')).toHaveLength(20);
      expect(existsSync(`${dirname(journal)}/lock`)).toBe(false);
      expect(readdirSync(dirname(journal)).filter((name) => name.startsWith('journal.damaged-'))).toHaveLength(1);
    },
  );
});

describe('R06: a service that refuses without saying for how long', () => {
  test.each(SIGNALS)(
    '%s during the back-off that follows: out within 2 s, and the next upload sends everything',
    async (signal, status) => {
      const { home, run } = generate(4);
      let isBusy = true;
      const server = await startFaultyServer(() => (isBusy ? { kind: 'answer', status: 503 } : undefined));
      onTestFinished(() => server.close());
      const upload = start(run, home, server.url, '--max-attempts', '50');
      // The third wait is one of four seconds.
      await vi.waitFor(() => expect(server.requests.length).toBeGreaterThanOrEqual(3), 30_000);
      await expectSoon(upload, signal, status);
      isBusy = false;
      const again = documentOf(
        await runPrl(['upload', run, '--url', server.url, '--json'], { home, environment: KEY }),
      );
      expect(again).toMatchObject({ sent: { episodes: 4 }, already: { episodes: 0 }, complete: true });
      expect(server.stored.size).toBe(1);
    },
  );
});
