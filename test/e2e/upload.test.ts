/** `prl upload` as built, on real runs and on every kind of bad input, against the embedded service. */
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { startEmbedded } from '../helpers/embedded-service.js';
import { schemaComplaints } from '../helpers/json-schema.js';
import { tempFolder, writeTree } from '../helpers/temp-folder.js';
import { copyOfRun, documentOf, runPrl, storedEpisodes, treeDigest } from '../helpers/upload-command.js';

const REAL_RUNS = ['verifiers-eval', 'prime-rl-stream', 'prime-rl-stream-r2', 'prime-rl-rollouts-r1b'];
const EPISODE = readFileSync('fixtures/runs/verifiers-eval/traces.jsonl', 'utf8').split('\n')[0] as string;

/** A small whole record with an id of its own. */
const episode = (id: string): string =>
  `{"id":"${id}","env":{"id":"e"},"task":{"type":"T","data":{}},"ok":true,"errors":[],"traces":[{"id":"t-${id}","nodes":[]}]}\n`;

describe('a real run', () => {
  test.each(REAL_RUNS)('%s goes up, comes back, and goes up once', async (name) => {
    const home = tempFolder();
    const run = copyOfRun(name, home);
    const before = treeDigest(run);
    const first = await runPrl(['upload', run, '--local', '--verify', '--json', '--run-id', 'r'], { home });
    expect(first).toMatchObject({ status: 0, stderr: '' });
    const document = documentOf(first);
    expect(schemaComplaints(document, 'schemas/prl.upload-1.json')).toEqual([]);
    expect(document).toMatchObject({
      run_id: 'r',
      plan: { episodes: 16, bytes: document.sent.bytes },
      sent: { episodes: 16 },
      already: { episodes: 0, bytes: 0 },
      verified: { episodes: 16, ok: true },
      complete: true,
      partial: false,
    });
    const again = await runPrl(['upload', run, '--local', '--verify', '--json', '--run-id', 'r'], { home });
    expect(documentOf(again)).toMatchObject({
      plan: document.plan,
      sent: { episodes: 0, bytes: 0, requests: 0 },
      already: { episodes: 16, bytes: document.sent.bytes },
      verified: { episodes: 16, ok: true },
      complete: true,
    });
    expect(again.status).toBe(0);
    // Nothing of the run itself is ever touched.
    expect(treeDigest(run)).toBe(before);
  });

  test('a person gets a report on stderr and nothing on stdout (C1, P2)', async () => {
    const home = tempFolder();
    const run = copyOfRun('prime-rl-stream', home);
    const { status, stdout, stderr } = await runPrl(['upload', run, '--local', '--verify'], { home });
    expect({ status, stdout }).toEqual({ status: 0, stdout: '' });
    expect(stderr).toMatch(
      /^starting the embedded service for .*\nuploading prime-rl-stream to http:\/\/127\.0\.0\.1:\d+/,
    );
    expect(stderr).toContain(' uploaded 16 episodes, ');
    expect(stderr).toContain(' verified  16 episodes read back: all the same');
    expect(stderr.trimEnd()).toMatch(/nothing left to send$/);
  });

  test('a directory inside the run, a file of it and standard input are taken as well', async () => {
    const home = tempFolder();
    const service = await startEmbedded();
    const environment = { PRIME_API_KEY: service.token, PRIME_TRACES_URL: `${service.url}/api/v1/` };
    try {
      const stream = join(copyOfRun('prime-rl-stream', home), 'monitors/file/traces/stream');
      const file = join(copyOfRun('verifiers-eval', home), 'traces.jsonl');
      const inside = await runPrl(['upload', stream, '--json', '--run-id', 'a'], { home, environment });
      expect(documentOf(inside)).toMatchObject({ sent: { episodes: 16 }, complete: true });
      const bare = await runPrl(['upload', file, '--json', '--run-id', 'b'], { home, environment });
      expect(documentOf(bare)).toMatchObject({ sent: { episodes: 16 }, complete: true });
      const piped = await runPrl(['upload', '-', '--json', '--run-id', 'c', '--verify'], {
        home,
        environment,
        input: readFileSync(file),
      });
      expect(documentOf(piped)).toMatchObject({ sent: { episodes: 16 }, verified: { episodes: 16, ok: true } });
    } finally {
      await service.close();
    }
  });

  test('a dry run asks nobody and writes nothing (C11)', async () => {
    const home = tempFolder();
    const run = copyOfRun('prime-rl-stream', home);
    const before = treeDigest(home);
    // Nobody listens there; asking would fail.
    const environment = { PRIME_API_KEY: 'k', PRIME_TRACES_URL: 'http://127.0.0.1:9' };
    const planned = await runPrl(['upload', run, '--dry-run', '--json'], { home, environment });
    expect(planned).toMatchObject({ status: 0, stderr: '' });
    expect(documentOf(planned)).toMatchObject({
      plan: { episodes: 16 },
      sent: { episodes: 0, requests: 0 },
      dry_run: { episodes: 16, requests: 3 },
      complete: false,
      partial: false,
    });
    expect(treeDigest(home)).toBe(before);
    const text = await runPrl(['upload', run, '--dry-run'], { home, environment });
    expect(text.stdout).toContain('would go  16 episodes');
  });
});

