/** `prl index` as built when readers leave, disks are full, files may not be written, names are hostile, signals come. */
import { execFile, spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Ended, type Running, watchChild } from '../helpers/child.js';
import { writeGeneratedRun } from '../helpers/generated-run.js';
import { age, agedCopy, indexDocumentOf, smallEpisode } from '../helpers/index-command.js';
import { schemaComplaints } from '../helpers/json-schema.js';
import { tempFolder, writeTree } from '../helpers/temp-folder.js';
import { runPrl, startPrl, treeDigest } from '../helpers/upload-command.js';

const runFile = promisify(execFile);
const TRACES = 'monitors/file/traces';
const INDEX = `${TRACES}/stream.index.jsonl`;

/** Runs a shell line in which `prl` is the built command, with the status of the first part of a pipeline at the end. */
async function shell(line: string, home: string): Promise<{ stdout: string; stderr: string }> {
  const script = `prl() { "$NODE" bin/run.js "$@"; }; ${line}; echo "[\${PIPESTATUS[0]}]"`;
  const env = { PATH: process.env.PATH, HOME: home, NODE: process.execPath };
  return runFile('bash', ['-c', script], { env, maxBuffer: 1 << 26 });
}

/** Many small episodes: rows of more than a pipe holds. */
function manyRows(home: string, count: number): string {
  return writeTree(join(home, 'run'), { 'traces.jsonl': manyEpisodes(count) });
}

function manyEpisodes(count: number): string {
  return Array.from({ length: count }, (_, index) => smallEpisode(`e${index}`)).join('');
}

describe('a reader', () => {
  test('that is slow gets every row', async () => {
    const home = tempFolder();
    const run = manyRows(home, 5000);
    const { stdout } = await shell(
      `prl index ${run} --rows 2>/dev/null | (sleep 0.5; cat) | md5sum; prl index ${run} --rows 2>/dev/null >"$HOME/rows"`,
      home,
    );
    const { stdout: sum } = await runFile('md5sum', [join(home, 'rows')]);
    expect(stdout.split(' ')[0]).toBe(sum.split(' ')[0]);
    expect(readFileSync(join(home, 'rows'), 'utf8').split('\n')).toHaveLength(5002);
  });

  // The reader must not share prl's stderr: Node makes that pipe non-blocking, and head takes EAGAIN for a failure.
  test.each(['head -c 1', 'head -1'])('that leaves (%s) ends it with 0 and without a word (C3)', async (reader) => {
    const home = tempFolder();
    const run = manyRows(home, 20_000);
    const { stdout, stderr } = await shell(`prl index ${run} --rows | ${reader} | wc -c >"$HOME/read"`, home);
    expect({ stdout, stderr }).toEqual({ stdout: '[0]\n', stderr: '' });
    expect(Number(readFileSync(join(home, 'read'), 'utf8'))).toBeGreaterThan(0);
  });

  test('that never reads the document does not change the status', async () => {
    const home = tempFolder();
    const out = join(home, 'x');
    const { stdout, stderr } = await shell(
      `prl index fixtures/damaged/torn-tail.jsonl --out ${out} --json | true`,
      home,
    );
    expect(stdout).toBe('[3]\n');
    expect(stderr).toBe('');
  });
});

describe('a disk without room is status 8, and what was there stays', () => {
  test('under stdout', async () => {
    const { stdout, stderr } = await shell('prl index fixtures/runs/verifiers-eval --rows > /dev/full', tempFolder());
    expect(stdout).toBe('[8]\n');
    expect(stderr).toMatch(/ENOSPC[\s\S]*next: make room on the disk/);
  });

  test('under --out that is a device', async () => {
    const ended = await runPrl(['index', 'fixtures/runs/verifiers-eval', '--out', '/dev/full'], { home: tempFolder() });
    expect(ended.status).toBe(8);
    expect(ended.stderr).toMatch(/no room to write \/dev\/full \(ENOSPC\)/);
  });

  test('under an index in place: the old one is whole, no draft is left, and it says how much is missing', async () => {
    const home = tempFolder();
    const run = agedCopy('fixtures/runs/prime-rl-stream', join(home, 'run'));
    const old = readFileSync(join(run, INDEX), 'utf8').replace('"reward":1.07', '"reward":2.07');
    writeFileSync(join(run, INDEX), old);
    age(run);
    // A limit on the size of a file fails a write as a full disk does; Node's own caches stay below it.
    const line = `ulimit -f 4; prl index ${run} --json`;
    const { stdout } = await shell(line, home);
    expect(stdout).toMatch(/\[8\]\n$/);
    expect(JSON.parse(stdout.slice(0, stdout.lastIndexOf('[')))).toMatchObject({
      error: { code: 'PRL_ERR_LIMIT', message: expect.stringMatching(/EFBIG.*bytes more are needed.*untouched/) },
    });
    expect(readFileSync(join(run, INDEX), 'utf8')).toBe(old);
    expect(readdirSync(join(run, TRACES)).filter((name) => name.startsWith('.'))).toEqual([]);
  });
});

