import { execFileSync } from 'node:child_process';
import { linkSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openRun } from '../../src/io/run.js';
import { episodeLine, readOpened, readRun, textOf } from '../helpers/read-run.js';
import { seal } from '../helpers/seal.js';
import { tempFolder, writeTree } from '../helpers/temp-folder.js';

const RUNS = join(import.meta.dirname, '../../fixtures/runs');
const STREAM = 'monitors/file/traces/stream';
const EPISODE = episodeLine('a');
const TRACE = '{"version":1,"id":"t","nodes":[]}\n';

describe('real runs (spec 01)', () => {
  test.each([
    ['prime-rl-stream', 'R3', 'rule 2', 16, 'monitors/file/traces/stream.index.jsonl'],
    ['prime-rl-stream-r2', 'R2', 'rule 3', 16, 'monitors/file/traces/stream.index.jsonl'],
    ['verifiers-eval', 'V1c', 'rule 5', 16, null],
  ])('%s is %s', async (name, layout, rule, records, index) => {
    const root = join(RUNS, name);
    const read = await readRun(root);
    expect(read.run).toMatchObject({ root, layout, damage: [], holes: [], notices: [] });
    expect(read.run.rule).toContain(rule);
    expect(read.run.indexPath).toBe(index === null ? null : join(root, index));
    expect(read.damage).toEqual([]);
    expect(read.records).toHaveLength(records);
  });

  test('R3 reads sealed chunks and the live one in numeric order, the same bytes the index addresses', async () => {
    const { run, records } = await readRun(join(RUNS, 'prime-rl-stream'));
    expect(run.files.map((file) => [file.chunk, basename(file.path), file.form])).toEqual([
      [0, '00000.jsonl.zst', 'sealed'],
      [1, '00001.jsonl.zst', 'sealed'],
      [2, '00002.jsonl', 'plain'],
    ]);
    const rows = execFileSync('cat', [run.indexPath as string])
      .toString()
      .trim()
      .split('\n')
      .map((row) => JSON.parse(row));
    expect(records.map(({ chunk, offset }) => ({ chunk, offset }))).toEqual(
      rows.map(({ chunk, offset }) => ({ chunk, offset })),
    );
    expect(records.map(({ bytes }) => JSON.parse(bytes.toString()).id)).toEqual(rows.map((row) => row.id));
  });

  test('R1b reads the subset all: steps ascending, train before eval', async () => {
    const { run, damage } = await readRun(join(RUNS, 'prime-rl-rollouts-r1b'));
    expect(run).toMatchObject({ layout: 'R1b', notices: [] });
    expect(run.rule).toContain('rule 6');
    const expected = execFileSync('find', ['rollouts', '-path', '*/all/traces.jsonl'], { cwd: run.root })
      .toString()
      .trim()
      .split('\n');
    const key = (path: string) => path.replace('train', '0').replace('eval', '1');
    expect(run.files.map((file) => file.relativePath)).toEqual(expected.sort((a, b) => (key(a) < key(b) ? -1 : 1)));
    expect(run.files.map((file) => file.chunk)).toEqual(run.files.map((_, index) => index));
    expect(damage).toEqual([]);
  });

  test('R1b reads the subset effective when asked', async () => {
    const run = await openRun(join(RUNS, 'prime-rl-rollouts-r1b'), { subset: 'effective' });
    expect(run.files.length).toBeGreaterThan(0);
    expect(run.files.every((file) => file.relativePath.includes('/effective/'))).toBe(true);
  });

  test('v0 results are refused with what to do', async () => {
    await expect(openRun(join(RUNS, 'v0-results'))).rejects.toMatchObject({
      code: 'PRL_ERR_USAGE',
      message: expect.stringContaining('v0 results'),
      hint: expect.stringContaining('traces.jsonl'),
    });
  });
});