test('what another run stored anew since is no difference; what is gone is one', async () => {
  const home = tempFolder();
  const service = await startEmbedded();
  const environment = { PRIME_API_KEY: service.token };
  const first = writeTree(join(home, 'first'), { 'traces.jsonl': episode('a') + episode('b') });
  const second = writeTree(join(home, 'second'), {
    'traces.jsonl': episode('a').replace('"data":{}', '"data":{"x":1}'),
  });
  const upload = (run: string, id: string) =>
    runPrl(['upload', run, '--url', service.url, '--run-id', id, '--json', '--verify'], { home, environment });
  try {
    expect((await upload(first, 'r1')).status).toBe(0);
    expect((await upload(second, 'r2')).status).toBe(0);
    const again = await upload(first, 'r1');
    expect({ status: again.status, document: documentOf(again) }).toMatchObject({
      status: 0,
      document: { already: { episodes: 2 }, verified: { episodes: 2, ok: true } },
    });
    const headers = { authorization: `Bearer ${service.token}` };
    expect((await fetch(`${service.url}/api/v1/traces/t-b`, { method: 'DELETE', headers })).status).toBe(202);
    expect((await upload(first, 'r1')).status).toBe(7);
  } finally {
    await service.close();
  }
});

describe('the run id', () => {
  test('records that name no run need one (exit 2), from the flag or the environment', async () => {
    const home = tempFolder();
    const run = writeTree(join(home, 'run'), { 'traces.jsonl': episode('e1') });
    const asked = await runPrl(['upload', run, '--local'], { home });
    expect(asked).toMatchObject({ status: 2, stdout: '' });
    expect(asked.stderr).toContain('--run-id');
    const named = await runPrl(['upload', run, '--local', '--json'], { home, environment: { RUN_ID: 'from-env' } });
    expect(documentOf(named)).toMatchObject({ run_id: 'from-env', sent: { episodes: 1 } });
    const bare = await runPrl(['upload', run, '--local', '--json', '--no-stamp', '--verify'], { home });
    expect(documentOf(bare)).toMatchObject({ run_id: null, sent: { episodes: 1 }, verified: { ok: true } });
  });

  test('a chosen run is found under that run alone', async () => {
    const home = tempFolder();
    const service = await startEmbedded();
    try {
      const run = copyOfRun('prime-rl-stream', home);
      const environment = { PRIME_API_KEY: service.token };
      await runPrl(['upload', run, '--url', service.url, '--run-id', 'chosen'], { home, environment });
      expect(storedEpisodes(service, 'chosen')).toHaveLength(16);
      expect(storedEpisodes(service, '5f0c7c1e9a4b4d0f8e2a6b3c1d7e9f00')).toEqual([]);
    } finally {
      await service.close();
    }
  });
});

type Outcome = { status: number; sent?: number; kinds?: string[]; codes?: string[]; error?: string };