/** Runs it without the right of root to write into any directory. */
function withoutOverride(args: readonly string[], home: string): Promise<Ended> {
  const isRoot = process.getuid?.() === 0;
  const dropped = isRoot ? ['setpriv', '--bounding-set=-dac_override', '--inh-caps=-dac_override'] : ['env'];
  const env = { PATH: process.env.PATH ?? '', HOME: home, LANG: 'C.UTF-8' };
  const [program = '', ...words] = [...dropped, process.execPath, 'bin/run.js', ...args];
  return watchChild(spawn(program, words, { env, stdio: ['ignore', 'pipe', 'pipe'] })).ended;
}

describe('a directory that takes no files', () => {
  test('is wrong usage with the ways out, and can still be checked and read', async () => {
    const home = tempFolder();
    const run = agedCopy('fixtures/runs/prime-rl-stream', join(home, 'run'));
    rmSync(join(run, INDEX));
    chmodSync(join(run, TRACES), 0o555);
    try {
      const before = treeDigest(run);
      const refused = await withoutOverride(['index', run, '--force'], home);
      expect(refused.status).toBe(2);
      expect(refused.stderr).toMatch(
        /cannot write .*stream\.index\.jsonl[\s\S]*next: write elsewhere with --out, or to stdout with --rows\n$/,
      );
      const rows = await withoutOverride(['index', run, '--rows'], home);
      expect({ status: rows.status, lines: rows.stdout.split('\n').length }).toEqual({ status: 0, lines: 17 });
      expect((await withoutOverride(['index', run, '--check'], home)).status).toBe(7);
      expect(treeDigest(run)).toBe(before);
    } finally {
      chmodSync(join(run, TRACES), 0o755);
    }
  });

  test.each([
    ['a directory', ''],
    ['in a directory that is not there', 'no/such/place/x'],
  ])('--out that is %s is wrong usage', async (_name, out) => {
    const home = tempFolder();
    const ended = await runPrl(['index', 'fixtures/runs/verifiers-eval', '--out', join(home, out)], { home });
    expect(ended).toMatchObject({ status: 2, stdout: '', stderr: expect.stringContaining('cannot write') });
  });
});

test('names that would act on a terminal are shown and do nothing (C19)', async () => {
  const home = tempFolder();
  const hostile = 'x\u001b[2J\u202ey\u0007\n日本';
  const run = join(home, hostile);
  mkdirSync(run);
  const torn = smallEpisode('\u001b]0;title\u0007').slice(0, 60);
  writeFileSync(join(run, 'traces.jsonl'), `${smallEpisode('a')}${torn}`);
  const out = join(home, `${hostile}.index`);
  const ended = await runPrl(['index', join(run, 'traces.jsonl'), '--out', out], { home });
  expect(ended).toMatchObject({ status: 3, stdout: '' });
  expect(ended.stderr).toContain('x\\u001b[2J\\u202ey\\u0007\\n日本.index   written, 1 row\n');
  expect(ended.stderr).not.toMatch(/\p{Cc}(?<!\n)|\u202e/u);
  const document = indexDocumentOf(await runPrl(['index', run, '--out', out, '--json'], { home }));
  expect(document.streams[0]?.index).toBe(out);
});

