/** `prl index` as built, on real runs, on every kind of damage and on indexes that were tampered with. */
import { execFileSync } from 'node:child_process';
import { appendFileSync, existsSync, linkSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { damageOf } from '../../src/cli/index-document.js';
import type { Ended } from '../helpers/child.js';
import { agedCopy, holdOpen, indexDocumentOf, placesOf, slowlyRead, smallEpisode } from '../helpers/index-command.js';
import { schemaComplaints } from '../helpers/json-schema.js';
import { tempFolder, writeTree } from '../helpers/temp-folder.js';
import { runPrl, treeDigest } from '../helpers/upload-command.js';

const INDEXED_RUNS = ['prime-rl-stream', 'prime-rl-stream-r2'];
const TRACES = 'monitors/file/traces';
const INDEX = `${TRACES}/stream.index.jsonl`;
const EVALUATION = 'fixtures/runs/verifiers-eval/traces.jsonl';

function index(args: readonly string[], home: string, input?: Buffer): Promise<Ended> {
  return runPrl(['index', ...args], input === undefined ? { home } : { home, input });
}

/** All index files of a run, by name. */
function indexesOf(run: string): Record<string, string> {
  const names = readdirSync(join(run, TRACES), { recursive: true, encoding: 'utf8' }).sort();
  const indexes = names.filter((name) => name.endsWith('.index.jsonl'));
  return Object.fromEntries(indexes.map((name) => [name, readFileSync(join(run, TRACES, name), 'utf8')]));
}

describe('a run with an index of its own', () => {
  test.each(INDEXED_RUNS)('%s: the rows are what its writer wrote, and nothing else is touched', async (name) => {
    const home = tempFolder();
    const run = agedCopy(join('fixtures/runs', name), join(home, 'run'));
    const written = indexesOf(run);
    expect(Object.keys(written)).toHaveLength(3);
    const before = treeDigest(run);
    const same = await index([run, '--json'], home);
    expect(same).toMatchObject({ status: 0, stderr: '' });
    const document = indexDocumentOf(same);
    expect(schemaComplaints(document, 'schemas/prl.index-1.json')).toEqual([]);
    expect(document).toMatchObject({ mode: 'compat', threads: 1, partial: false });
    expect(document.streams.map(({ changed, rows_written: rows }) => ({ changed, rows }))).toEqual([
      { changed: false, rows: 16 },
      { changed: false, rows: 10 },
      { changed: false, rows: 9 },
    ]);
    expect(treeDigest(run)).toBe(before);
    for (const file of Object.keys(written)) rmSync(join(run, TRACES, file));
    const rebuilt = await index([run, '--json', '--strict', '--jobs', '2'], home);
    expect(indexDocumentOf(rebuilt).streams.map(({ changed }) => changed)).toEqual([true, true, true]);
    expect(rebuilt.status).toBe(0);
    expect(indexesOf(run)).toEqual(written);
  });

  test.each(INDEXED_RUNS)('%s: --check and --rows change nothing', async (name) => {
    const home = tempFolder();
    const run = agedCopy(join('fixtures/runs', name), join(home, 'run'));
    const before = treeDigest(home);
    const checked = await index([run, '--check', '--json'], home);
    expect(checked).toMatchObject({ status: 0, stderr: '' });
    const document = indexDocumentOf(checked);
    expect(schemaComplaints(document, 'schemas/prl.index-1.json')).toEqual([]);
    expect(document.streams.map(({ check }) => check)).toEqual(
      [16, 10, 9].map((rows) => ({ rows, rebuilt: rows, ok: true, counts: {}, differences: [] })),
    );
    const rows = await index([run, '--rows'], home);
    expect(rows.status).toBe(0);
    expect(rows.stdout).toBe(readFileSync(join(run, INDEX), 'utf8'));
    // In a pipe nobody asked for progress: the summary, and no line before it.
    expect(rows.stderr).toMatch(/^ wrote the rows of 16 episodes, /);
    expect(treeDigest(home)).toBe(before);
  });

  test('a person gets a report on stderr and nothing on stdout (C1, X2)', async () => {
    const home = tempFolder();
    const run = agedCopy('fixtures/runs/prime-rl-stream', join(home, 'run'));
    const { status, stdout, stderr } = await index([run], home);
    expect({ status, stdout }).toEqual({ status: 0, stdout: '' });
    expect(stderr).toMatch(
      /^indexing run: 230 KiB in 3 chunks\n indexed 35 records, 365 KiB in .*\n order {5}3 episodes of an earlier step /,
    );
    expect(stderr).toContain(` index     ${INDEX}   unchanged, 16 rows\n`);
    expect(stderr).toMatch(/ took {6}1 thread, .* of memory at most\n$/);
  });

  test('a live writer is not written over (exit 5), but checked, and replaced when it must be', async () => {
    const home = tempFolder();
    const run = agedCopy('fixtures/runs/prime-rl-stream', join(home, 'run'));
    rmSync(join(run, INDEX));
    // The chunk has just been appended to.
    appendFileSync(join(run, TRACES, 'stream/00002.jsonl'), smallEpisode('late'));
    const writer = await holdOpen(join(run, TRACES, 'stream/00002.jsonl'));
    try {
      const refused = await index([run, '--json'], home);
      expect(refused.status).toBe(5);
      expect(JSON.parse(refused.stdout).error).toMatchObject({
        code: 'PRL_ERR_TEMPORARY',
        message: expect.stringContaining('monitors/file/traces/stream is being written'),
        hint: expect.stringContaining('--force'),
      });
      expect(existsSync(join(run, INDEX))).toBe(false);
      const checked = await index([run, '--check', '--json'], home);
      expect(checked.status).toBe(7);
      expect(indexDocumentOf(checked).streams[0]?.check).toMatchObject({ counts: { missing_row: 17 } });
      expect((await index([run, '--force'], home)).status).toBe(0);
      expect(readFileSync(join(run, INDEX), 'utf8').trimEnd().split('\n')).toHaveLength(17);
    } finally {
      await writer.end();
    }
  });
});

describe('a run without an index of its own', () => {
  test('needs a place for the rows (exit 2), and says which flags name one', async () => {
    const home = tempFolder();
    for (const [args, hint] of [
      [['fixtures/runs/verifiers-eval'], '--out FILE'],
      [['fixtures/runs/verifiers-eval', '--check'], '--check --out FILE'],
      [['-'], '--out FILE'],
    ] as const) {
      const { status, stdout, stderr } = await index(args, home, Buffer.from(''));
      expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
      expect(stderr).toContain('has no index file of its own');
      expect(stderr).toContain(hint);
    }
  });

  test.each([
    ['verifiers-eval', 'V1c', []],
    ['verifiers-eval/traces.jsonl', 'B', []],
    ['prime-rl-rollouts-r1b', 'R1b', []],
    ['prime-rl-rollouts-r1b', 'R1b', ['--subset', 'effective']],
    ['prime-rl-rollouts-r1b', 'R1b', ['--subset', 'both']],
  ])('%s (%s) %j: --out, --rows and --check --out are of one mind', async (name, layout, flags) => {
    const home = tempFolder();
    const out = join(home, 'rows.jsonl');
    const run = join('fixtures/runs', name);
    const written = await index([run, '--out', out, '--json', ...flags], home);
    expect(written).toMatchObject({ status: 0, stderr: '' });
    const document = indexDocumentOf(written);
    expect(document).toMatchObject({ layout, mode: 'exact', streams: [{ index: out, changed: true }] });
    const [header = '', ...lines] = readFileSync(out, 'utf8').trimEnd().split('\n');
    expect(JSON.parse(header)).toMatchObject({ prl_index: 1, synthetic: true, layout, mode: 'exact' });
    const rows = lines.filter((line) => !line.startsWith('{"prl_index"'));
    expect(rows).toHaveLength(document.episodes);
    expect(rows.map((row) => JSON.parse(row).line)).toEqual(rows.map((_, at) => at + 1));
    expect((await index([run, '--rows', ...flags], home)).stdout).toBe(readFileSync(out, 'utf8'));
    const checked = await index([run, '--check', '--out', out, '--json', ...flags], home);
    expect(indexDocumentOf(checked).streams[0]?.check).toMatchObject({ ok: true, counts: {} });
    expect(checked.status).toBe(0);
    const again = await index([run, '--out', out, '--json', ...flags], home);
    expect(indexDocumentOf(again).streams[0]?.changed).toBe(false);
  });

  test('standard input gives the rows of the file', async () => {
    const home = tempFolder();
    const piped = await index(['-', '--rows'], home, readFileSync(EVALUATION));
    expect(piped.status).toBe(0);
    const [header = '', ...rows] = piped.stdout.split('\n');
    expect(JSON.parse(header)).toMatchObject({ layout: 'B', files: ['-'] });
    const [, ...expected] = (await index([EVALUATION, '--rows'], home)).stdout.split('\n');
    expect(rows).toEqual(expected);
  });

  test('explicit nulls count as --mode says', async () => {
    const home = tempFolder();
    const run = 'fixtures/damaged/bare-traces.jsonl';
    const rowsOf = async (...flags: string[]): Promise<string[]> =>
      (await index([run, '--rows', ...flags], home)).stdout.trimEnd().split('\n').slice(1);
    const exact = await rowsOf();
    expect(await rowsOf('--mode', 'exact')).toEqual(exact);
    const compat = await rowsOf('--mode', 'compat');
    const branches = (rows: string[]): number[] => rows.map((row) => JSON.parse(row).branches);
    expect(branches(compat)).toEqual(branches(exact).map((count) => count - 1));
  });
});

describe('damage', () => {
  const streams = readdirSync('fixtures/damaged').filter((name) => /\.jsonl(\.zst)?$/.test(name));
  const readable = streams.filter((name) => name !== 'index-as-stream.jsonl');

  test('every fixture is here', () => {
    expect(readable.length).toBeGreaterThan(20);
  });

  test.each([...readable, 'crash-run', 'glued-run'])('%s: the same places as the slow reader', async (name) => {
    const home = tempFolder();
    const run = join('fixtures/damaged', name);
    const out = join(home, 'index.jsonl');
    const { places, records } = await slowlyRead(run);
    // A bad byte inside a payload is only looked at with --strict.
    const ended = await index([run, '--out', out, '--json', '--strict'], home);
    const document = indexDocumentOf(ended);
    expect(schemaComplaints(document, 'schemas/prl.index-1.json')).toEqual([]);
    expect({ places: placesOf(document.streams.flatMap(damageOf)), records: document.episodes }).toEqual({
      places,
      records,
    });
    expect({ status: ended.status, stderr: ended.stderr }).toEqual({ status: places.length > 0 ? 3 : 0, stderr: '' });
    const rows = readFileSync(out, 'utf8')
      .trimEnd()
      .split('\n')
      .filter((line) => line.startsWith('{"cost"'));
    expect(rows).toHaveLength(records);
    if (places.length === 0) return;
    const { stderr } = await index([run, '--out', out, '--strict'], home);
    for (const { kind, offset } of places) {
      expect(stderr).toContain(` damaged   ${kind}: `);
      expect(stderr).toContain(`  ${offset.toLocaleString('en-US')}  `);
    }
  });

  test('an index is no stream (exit 2)', async () => {
    const ended = await index(['fixtures/damaged/index-as-stream.jsonl', '--rows'], tempFolder());
    expect(ended).toMatchObject({ status: 2, stdout: '', stderr: expect.stringContaining('index') });
  });

  test('what only --strict sees', async () => {
    const home = tempFolder();
    const bad = smallEpisode('b').replace('"data":{}', '"data":[1,,2]');
    const run = writeTree(join(home, 'run'), { 'traces.jsonl': smallEpisode('a') + bad + smallEpisode('c') });
    const out = ['--out', join(home, 'index.jsonl'), '--json'];
    expect((await index([run, ...out], home)).status).toBe(0);
    const strict = await index([run, ...out, '--strict'], home);
    expect(strict.status).toBe(3);
    const place = { chunk: 0, offset: smallEpisode('a').length, bytes: bad.length };
    expect(indexDocumentOf(strict)).toMatchObject({
      episodes: 2,
      streams: [{ damaged: [{ ...place, kind: 'invalid_json' }] }],
    });
  });

  test('the command that the report ends with shows the damaged bytes', async () => {
    const home = tempFolder();
    const { stderr } = await index(['fixtures/damaged/torn-tail.jsonl', '--out', join(home, 'x')], home);
    const command = /next {6}look at a damaged place: (.*)\n$/.exec(stderr)?.[1] ?? '';
    const shown = execFileSync('sh', ['-c', command]);
    expect(shown).toEqual(readFileSync('fixtures/damaged/torn-tail.jsonl').subarray(-1000));
  });

  test('an episode that comes again keeps both rows and costs no status', async () => {
    const { status, stdout, stderr } = await index(['fixtures/damaged/duplicate-ids.jsonl', '--rows'], tempFolder());
    expect({ status, lines: stdout.trimEnd().split('\n').length }).toEqual({ status: 0, lines: 4 });
    expect(stderr).toContain(
      ' repeated  1 episode comes again in duplicate-ids.jsonl; every row is kept\n   line 2 repeats line 1\n',
    );
  });

  test('an episode of an earlier step than one before it keeps its row and costs no status', async () => {
    const home = tempFolder();
    const at = (id: string, step: number): string =>
      smallEpisode(id).replace('"nodes":[]', `"nodes":[],"info":{"arrival":{"step":${step},"time":1.5}}`);
    const run = writeTree(join(home, 'run'), {
      [`${TRACES}/stream/00000.jsonl`]: at('a', 4) + smallEpisode('b') + at('c', 1005),
      [`${TRACES}/stream/00001.jsonl`]: at('d', 1005) + at('e', 1004) + at('f', 1006) + at('g', 5),
    });
    const ended = await index([run, '--rows'], home);
    const ids = ended.stdout
      .trimEnd()
      .split('\n')
      .map((row) => JSON.parse(row).id);
    expect({ status: ended.status, ids }).toEqual({ status: 0, ids: [...'abcdefg'] });
    expect(ended.stderr).toContain(
      ` order     2 episodes of an earlier step than one before in ${TRACES}/stream; every row is kept\n` +
        '   line 5 is of step 1,004, after step 1,005\n   line 7 is of step 5, after step 1,006\n',
    );
    const document = indexDocumentOf(await index([run, '--json'], home));
    expect(schemaComplaints(document, 'schemas/prl.index-1.json')).toEqual([]);
    expect(document.streams[0]?.out_of_order).toEqual({
      count: 2,
      first: [
        { line: 5, step: 1004, after: 1005 },
        { line: 7, step: 5, after: 1006 },
      ],
    });
  });
});

test('the help has every status it can end in, and every flag of the contract', async () => {
  const { status, stdout, stderr } = await index(['--help'], tempFolder());
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect([...stdout.matchAll(/^ {2}(\d+) {2,}\S/gm)].map(([, exit]) => Number(exit))).toEqual([
    0, 1, 2, 3, 4, 5, 7, 8, 130, 143,
  ]);
  const flags = ['check', 'rows', 'out', 'strict', 'jobs', 'tokens', 'mode', 'subset', 'force', 'json'];
  for (const flag of flags) expect(stdout).toMatch(new RegExp(`^ +--${flag}[ =]`, 'm'));
});

describe('wrong usage is exit status 2', () => {
  test.each([
    ['rows and a document', ['--rows', '--json'], 'cannot share stdout'],
    ['rows and a file', ['--rows', '--out', 'x'], '--out'],
    ['rows and a check', ['--rows', '--check'], '--check'],
    ['a check by force', ['--check', '--force'], '--force'],
    ['a file by force', ['--out', 'x', '--force'], '--force'],
    ['a file named -', ['--out', '-'], '--rows'],
    ['an empty file name', ['--out', ''], 'empty'],
    ['no thread', ['--jobs', '0'], 'jobs'],
    ['an unknown mode', ['--mode', 'loose'], 'compat, exact'],
    ['an unknown source of tokens', ['--tokens', 'guessed'], 'auto, stored, derived'],
    ['a misspelt flag', ['--stric'], '--strict'],
  ])('%s', async (_name, flags, said) => {
    const home = tempFolder();
    const { status, stdout, stderr } = await index(['fixtures/runs/prime-rl-stream', ...flags], home);
    expect(status).toBe(2);
    expect(stdout + stderr).toContain(said);
    expect(existsSync('x')).toBe(false);
  });

  test('no such run is 4', async () => {
    expect((await index(['no/such/run', '--rows'], tempFolder())).status).toBe(4);
  });

  test.each([
    ['a chunk of the run', `${TRACES}/stream/00002.jsonl`, 'a file of the run'],
    ["the run's own index", INDEX, "the run's own index"],
    ['a new chunk', `${TRACES}/stream/00003.jsonl`, 'belongs to the writer'],
    ['an index of annotations', `${TRACES}/annotations/orch.index.jsonl`, 'belongs to the writer'],
  ])('--out never writes over %s', async (_name, file, said) => {
    const home = tempFolder();
    const run = agedCopy('fixtures/runs/prime-rl-stream', join(home, 'run'));
    const before = treeDigest(run);
    const { status, stderr } = await index([run, '--out', join(run, file)], home);
    expect({ status, stderr }).toEqual({ status: 2, stderr: expect.stringContaining(said) });
    expect(treeDigest(run)).toBe(before);
  });

  test('--out never writes over its own source, under another name either', async () => {
    const home = tempFolder();
    const file = join(home, 'traces.jsonl');
    writeTree(home, { 'traces.jsonl': smallEpisode('a') });
    linkSync(file, join(home, 'linked'));
    symlinkSync(file, join(home, 'pointed'));
    for (const name of ['traces.jsonl', 'linked', 'pointed']) {
      expect((await index([file, '--out', join(home, name)], home)).status).toBe(2);
    }
    expect(readFileSync(file, 'utf8')).toBe(smallEpisode('a'));
    expect((await index([file, '--out', join(home, 'stream.index.jsonl')], home)).status).toBe(2);
  });
});