/** Each bad input, what `prl upload` makes of it, and what its neighbours become. */
const BAD_INPUTS: Readonly<Record<string, { make: (folder: string) => string; outcome: Outcome }>> = {
  'a run without episodes': {
    make: (folder) => writeTree(folder, { 'monitors/file/traces/stream/': '' }),
    outcome: { status: 0, sent: 0 },
  },
  'an empty evaluation': {
    make: (folder) => writeTree(folder, { 'traces.jsonl': '', 'config.toml': '' }),
    outcome: { status: 0, sent: 0 },
  },
  'an unknown layout': {
    make: (folder) => writeTree(folder, { 'something.txt': 'x' }),
    outcome: { status: 2, error: 'is no run' },
  },
  'a path that does not exist': {
    make: (folder) => join(folder, 'gone'),
    outcome: { status: 4, error: 'no such run' },
  },
  'v0 results': {
    make: (folder) => {
      cpSync('fixtures/runs/v0-results', folder, { recursive: true, verbatimSymlinks: true });
      return folder;
    },
    outcome: { status: 2, error: 'v0 results' },
  },
  'a collection of runs': {
    make: (folder) => writeTree(folder, { 'one/traces.jsonl': episode('a'), 'two/traces.jsonl': episode('b') }),
    outcome: { status: 2, error: 'holds 2 runs' },
  },
  'an index given as a stream': {
    make: () => 'fixtures/damaged/index-as-stream.jsonl',
    outcome: { status: 2, error: 'index' },
  },
  'a torn tail': {
    make: (folder) => writeTree(folder, { 'traces.jsonl': episode('a') + EPISODE.slice(0, 500) }),
    outcome: { status: 3, sent: 1, kinds: ['torn'] },
  },
  'a torn prefix glued to a good record': {
    make: (folder) => writeTree(folder, { 'traces.jsonl': episode('a') + EPISODE.slice(0, 500) + episode('b') }),
    outcome: { status: 3, sent: 2, kinds: ['glued'] },
  },
  'two records on one line': {
    make: (folder) => writeTree(folder, { 'traces.jsonl': episode('a').trimEnd() + episode('b') + episode('c') }),
    outcome: { status: 3, sent: 3, kinds: ['glued'] },
  },
  'a run of NUL bytes': {
    make: (folder) => writeTree(folder, { 'traces.jsonl': `${episode('a')}${'\0'.repeat(100)}\n${episode('b')}` }),
    outcome: { status: 3, sent: 2, kinds: ['nul'] },
  },
  'a byte order mark': {
    make: (folder) => writeTree(folder, { 'traces.jsonl': `\ufeff${episode('a')}${episode('b')}` }),
    outcome: { status: 3, sent: 2, kinds: ['bom'] },
  },
  'bytes that are not UTF-8': {
    make: (folder) => {
      const bad = Buffer.from(episode('b').replace('"T"', '"\xff"'), 'latin1');
      return writeTree(folder, {
        'traces.jsonl': Buffer.concat([Buffer.from(episode('a')), bad, Buffer.from(episode('c'))]),
      });
    },
    outcome: { status: 3, sent: 2, kinds: ['invalid_utf8'] },
  },
  'a line of 65 MiB': {
    make: (folder) => {
      const big = episode('b').replace('"T"', `"${'x'.repeat(65 * 1024 * 1024)}"`);
      return writeTree(folder, { 'traces.jsonl': episode('a') + big + episode('c') });
    },
    outcome: { status: 3, sent: 2, kinds: ['line_too_large'] },
  },
  'the same episode twice, and a trace id twice': {
    make: (folder) =>
      writeTree(folder, {
        'traces.jsonl': episode('a') + episode('b') + episode('a') + episode('c').replace('t-c', 't-b'),
      }),
    outcome: { status: 3, sent: 2, codes: ['duplicate_episode_id', 'duplicate_trace_id'] },
  },
  'episodes and bare traces in one file': {
    make: (folder) => writeTree(folder, { 'traces.jsonl': `${episode('a')}{"id":"t","nodes":[]}\n${episode('b')}` }),
    outcome: { status: 3, sent: 2, kinds: ['wrong_unit'] },
  },
  'a record only the service can see through': {
    make: (folder) =>
      writeTree(folder, {
        'traces.jsonl': episode('a') + episode('b').replace('"data":{}', '"data":[1,,2]') + episode('c'),
      }),
    outcome: { status: 3, sent: 2, codes: ['invalid_trace'] },
  },
  'a directory where a chunk belongs': {
    make: (folder) => {
      mkdirSync(join(folder, 'monitors/file/traces/stream/00001.jsonl'), { recursive: true });
      return writeTree(folder, {
        'monitors/file/traces/stream/00000.jsonl': episode('a'),
        'monitors/file/traces/stream/00002.jsonl': episode('b'),
      });
    },
    outcome: { status: 3, sent: 2, kinds: ['unreadable'] },
  },
};

