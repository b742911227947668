/**
 * Demand U4: what a lost journal knew is found again in the service's own listing, proven by digest, and no record body is
 * sent. Real runs, the real service behind a proxy that counts requests; every stored copy counted.
 */
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { UploadOutcome } from '../../src/core/upload/outcome.js';
import { type CountingProxy, startCountingProxy } from '../helpers/counting-proxy.js';
import { type EmbeddedService, startEmbedded } from '../helpers/embedded-service.js';
import { loseJournal, type UploadRunOptions, uploadRun } from '../helpers/run-upload.js';
import { tempFolder, writeTree } from '../helpers/temp-folder.js';
import { copyOfRun, storedEpisodes } from '../helpers/upload-command.js';
import { writeVariedRun } from '../helpers/varied-run.js';

const RUN_ID = 'varied-run';
const NOTHING_SENT = { episodes: 0, requests: 0 };
let service: EmbeddedService;
let proxy: CountingProxy;

beforeEach(async () => {
  service = await startEmbedded();
  onTestFinished(() => service.close());
  proxy = await startCountingProxy(service.url);
});

function upload(root: string, change: Partial<UploadRunOptions> = {}): Promise<UploadOutcome> {
  return uploadRun({ root, service: { url: proxy.url, token: service.token }, ...change });
}

const stream = (text: string): Record<string, string> => ({ 'monitors/file/traces/stream/00000.jsonl': text });

function episode(id: string, value = 'x'): string {
  return `${JSON.stringify({ id, env: { id: 'e' }, run: { id: RUN_ID }, traces: [], value })}\n`;
}

function trace(id: string): string {
  return `${JSON.stringify({ id, run: { id: RUN_ID }, nodes: [], calls: [] })}\n`;
}

describe('a finished run', () => {
  test('with its journal sends no body and asks nothing; without it the pages of the listing are all (U4, R30)', async () => {
    const { root, episodes } = writeVariedRun(join(tempFolder(), 'run'), { episodes: 1000, chunks: 4 });
    await upload(root);
    expect(proxy.take().pages).toBe(1);
    const ids = storedEpisodes(service, RUN_ID);
    expect(ids).toEqual(episodes.map(({ id }) => id));

    expect(await upload(root)).toMatchObject({ sent: NOTHING_SENT, already: { episodes: 1000 } });
    expect(proxy.take()).toEqual({ pages: 0, bodies: 0, others: 0 });

    loseJournal(root);
    const found = await upload(root);
    expect(found).toMatchObject({ sent: NOTHING_SENT, already: { episodes: 1000 }, plan: { episodes: 1000 } });
    expect(proxy.take()).toEqual({ pages: 10, bodies: 0, others: 0 });

    // And the journal is as good as the one that was lost.
    expect(await upload(root)).toMatchObject({ sent: NOTHING_SENT, already: { episodes: 1000 } });
    expect(proxy.take()).toEqual({ pages: 0, bodies: 0, others: 0 });
    expect(storedEpisodes(service, RUN_ID)).toEqual(ids);
  });

  test('was cut otherwise than it would be cut now: the listing tells how', async () => {
    const { root } = writeVariedRun(join(tempFolder(), 'run'));
    await upload(root, { targetBytes: 1_500 });
    loseJournal(root);
    proxy.take();
    const found = await upload(root, { targetBytes: 100_000, verifies: true });
    expect(found).toMatchObject({
      sent: NOTHING_SENT,
      already: { episodes: 60 },
      verified: { ok: true, episodes: 60 },
    });
    expect(proxy.take().bodies).toBe(0);
  });

  test.each([
    ['verifiers-eval', true, 0],
    ['prime-rl-stream', true, 0],
    ['prime-rl-rollouts-r1b', true, 0],
    // One of its records names no run, so that no listing of a run shows it.
    ['prime-rl-stream', false, 1],
  ])('%s, stamped %s: %d sent again', async (name, stamps, sentAgain) => {
    const root = copyOfRun(name, tempFolder());
    const { plan, damaged, rejected, sent } = await upload(root, { stamps });
    loseJournal(root);
    const found = await upload(root, { stamps });
    expect(found).toMatchObject({ plan, damaged, rejected, sent: { episodes: sentAgain, requests: sentAgain } });
    expect(found.already.episodes).toBe(sent.episodes - sentAgain);
    expect(sent.episodes).toBeGreaterThan(10);
  });

  test('of bare traces is looked up by its traces', async () => {
    const traces = Array.from({ length: 30 }, (_, index) => trace(`t${index}`)).join('');
    const root = writeTree(join(tempFolder(), 'run'), { 'traces.jsonl': traces });
    await upload(root, { targetBytes: 500 });
    loseJournal(root);
    proxy.take();
    expect(await upload(root)).toMatchObject({ sent: NOTHING_SENT, already: { episodes: 30 } });
    expect(proxy.take()).toEqual({ pages: 1, bodies: 0, others: 0 });
  });

  test('with damaged, blank and refused lines: they are reported as before, and the refused one alone is asked about again', async () => {
    const damage = ['{"id":"torn', '\0\0\0', '[1]', ''];
    const tooLong = 'x'.repeat(1_100);
    const lines = ['a', 'b', 'c', tooLong, 'd', 'e'].map((id) => episode(id).trim());
    const glued = `{"id":"half${episode('f').trim()}`;
    const text = [...lines.flatMap((line, index) => [line, damage[index % damage.length]]), glued, episode('g')];
    const root = writeTree(join(tempFolder(), 'run'), stream(text.join('\n')));
    const first = await upload(root);
    expect(first).toMatchObject({ sent: { episodes: 7 }, rejected: [{ id: tooLong }] });
    expect(first.damaged.map(({ kind }) => kind)).toEqual(
      expect.arrayContaining(['torn', 'nul', 'wrong_unit', 'glued']),
    );
    loseJournal(root);
    const { plan, damaged, rejected } = first;
    const found = await upload(root);
    expect(found).toMatchObject({
      plan,
      damaged,
      rejected,
      sent: { episodes: 0, requests: 1 },
      already: { episodes: 7 },
    });
    expect(await upload(root)).toMatchObject({ plan, damaged, rejected, sent: NOTHING_SENT, already: { episodes: 7 } });
  });
});

