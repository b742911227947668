/** `prl upload` as built, when it is killed, stopped, refused, lied to, raced, or out of reach. */
import { appendFileSync, existsSync, globSync, openSync, readFileSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { NO_FAULTS } from '../../src/service/faults.js';
import { type EmbeddedService, startEmbedded } from '../helpers/embedded-service.js';
import { startFaultyServer } from '../helpers/faulty-server.js';
import { seededRandom, writeGeneratedRun } from '../helpers/generated-run.js';
import { tempFolder, writeTree } from '../helpers/temp-folder.js';
import { documentOf, runPrl, startPrl, storedEpisodes } from '../helpers/upload-command.js';

const RUN_ID = 'generated-run';

type Prepared = { readonly home: string; readonly run: string; readonly ids: readonly string[] };

/** A run of small episodes over several chunks. */
function generate(episodes: number, episodeBytes = 20_000): Prepared {
  const home = tempFolder();
  const run = join(home, 'run');
  writeGeneratedRun(run, { episodes, episodeBytes, runId: RUN_ID, chunkBytes: 600_000 });
  return { home, run, ids: idsIn(run) };
}

/** Read without any code of prl's: what the service must hold in the end. */
function idsIn(run: string): string[] {
  const chunks = globSync(join(run, 'monitors/file/traces/stream/*.jsonl')).sort();
  const lines = chunks.flatMap((chunk) => readFileSync(chunk, 'utf8').split('\n'));
  return lines.flatMap((line) => (line === '' ? [] : [(JSON.parse(line) as { id: string }).id])).sort();
}

function argsFor(run: string, service: { url: string }): string[] {
  return ['upload', run, '--url', service.url, '--json', '--batch', '100KB', '--concurrency', '2'];
}

/** Waits until the service has stored at least `count` episodes. Bounded by the test's own time limit. */
async function untilStored(service: EmbeddedService, count: number): Promise<void> {
  while (storedEpisodes(service, RUN_ID).length < count) await new Promise((resolve) => setTimeout(resolve, 20));
}

describe('killed and started again', () => {
  test.each([1, 2, 3])(
    'SIGKILL at a random moment, seed %i: the rerun sends the rest, each once (U2, U3)',
    async (seed) => {
      const { home, run, ids } = generate(80);
      const service = await startEmbedded({ faults: { ...NO_FAULTS, latencyMs: 15 } });
      const environment = { PRIME_API_KEY: service.token };
      const random = seededRandom(seed);
      try {
        for (let round = 0; round < 3; round += 1) {
          const { child, ended } = startPrl(argsFor(run, service), { home, environment });
          await untilStored(service, Math.min(70, 1 + round * 20 + Math.floor(random() * 20)));
          child.kill('SIGKILL');
          await ended;
        }
        const stored = storedEpisodes(service, RUN_ID);
        const last = documentOf(await runPrl([...argsFor(run, service), '--verify'], { home, environment }));
        expect(storedEpisodes(service, RUN_ID)).toEqual(ids);
        expect(last).toMatchObject({ complete: true, verified: { episodes: 80, ok: true }, rejected: [], damaged: [] });
        expect(last.sent.episodes + last.already.episodes).toBe(80);
        // At most what was in flight is sent again: two requests of at most 100 KB, five episodes each.
        expect(last.already.episodes).toBeGreaterThanOrEqual(stored.length - 2 * 5);
      } finally {
        await service.close();
      }
    },
  );

  test('SIGINT saves what is stored, says so, and ends in 130 (C8, P2)', async () => {
    const { home, run, ids } = generate(80);
    const service = await startEmbedded({ faults: { ...NO_FAULTS, latencyMs: 30 } });
    const environment = { PRIME_API_KEY: service.token };
    try {
      const { child, ended } = startPrl(argsFor(run, service), { home, environment });
      await untilStored(service, 10);
      child.kill('SIGINT');
      const stopped = await ended;
      expect(stopped.status).toBe(130);
      const document = documentOf(stopped);
      expect(document).toMatchObject({ complete: false, partial: true });
      expect(document.sent.episodes).toBeLessThan(80);
      const rest = documentOf(await runPrl(argsFor(run, service), { home, environment }));
      expect(rest.already.episodes).toBeGreaterThanOrEqual(document.sent.episodes);
      expect(rest).toMatchObject({ complete: true, partial: false });
      expect(storedEpisodes(service, RUN_ID)).toEqual(ids);
    } finally {
      await service.close();
    }
  });

  test('a lost journal costs requests, never a second copy (U2)', async () => {
    const { home, run, ids } = generate(40);
    const service = await startEmbedded();
    const environment = { PRIME_API_KEY: service.token };
    try {
      await runPrl(argsFor(run, service), { home, environment });
      const journal = join(run, 'monitors/prl/journal');
      expect(existsSync(journal)).toBe(true);
      const file = openSync(journal, 'r+');
      writeSync(file, Buffer.alloc(64), 0, 64, Math.floor(statSync(journal).size / 3));
      const again = await runPrl([...argsFor(run, service), '--verify'], { home, environment });
      expect(documentOf(again)).toMatchObject({ complete: true, verified: { episodes: 40, ok: true } });
      expect(globSync(`${journal}.damaged-*`)).toHaveLength(1);
      expect(storedEpisodes(service, RUN_ID)).toEqual(ids);
    } finally {
      await service.close();
    }
  });
});

describe('a run that moves', () => {
  test('lines appended meanwhile go with the next pass, a half line is no damage (U17, R23)', async () => {
    const { home, run } = generate(20);
    const stream = join(run, 'monitors/file/traces/stream');
    const live = globSync(join(stream, '*.jsonl')).sort().at(-1) as string;
    const more = readFileSync(live, 'utf8').split('\n')[0] as string;
    const line = (index: number): string => `${more.replace(/[0-9a-f]{32}/g, (id) => id.slice(0, -2) + index)}\n`;
    const service = await startEmbedded({ faults: { ...NO_FAULTS, latencyMs: 60 } });
    const environment = { PRIME_API_KEY: service.token };
    try {
      appendFileSync(live, line(10).slice(0, 700));
      const { ended } = startPrl(argsFor(run, service), { home, environment });
      await untilStored(service, 1);
      appendFileSync(live, line(10).slice(700) + line(11) + line(12).slice(0, 900));
      const first = documentOf(await ended);
      expect(first).toMatchObject({ sent: { episodes: 20 }, damaged: [], complete: true });
      appendFileSync(live, line(12).slice(900));
      const second = documentOf(await runPrl(argsFor(run, service), { home, environment }));
      expect(second).toMatchObject({ sent: { episodes: 3 }, already: { episodes: 20 }, damaged: [] });
      expect(storedEpisodes(service, RUN_ID)).toEqual(idsIn(run));
    } finally {
      await service.close();
    }
  });

  test('two prl on one run: the second ends in 9 and names the first (U19)', async () => {
    const { home, run } = generate(40);
    const service = await startEmbedded({ faults: { ...NO_FAULTS, latencyMs: 200 } });
    const environment = { PRIME_API_KEY: service.token };
    try {
      const first = startPrl(argsFor(run, service), { home, environment });
      await untilStored(service, 1);
      const second = await runPrl(argsFor(run, service), { home, environment });
      expect(second.status).toBe(9);
      expect(JSON.parse(second.stdout)).toMatchObject({
        error: { code: 'PRL_ERR_LOCKED', message: expect.stringContaining(`pid ${first.child.pid}`) },
      });
      first.child.kill('SIGTERM');
      expect((await first.ended).status).toBe(143);
    } finally {
      await service.close();
    }
  });
});

describe('a service that is not as it should be', () => {
  test('wrong credentials end in 6 at once and show the key nowhere (U11, C16)', async () => {
    const { home, run } = generate(40);
    const service = await startEmbedded();
    const key = 'wrong-but-secret-key';
    try {
      const { status, stdout, stderr } = await runPrl(argsFor(run, service), {
        home,
        environment: { PRIME_API_KEY: key },
      });
      expect(status).toBe(6);
      const document = JSON.parse(stdout.split('\n')[0] as string);
      expect(document).toMatchObject({ sent: { episodes: 0 }, complete: false, partial: true });
      expect(document.sent.requests).toBeLessThanOrEqual(2);
      expect(JSON.parse(stderr)).toMatchObject({ error: { code: 'PRL_ERR_AUTH' } });
      const left = globSync(join(home, '**/*'), { withFileTypes: true }).filter((entry) => entry.isFile());
      const written = left.map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1')).join('');
      expect(written.length).toBeGreaterThan(1000);
      expect(stdout + stderr + written).not.toContain(key);
    } finally {
      await service.close();
    }
  });

  test('nobody there: 5, and running it again continues', async () => {
    const { home, run } = generate(10);
    const dataDir = writeTree(join(home, 'served'), {});
    const gone = await startEmbedded({ dataDir });
    const port = Number(new URL(gone.url).port);
    await gone.close();
    const environment = { PRIME_API_KEY: gone.token };
    const out = await runPrl([...argsFor(run, gone), '--max-attempts', '1'], { home, environment });
    expect(out.status).toBe(5);
    expect(JSON.parse(out.stderr).error.message).toContain('gave up after 1 attempt');
    const back = await startEmbedded({ dataDir, port });
    try {
      const again = await runPrl([...argsFor(run, back), '--verify'], { home, environment });
      expect(documentOf(again)).toMatchObject({ sent: { episodes: 10 }, verified: { ok: true } });
    } finally {
      await back.close();
    }
  });

  test('R21: a reset at 1 MB of a body of 20 MB is named as what it is, and the same bytes go again', async () => {
    const { home, run } = generate(1, 20_000_000);
    let isBroken = true;
    const server = await startFaultyServer(() => (isBroken ? { kind: 'reset', afterBytes: 1_000_000 } : undefined));
    onTestFinished(() => server.close());
    const args = [...argsFor(run, server), '--compress', 'none', '--max-attempts', '2'];
    const failed = await runPrl(args, { home });
    expect(failed.status).toBe(5);
    const [, accepted] =
      /^gave up after 2 attempts: connection (?:reset|closed without an answer) by http:\S+ after (\d+) of \d+ bytes /.exec(
        JSON.parse(failed.stderr).error.message,
      ) ?? [];
    expect(Number(accepted)).toBeGreaterThanOrEqual(1_000_000);
    const keys = server.requests.map(({ headers }) => headers['idempotency-key']);
    expect(keys).toHaveLength(2);
    isBroken = false;
    expect(documentOf(await runPrl(args, { home }))).toMatchObject({ sent: { episodes: 1 }, retries: 0 });
    expect(new Set([...keys, server.requests.at(-1)?.headers['idempotency-key']]).size).toBe(1);
  });

  test('a service that changed a stored byte is found out (exit 7)', async () => {
    const { home, run } = generate(10);
    const service = await startEmbedded();
    const environment = { PRIME_API_KEY: service.token };
    try {
      await runPrl(argsFor(run, service), { home, environment });
      const [stored] = globSync(join(service.directory, '**/*.jsonl'));
      const file = openSync(stored as string, 'r+');
      const at = readFileSync(stored as string).indexOf('logprobs');
      writeSync(file, 'LOGPROBS', at);
      const checked = await runPrl([...argsFor(run, service), '--verify'], { home, environment });
      expect(checked.status).toBe(7);
      const [document] = checked.stdout.split('\n').map((line) => (line === '' ? null : JSON.parse(line)));
      expect(document).toMatchObject({ verified: { episodes: 10, ok: false }, complete: true });
      expect(JSON.parse(checked.stderr)).toMatchObject({
        error: { code: 'PRL_ERR_INTEGRITY', message: expect.stringContaining('came back as other bytes') },
      });
    } finally {
      await service.close();
    }
  });

  test('a storm, lost responses and errors delay an upload and change nothing in it (U2, U10, U11)', async () => {
    const { home, run, ids } = generate(40);
    const dataDir = writeTree(join(home, 'served'), {});
    const faults = { ...NO_FAULTS, stormMs: 1500, errorsRatio: 0.2, lostResponseRatio: 0.3 };
    const troubled = await startEmbedded({ dataDir, faults });
    const environment = { PRIME_API_KEY: troubled.token };
    const document = documentOf(
      await runPrl([...argsFor(run, troubled), '--max-attempts', '20'], { home, environment }),
    );
    await troubled.close();
    expect(document).toMatchObject({ sent: { episodes: 40 }, complete: true, rejected: [] });
    expect(document.retries).toBeGreaterThan(0);
    const calm = await startEmbedded({ dataDir });
    try {
      expect(storedEpisodes(calm, RUN_ID)).toEqual(ids);
    } finally {
      await calm.close();
    }
  });
});

test('memory follows the requests in flight, not the run', async () => {
  const home = tempFolder();
  const run = join(home, 'run');
  const runBytes = writeGeneratedRun(run, { episodes: 150, episodeBytes: 2_400_000, runId: RUN_ID });
  const service = await startEmbedded();
  const environment = { PRIME_API_KEY: service.token };
  try {
    const args = ['upload', run, '--url', service.url, '--json', '--batch', '8MiB', '--concurrency', '2'];
    const document = documentOf(await runPrl([...args, '--compress', 'none'], { home, environment }));
    expect(document).toMatchObject({ sent: { episodes: 150, bytes: runBytes }, complete: true });
    // A bare prl takes about 100 MiB; three batches of 8 MiB and what the collector has not yet taken back come on top.
    expect(document.peak_rss_bytes).toBeLessThan(runBytes * 0.75);
  } finally {
    await service.close();
  }
});