describe('generated layouts', () => {
  test.each([
    ['R3', 'rule 2', { [`${STREAM}/00000.jsonl`]: EPISODE, 'traces.jsonl': EPISODE }, [`${STREAM}/00000.jsonl`]],
    ['R3', 'rule 2', { [`${STREAM}/`]: '' }, []],
    ['R2', 'rule 3', { 'monitors/file/traces/stream.jsonl': EPISODE }, ['monitors/file/traces/stream.jsonl']],
    ['FLOW', 'rule 4', { 'flow.json': '{}', 'live/x.jsonl': '' }, []],
    ['V1b', 'rule 5', { 'traces.jsonl': TRACE }, ['traces.jsonl']],
    ['V1c', 'rule 5', { 'traces.jsonl': `\n${EPISODE}` }, ['traces.jsonl']],
    ['V1', 'rule 5', { 'traces.jsonl': '' }, ['traces.jsonl']],
    [
      'R1a',
      'rule 6',
      {
        'rollouts/step_10/train/all/traces.jsonl': TRACE,
        'rollouts/step_9/eval/all/traces.jsonl': TRACE,
        'rollouts/step_9/train/all/traces.jsonl': TRACE,
        'rollouts/step_9/train/effective/traces.jsonl': TRACE,
        'rollouts/notes.txt': '',
      },
      [
        'rollouts/step_9/train/all/traces.jsonl',
        'rollouts/step_9/eval/all/traces.jsonl',
        'rollouts/step_10/train/all/traces.jsonl',
      ],
    ],
    ['R1', 'rule 6', { 'rollouts/step_0/train/all/traces.jsonl': '' }, ['rollouts/step_0/train/all/traces.jsonl']],
    [
      'R0',
      'rule 7',
      {
        'rollouts/step_2/eval_rollouts_math.jsonl': TRACE,
        'rollouts/step_2/train_rollouts.jsonl': TRACE,
        'rollouts/step_2/eval_rollouts.jsonl': TRACE,
        'rollouts/step_1/other.jsonl': TRACE,
      },
      [
        'rollouts/step_2/train_rollouts.jsonl',
        'rollouts/step_2/eval_rollouts.jsonl',
        'rollouts/step_2/eval_rollouts_math.jsonl',
      ],
    ],
    ['V1a', 'rule 8', { 'results.jsonl': TRACE, 'config.toml': '' }, ['results.jsonl']],
  ])('%s by %s', async (layout, rule, tree, files) => {
    const root = writeTree(tempFolder(), tree);
    const { run, damage } = await readRun(root);
    expect(run).toMatchObject({ root, layout });
    expect(run.rule).toContain(rule);
    expect(run.files.map((file) => file.relativePath)).toEqual(files);
    expect(damage).toEqual([]);
  });

  test('a stream without an index is a run (A02)', async () => {
    const run = await openRun(writeTree(tempFolder(), { [`${STREAM}/00000.jsonl`]: EPISODE }));
    expect(run.indexPath).toBeNull();
  });

  test('effective rollouts alone are read, with a notice', async () => {
    const root = writeTree(tempFolder(), { 'rollouts/step_1/train/effective/traces.jsonl': EPISODE });
    const { run, records } = await readRun(root);
    expect(records).toHaveLength(1);
    expect(run.notices).toEqual(['the run holds no all rollouts; the effective ones are read']);
  });

  test('an archived attempt is read when it is named', async () => {
    const root = writeTree(tempFolder(), {
      'monitors/file/traces/stream/00000.jsonl': episodeLine('now'),
      'monitors/file.attempt_1/traces/stream/00000.jsonl': episodeLine('before'),
    });
    expect(textOf((await readRun(join(root, 'monitors/file.attempt_1/traces'))).records)).toBe(episodeLine('before'));
    expect(textOf((await readRun(root)).records)).toBe(episodeLine('now'));
  });
});