describe('what is not proven is sent', () => {
  test('an episode that reads otherwise than the one that was stored under its id, with its whole request', async () => {
    const root = writeTree(join(tempFolder(), 'run'), stream(episode('a') + episode('b') + episode('c')));
    await upload(root, { targetBytes: 2.9 * episode('a').length });
    loseJournal(root);
    writeTree(root, stream(episode('a') + episode('b', 'y') + episode('c')));
    const found = await upload(root, { targetBytes: 2.9 * episode('a').length });
    expect(found).toMatchObject({ sent: { episodes: 2, requests: 1 }, already: { episodes: 1 } });
    expect(storedEpisodes(service, RUN_ID)).toEqual(['a', 'a', 'b', 'b', 'c']);
  });

  test('what a growing run has gained since, and the LF that its last line was sent without is none of it', async () => {
    const root = writeTree(join(tempFolder(), 'run'), stream(episode('a') + episode('b').trim()));
    expect(await upload(root)).toMatchObject({ sent: { episodes: 2 } });
    loseJournal(root);
    writeTree(root, stream(episode('a') + episode('b') + episode('c')));
    expect(await upload(root)).toMatchObject({ sent: { episodes: 1 }, already: { episodes: 2 } });
    expect(storedEpisodes(service, RUN_ID)).toEqual(['a', 'b', 'c']);
  });

  test('everything, where the service keeps its listing to itself: that is said once something is stored', async () => {
    const { root, episodes } = writeVariedRun(join(tempFolder(), 'run'));
    await upload(root);
    loseJournal(root);
    proxy.refuse('GET');
    const notices: string[] = [];
    const onNotice = (notice: string): void => void notices.push(notice);
    expect(await upload(root, { onNotice })).toMatchObject({ stopped: null, sent: { episodes: 60 } });
    expect(storedEpisodes(service, RUN_ID)).toEqual(episodes.map(({ id }) => id));
    expect(notices).toEqual([
      expect.stringMatching(/^the service did not list what it holds of this run \(.*403.*\): .* is there twice where/),
    ]);
    // With a journal that knows, there is nothing to warn of.
    appendFileSync(join(root, 'monitors/file/traces/stream/00002.jsonl'), episode('later'));
    expect(await upload(root)).toMatchObject({ sent: { episodes: 1 } });
  });

  test('nothing, where it takes nothing either: nothing is said of its listing', async () => {
    const { root } = writeVariedRun(join(tempFolder(), 'run'));
    for (const method of ['GET', 'POST']) proxy.refuse(method);
    const outcome = await upload(root);
    expect(outcome).toMatchObject({ stopped: { errorCode: 'PRL_ERR_AUTH' }, sent: { episodes: 0 } });
  });
});

test('a journal older than the run: the listing is read as far as it has news, and only what came since is new (R03)', async () => {
  const { root, episodes } = writeVariedRun(join(tempFolder(), 'run'), { episodes: 600, chunks: 1 });
  const journal = join(root, 'monitors/prl/journal');
  const chunk = join(root, 'monitors/file/traces/stream/00000.jsonl');
  const whole = readFileSync(chunk);
  const half = whole.indexOf('\n', whole.length / 2) + 1;
  writeFileSync(chunk, whole.subarray(0, half));
  await upload(root);
  const old = readFileSync(journal);
  writeFileSync(chunk, whole);
  await upload(root);
  writeFileSync(journal, old);
  appendFileSync(chunk, episode('last'));
  proxy.take();
  expect(await upload(root)).toMatchObject({ sent: { episodes: 1, requests: 1 }, already: { episodes: 600 } });
  expect(proxy.take().pages).toBeLessThanOrEqual(5);
  expect(storedEpisodes(service, RUN_ID)).toEqual([...episodes.map(({ id }) => id), 'last']);
});

test('a lost journal of a run that a killed upload left half way: the other half is sent, each once', async () => {
  const { root, episodes } = writeVariedRun(join(tempFolder(), 'run'), { episodes: 200 });
  const stop = new AbortController();
  proxy.onRequest(() => {
    if (proxy.requests.length > 12) stop.abort();
  });
  expect(await upload(root, { signal: stop.signal })).toMatchObject({ interrupted: true });
  const before = storedEpisodes(service, RUN_ID).length;
  expect(before).toBeGreaterThan(0);
  loseJournal(root);
  const rest = await upload(root, { verifies: true });
  expect(rest).toMatchObject({ stopped: null, verified: { ok: true } });
  expect(rest.already.episodes + rest.sent.episodes).toBe(200);
  expect(rest.already.episodes).toBeGreaterThanOrEqual(before);
  expect(storedEpisodes(service, RUN_ID)).toEqual(episodes.map(({ id }) => id));
});