describe('signals', () => {
  let folder: string;
  let big: string;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'prl-index-signals-'));
    big = join(folder, 'big');
    writeGeneratedRun(big, { episodes: 128, episodeBytes: 2_000_000 });
    age(big);
  });

  afterAll(() => {
    rmSync(folder, { recursive: true });
  });

  /** Stops it as soon as it says what it is about to do. */
  async function stoppedEarly(args: readonly string[], signal: NodeJS.Signals, home: string): Promise<Ended> {
    const running = startPrl(['index', big, '--strict', ...args], { home });
    await vi.waitFor(() => expect(running.stderr()).toContain('indexing big: '), { timeout: 20_000, interval: 1 });
    running.child.kill(signal);
    return running.ended;
  }

  test.each([
    ['SIGINT', 130, ['--jobs', '1']],
    ['SIGTERM', 143, ['--jobs', '2']],
    ['SIGHUP', 143, ['--jobs', '1']],
  ] as const)('%s in the middle ends it with %i, a partial report and the old index', async (signal, status, jobs) => {
    const home = tempFolder();
    writeFileSync(join(big, INDEX), 'old\n');
    const ended = await stoppedEarly(['--force', ...jobs], signal, home);
    expect({ status: ended.status, stdout: ended.stdout }).toEqual({ status, stdout: '' });
    expect(ended.stderr).toContain('stopping; what is on disk stays as it was; a second signal leaves at once\n');
    expect(ended.stderr).toMatch(/\n partial: indexed \d+ episodes?, /);
    expect(ended.stderr).toMatch(/ index {5}\S+stream\.index\.jsonl {3}not written; stopped before the end\n/);
    expect(ended.stderr).toMatch(/\n next {6}prl index \S+ --strict --force --jobs \d {3}\(/);
    expect(readFileSync(join(big, INDEX), 'utf8')).toBe('old\n');
  });

  test('the document of a stopped check is marked and conforms', async () => {
    const home = tempFolder();
    const running = startPrl(['index', big, '--strict', '--check', '--json', '--jobs', '1'], { home });
    await untilReading(running, big);
    running.child.kill('SIGINT');
    const ended = await running.ended;
    expect({ status: ended.status, stderr: ended.stderr }).toEqual({ status: 130, stderr: '' });
    const document = indexDocumentOf(ended);
    expect(schemaComplaints(document, 'schemas/prl.index-1.json')).toEqual([]);
    expect(document).toMatchObject({ partial: true, streams: [{ complete: false, check: null, changed: false }] });
  });

  test('rows whose reader has stopped: the signal still ends it, and what was written are whole rows up to the last', async () => {
    const home = tempFolder();
    const run = manyRows(home, 20_000);
    const running = startPrl(['index', run, '--rows'], { home });
    running.child.stdout?.pause();
    await vi.waitFor(() => expect(running.child.stdout?.readableLength).toBeGreaterThan(0), { timeout: 20_000 });
    running.child.kill('SIGINT');
    await vi.waitFor(() => expect(running.stderr()).toMatch(/ partial: wrote the rows of [\s\S]* next /), {
      timeout: 5000,
    });
    running.child.stdout?.resume();
    const ended = await running.ended;
    expect(ended.status).toBe(130);
    const [, ...rows] = ended.stdout.trimEnd().split('\n');
    expect(rows.length).toBeGreaterThan(100);
    for (const row of rows.slice(0, -1)) expect(() => JSON.parse(row)).not.toThrow();
  });

  test.each([
    ['before its first byte', ''],
    ['in the middle', manyEpisodes(1000)],
  ])('standard input that never ends is left %s', async (_name, text) => {
    const home = tempFolder();
    const out = join(home, 'rows');
    const child = spawn(process.execPath, ['bin/run.js', 'index', '-', '--out', out, '--progress-interval', '20ms'], {
      env: { PATH: process.env.PATH ?? '', HOME: home },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    const running = watchChild(child);
    child.stdin.on('error', () => {}); // it is left in the middle of what is written
    child.stdin.write(text);
    // Rows are handed on in batches; from then on it waits for more.
    const isWaiting = text === '' ? ' 0 records ' : / 7\d\d records /;
    await vi.waitFor(() => expect(running.stderr()).toMatch(isWaiting), { timeout: 20_000 });
    child.kill('SIGINT');
    const ended = await running.ended;
    expect(ended.status).toBe(130);
    expect(ended.stderr).toMatch(/ partial: indexed \d+ episodes, /);
    expect(existsSync(out)).toBe(false);
  });
});

/** Waits until a process has a chunk of the run open: with `--json` it says nothing itself. */
async function untilReading({ child }: Running, run: string): Promise<void> {
  await vi.waitFor(
    () => {
      const directory = `/proc/${child.pid}/fd`;
      const open = readdirSync(directory).map((name) => readlinkSync(join(directory, name)));
      expect(open.some((path) => path.startsWith(run))).toBe(true);
    },
    { timeout: 20_000, interval: 1 },
  );
}