describe('paths inside a run', () => {
  test.each([
    'monitors',
    'monitors/file',
    'monitors/file/traces',
    STREAM,
    'monitors/file/traces/annotations/orch',
    'monitors/file/traces/live/pending',
    'configs/attempt_1/resolved',
  ])('%s leads to the stream', async (inside) => {
    const run = await openRun(join(RUNS, 'prime-rl-stream', inside));
    expect(run).toMatchObject({ root: join(RUNS, 'prime-rl-stream'), layout: 'R3' });
  });

  test.each(['rollouts', 'rollouts/step_3', 'rollouts/step_3/train', 'rollouts/step_3/train/all'])(
    '%s leads to all rollouts',
    async (inside) => {
      const run = await openRun(join(RUNS, 'prime-rl-rollouts-r1b', inside));
      expect(run).toMatchObject({ root: join(RUNS, 'prime-rl-rollouts-r1b'), layout: 'R1b' });
    },
  );

  test('a relative path and a link to a run lead to it', async () => {
    const root = join(RUNS, 'verifiers-eval');
    expect((await openRun(relative(process.cwd(), root))).root).toBe(root);
    const link = join(tempFolder(), 'latest');
    symlinkSync(root, link);
    expect((await openRun(link)).root).toBe(root);
  });

  test('a stream directory that was copied out of its run is read', async () => {
    const root = writeTree(tempFolder(), { '00000.jsonl': EPISODE, '00001.jsonl.zst': seal(Buffer.from(EPISODE)) });
    const { run, records } = await readRun(root);
    expect(run).toMatchObject({ root, layout: 'R3' });
    expect(records).toHaveLength(2);
  });
});

describe('files (layout B)', () => {
  test.each([
    ['x.jsonl', Buffer.from(EPISODE), 'plain', EPISODE.length],
    ['x.jsonl.zst', seal(Buffer.from(EPISODE)), 'sealed', EPISODE.length],
    ['x.jsonl.zst', seal(Buffer.from(EPISODE), { hasTable: false }), 'sealed', null],
    ['compressed-without-suffix', seal(Buffer.from(EPISODE)), 'sealed', EPISODE.length],
    ['plain.jsonl.zst', Buffer.from(EPISODE), 'plain', EPISODE.length],
    ['lines.json', Buffer.from(EPISODE.repeat(2)), 'plain', EPISODE.length * 2],
    ['empty.jsonl', Buffer.alloc(0), 'plain', 0],
  ])('%s by its content', async (name, content, form, uncompressedBytes) => {
    const path = join(tempFolder(), name);
    writeFileSync(path, content);
    const { run, records, damage } = await readRun(path);
    expect(run.layout).toBe('B');
    expect(run.files).toMatchObject([{ chunk: 0, path, relativePath: name, form, uncompressedBytes }]);
    expect(damage).toEqual([]);
    expect(records.map((record) => record.bytes.toString()).join('')).toBe(
      content.length === 0 ? '' : EPISODE.repeat(name === 'lines.json' ? 2 : 1),
    );
  });

  test.each([
    ['an index', '{"line":1,"chunk":0,"offset":0}\n', 'the index of a stream'],
    ['an annotation stream', '{"trace_id":"t","branches":[],"version":1}\n', 'annotation updates'],
    ['a live file', '{"trace":"t","open":{}}\n\n', 'deltas'],
    ['v0 rollouts', '{"prompt":[],"completion":[],"reward":1}\n', 'v0 rollouts'],
    ['metrics', '{"step":1,"loss":0.5}\n', 'neither an episode nor a trace'],
    ['text', '# Notes\n\nsome text\n', 'no JSON lines'],
  ])('%s is refused by name', async (_, content, what) => {
    const path = join(tempFolder(), 'x.jsonl');
    writeFileSync(path, content);
    await expect(openRun(path)).rejects.toMatchObject({
      code: 'PRL_ERR_USAGE',
      message: expect.stringContaining(what),
    });
  });

  test('v0 rollouts are let through when lenient', async () => {
    const path = join(tempFolder(), 'x.jsonl');
    writeFileSync(path, '{"trajectory":[]}\n');
    expect((await readRun(path, { lenient: true })).records).toMatchObject([{ unit: 'v0' }]);
  });

  test('a damaged file is no reason to refuse it', async () => {
    const path = join(tempFolder(), 'x.jsonl');
    writeFileSync(path, `${'\0'.repeat(100)}\n{"torn":\n`);
    const { damage } = await readRun(path);
    expect(damage.map((one) => one.kind)).toEqual(['nul', 'torn']);
  });
});