describe('bad input', () => {
  test.each(Object.keys(BAD_INPUTS))('%s', async (name) => {
    const home = tempFolder();
    const { make, outcome } = BAD_INPUTS[name] as (typeof BAD_INPUTS)[string];
    const path = make(join(home, 'run'));
    const ended = await runPrl(['upload', path, '--local', '--json', '--run-id', 'r'], { home });
    if (outcome.error !== undefined) {
      expect(ended).toMatchObject({ status: outcome.status, stdout: expect.stringContaining(outcome.error) });
      expect(schemaComplaints(JSON.parse(ended.stdout), 'schemas/prl.error-1.json')).toEqual([]);
      return;
    }
    const document = documentOf(ended);
    expect({
      status: ended.status,
      sent: document.sent.episodes,
      kinds: document.damaged.map(({ kind }) => kind),
      codes: document.rejected.map(({ code }) => code),
    }).toEqual({ kinds: [], codes: [], ...outcome });
    // Conservation: every record of the run is stored or named.
    expect(document.plan.episodes).toBe(document.sent.episodes + document.rejected.length);
    // A rerun knows all of it without sending anything.
    const again = await runPrl(['upload', path, '--local', '--json', '--run-id', 'r'], { home });
    expect(again.status).toBe(outcome.status);
    expect(documentOf(again)).toMatchObject({
      plan: document.plan,
      already: { episodes: document.sent.episodes },
      sent: { episodes: 0, requests: 0 },
      rejected: document.rejected,
      damaged: document.damaged,
    });
  });

  test.each([
    ['--context without a value', ['--context', 'novalue'], 'key=value'],
    ['a batch above the cap of the service', ['--batch', '300MiB'], 'out of range'],
    ['a size that is none', ['--batch', 'many'], 'many'],
    ['no concurrency', ['--concurrency', '0'], 'concurrency'],
    ['a URL and the embedded service', ['--url', 'http://127.0.0.1:1'], '--local'],
    ['a misspelt flag', ['--veriffy'], '--verify'],
  ])('%s is exit status 2', async (_name, flags, said) => {
    const home = tempFolder();
    const run = writeTree(join(home, 'run'), { 'traces.jsonl': episode('a') });
    const { status, stderr, stdout } = await runPrl(['upload', run, '--local', ...flags], { home });
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain(said);
  });

  test('a key is never sent in clear to another machine (exit 2)', async () => {
    const home = tempFolder();
    const run = writeTree(join(home, 'run'), { 'traces.jsonl': episode('a') });
    const environment = { PRIME_API_KEY: 'very-secret-key' };
    const args = ['upload', run, '--run-id', 'r', '--url', 'http://192.0.2.1'];
    const { status, stderr } = await runPrl(args, { home, environment });
    expect(status).toBe(2);
    expect(stderr).toContain('--insecure');
    expect(stderr).not.toContain('very-secret-key');
  });
});

test('a rejected line goes up once the service takes it (P3, --retry-rejected)', async () => {
  const home = tempFolder();
  const dataDir = join(home, 'served');
  mkdirSync(dataDir);
  const run = writeTree(join(home, 'run'), {
    'traces.jsonl': episode('a') + episode('b').replace('"T"', `"${'x'.repeat(5000)}"`) + episode('c'),
  });
  const strict = await startEmbedded({ dataDir, limits: { lineBytes: 2000 } });
  const port = Number(new URL(strict.url).port);
  const environment = { PRIME_API_KEY: strict.token };
  const args = ['upload', run, '--url', strict.url, '--run-id', 'r', '--json'];
  const first = await runPrl(args, { home, environment });
  await strict.close();
  expect(first.status).toBe(3);
  const [rejected] = documentOf(first).rejected;
  expect(rejected).toMatchObject({
    line: 2,
    offset: Buffer.byteLength(episode('a')),
    id: 'b',
    code: 'trace_too_large',
  });
  const lenient = await startEmbedded({ dataDir, port });
  try {
    const usual = await runPrl(args, { home, environment });
    expect(documentOf(usual)).toMatchObject({ sent: { episodes: 0 }, rejected: [rejected] });
    const retried = await runPrl([...args, '--retry-rejected'], { home, environment });
    expect(retried.status).toBe(0);
    expect(documentOf(retried)).toMatchObject({ sent: { episodes: 1 }, already: { episodes: 2 }, rejected: [] });
    const last = await runPrl(args, { home, environment });
    expect(documentOf(last)).toMatchObject({ sent: { episodes: 0 }, already: { episodes: 3 }, rejected: [] });
    expect(storedEpisodes(lenient, 'r')).toEqual(['a', 'b', 'c']);
  } finally {
    await lenient.close();
  }
});

test('the context of the command reaches the service', async () => {
  const home = tempFolder();
  const run = writeTree(join(home, 'run'), { 'traces.jsonl': episode('a') });
  const service = await startEmbedded();
  try {
    const environment = { PRIME_API_KEY: service.token };
    const args = ['upload', run, '--url', service.url, '--run-id', 'r', '--context', 'a=b=c', '--context', 'a=d'];
    expect((await runPrl(args, { home, environment })).status).toBe(0);
    const answer = await fetch(`${service.url}/api/v1/traces?context.a=d`, {
      headers: { authorization: `Bearer ${service.token}` },
    });
    expect(await answer.json()).toMatchObject({ items: [{ trace_id: 't-a', context: { a: 'd' } }] });
  } finally {
    await service.close();
  }
});

test('a pretty-printed document goes up as the records it holds', async () => {
  const home = tempFolder();
  const file = join(home, 'episodes.json');
  const episodes = ['a', 'b', 'c'].map((id) => JSON.parse(episode(id)) as unknown);
  writeFileSync(file, JSON.stringify(episodes, null, 2));
  const ended = await runPrl(['upload', file, '--local', '--json', '--verify', '--run-id', 'r'], { home });
  expect(documentOf(ended)).toMatchObject({ sent: { episodes: 3 }, verified: { episodes: 3, ok: true } });
});