describe('what is no run', () => {
  test('a path that does not exist', async () => {
    const path = join(tempFolder(), 'nope');
    await expect(openRun(path)).rejects.toMatchObject({
      code: 'PRL_ERR_NOT_FOUND',
      message: `no such run or file: ${path}`,
      hint: expect.stringContaining('check the spelling'),
    });
    await expect(openRun(join(RUNS, 'verifiers-eval/traces.jsonl/x'))).rejects.toMatchObject({
      code: 'PRL_ERR_NOT_FOUND',
    });
  });

  test('a directory of runs lists them', async () => {
    const root = writeTree(tempFolder(), {
      'b/traces.jsonl': '',
      [`a/${STREAM}/00000.jsonl`]: EPISODE,
      'c/notes.txt': '',
      'd.jsonl': EPISODE,
    });
    await expect(openRun(root)).rejects.toMatchObject({
      code: 'PRL_ERR_USAGE',
      message: `${root} holds 2 runs: ${join(root, 'a')}, ${join(root, 'b')}`,
    });
  });

  test('a directory of anything else names the rules that were tried', async () => {
    const root = writeTree(tempFolder(), { 'notes.txt': 'x', 'inner/': '' });
    const refusal = openRun(root);
    await expect(refusal).rejects.toMatchObject({
      code: 'PRL_ERR_USAGE',
      message: expect.stringContaining(`${root} is no run`),
    });
    for (const rule of [
      'monitors/file/traces/stream/',
      'flow.json',
      'traces.jsonl',
      'rollouts/step_N',
      'results.jsonl',
    ]) {
      await expect(refusal).rejects.toThrow(rule);
    }
  });

  test('a pipe is refused, not waited for', async () => {
    const path = join(tempFolder(), 'pipe');
    execFileSync('mkfifo', [path]);
    await expect(openRun(path)).rejects.toMatchObject({ code: 'PRL_ERR_USAGE', hint: expect.stringContaining('-') });
  });
});

describe('one bad file costs itself alone (U23, R33, T10, R48)', () => {
  function streamWith(files: Readonly<Record<string, string | Buffer>>): string {
    const named = Object.entries(files).map(([name, content]) => [`${STREAM}/${name}`, content] as const);
    return writeTree(tempFolder(), Object.fromEntries(named));
  }

  async function damageOf(root: string) {
    const { damage, records } = await readRun(root);
    return {
      damage: damage.map(({ file, kind, message }) => [basename(file), kind, message]),
      ids: textOf(records).match(/"id":"\w+","env"/g)?.length,
    };
  }

  test('a directory named like a chunk, a dangling link, a loop, a pipe', async () => {
    const root = streamWith({ '00000.jsonl': episodeLine('a'), '00001.jsonl/': '', '00005.jsonl': episodeLine('b') });
    symlinkSync('nowhere', join(root, STREAM, '00002.jsonl'));
    symlinkSync('00003.jsonl', join(root, STREAM, '00003.jsonl'));
    execFileSync('mkfifo', [join(root, STREAM, '00004.jsonl')]);
    expect(await damageOf(root)).toEqual({
      ids: 2,
      damage: [
        ['00001.jsonl', 'unreadable', 'a directory where a file belongs'],
        ['00002.jsonl', 'unreadable', 'a symbolic link that leads nowhere'],
        ['00003.jsonl', 'unreadable', 'its symbolic links form a loop'],
        ['00004.jsonl', 'unreadable', 'not a regular file'],
      ],
    });
  });

  test('a link out of the run is not followed; one inside the run is, and each file is read once', async () => {
    const outside = join(tempFolder(), 'outside.jsonl');
    writeFileSync(outside, episodeLine('outside'));
    const root = streamWith({ '00000.jsonl': episodeLine('a') });
    symlinkSync(outside, join(root, STREAM, '00001.jsonl'));
    symlinkSync('00000.jsonl', join(root, STREAM, '00002.jsonl'));
    linkSync(join(root, STREAM, '00000.jsonl'), join(root, STREAM, '00003.jsonl'));
    const { run, records, damage } = await readRun(root);
    expect(textOf(records)).toBe(episodeLine('a'));
    expect(damage.map(({ chunk, message }) => [chunk, message])).toEqual([
      [1, 'a symbolic link leads out of the run and is not followed'],
    ]);
    expect(run.notices).toEqual([
      `${STREAM}/00002.jsonl is the same file as ${STREAM}/00000.jsonl and is read once`,
      `${STREAM}/00003.jsonl is the same file as ${STREAM}/00000.jsonl and is read once`,
    ]);
  });

  test('a directory link to its parent multiplies nothing', async () => {
    const root = writeTree(tempFolder(), { 'rollouts/step_1/train/all/traces.jsonl': EPISODE });
    symlinkSync('..', join(root, 'rollouts/step_2'));
    symlinkSync('.', join(root, 'rollouts/step_1/eval'));
    expect((await readRun(root)).records).toHaveLength(1);
  });

  test('a stream directory that is a link out of the run is refused with where it leads', async () => {
    const target = writeTree(tempFolder(), { '00000.jsonl': EPISODE });
    const root = writeTree(tempFolder(), { 'monitors/file/traces/': '' });
    symlinkSync(target, join(root, STREAM));
    await expect(openRun(root)).rejects.toMatchObject({
      code: 'PRL_ERR_DAMAGED',
      message: expect.stringContaining(target),
    });
  });

  test('vector 4 and 8: plain wins over sealed, a leftover is no data, holes are reported', async () => {
    const root = streamWith({
      '00000.jsonl': episodeLine('plain'),
      '00000.jsonl.zst': seal(Buffer.from(episodeLine('plain'))),
      '00001.jsonl.zst.tmp': 'half',
      '00002.jsonl': episodeLine('live'),
      'notes.txt': 'x',
      '00007.jsonl': '',
    });
    const { run, records, damage } = await readRun(root);
    expect(textOf(records)).toBe(episodeLine('plain') + episodeLine('live'));
    expect(run.holes).toEqual([
      { first: 1, last: 1 },
      { first: 3, last: 6 },
    ]);
    expect(damage.map(({ chunk, kind, message }) => [chunk, kind, message])).toEqual([
      [1, 'hole', 'chunk 1 is missing'],
      [3, 'hole', 'chunks 3 to 6 are missing'],
    ]);
    expect(run.notices).toEqual([
      `${STREAM}: notes.txt is no chunk and is ignored`,
      `${STREAM}: 00001.jsonl.zst.tmp is left of an interrupted seal`,
      'chunk 0 is there plain and sealed; the plain file is read, as a seal was interrupted',
    ]);
  });

  test('a file that vanishes between listing and reading', async () => {
    const root = streamWith({
      '00000.jsonl': episodeLine('a'),
      '00001.jsonl': episodeLine('b'),
      '00002.jsonl': episodeLine('c'),
    });
    const run = await openRun(root);
    execFileSync('rm', [join(root, STREAM, '00001.jsonl')]);
    const { records, damage } = await readOpened(run);
    expect(textOf(records)).toBe(episodeLine('a') + episodeLine('c'));
    expect(damage).toMatchObject([
      { chunk: 1, kind: 'unreadable', bytes: episodeLine('b').length, message: 'it no longer exists' },
    ]);
  });

  test('a broken seek table is a notice, and the chunk is read', async () => {
    const sealed = seal(Buffer.from(EPISODE), { descriptor: 0x04 });
    const { run, records } = await readRun(streamWith({ '00000.jsonl.zst': sealed }));
    expect(textOf(records)).toBe(EPISODE);
    expect(run.notices).toEqual([
      `${STREAM}/00000.jsonl.zst is read frame by frame from its start: reserved bits set in descriptor 0x4`,
    ]);
  });

  test('a run of 300 chunks lists in numeric order', async () => {
    const root = tempFolder();
    mkdirSync(join(root, STREAM), { recursive: true });
    for (let chunk = 0; chunk < 300; chunk += 1) {
      writeFileSync(join(root, STREAM, `${chunk + 99_900}.jsonl`), episodeLine(`e${chunk}`));
    }
    const { records, run } = await readRun(root);
    expect(records.map((record) => record.chunk)).toEqual(Array.from({ length: 300 }, (_, index) => index + 99_900));
    expect(run.holes).toEqual([{ first: 0, last: 99_899 }]);
  });
});
