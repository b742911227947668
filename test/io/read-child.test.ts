import { execFileSync } from 'node:child_process';
import { chmodSync, closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { episodeLine } from '../helpers/read-run.js';
import { compressFrames, seal, seekTable } from '../helpers/seal.js';
import { tempFolder, writeTree } from '../helpers/temp-folder.js';

const HELPERS = join(import.meta.dirname, '../helpers');
const STREAM = 'monitors/file/traces/stream';
/** The user "nobody": has no rights on anything the tests make. */
const NOBODY = '65534';
const MIB = 1_048_576;

type Seen = {
  readonly layout: string;
  readonly records: number;
  readonly bytes: number;
  readonly damage: readonly { readonly chunk: number; readonly kind: string; readonly message: string }[];
  readonly peakBytes: number;
  readonly error?: { readonly code: string; readonly message: string; readonly hint: string };
};

function childArguments(args: readonly string[]): string[] {
  const hooks = join(HELPERS, 'typescript-hooks.mjs');
  return ['--no-warnings', '--import', hooks, join(HELPERS, 'read-run-child.ts'), ...args];
}

/** Reads a run in a child process; `input` is its standard input. */
function readInChild(args: readonly string[], input: string | Buffer = ''): Seen {
  const output = execFileSync(process.execPath, childArguments(args), { input });
  return JSON.parse(output.toString()) as Seen;
}

const isRoot = process.getuid?.() === 0;

// Only the super-user can become somebody else; elsewhere the test user is itself refused.
const asUser = (path: string): Seen => readInChild(isRoot ? [path, NOBODY] : [path]);

describe('permission denied (U23, U20)', () => {
  function openTree(files: Readonly<Record<string, string | Buffer>>): string {
    const root = writeTree(tempFolder(), files);
    chmodSync(root, 0o755);
    return root;
  }

  test('one unreadable chunk is reported with its reason, and the others are read', () => {
    const root = openTree({
      [`${STREAM}/00000.jsonl`]: episodeLine('a'),
      [`${STREAM}/00001.jsonl`]: episodeLine('b'),
      [`${STREAM}/00002.jsonl.zst`]: seal(Buffer.from(episodeLine('c'))),
      [`${STREAM}/00003.jsonl`]: episodeLine('d'),
    });
    chmodSync(join(root, STREAM, '00001.jsonl'), 0o000);
    chmodSync(join(root, STREAM, '00002.jsonl.zst'), 0o000);
    const seen = asUser(root);
    expect(seen.records).toBe(2);
    expect(seen.damage.map(({ chunk, kind, message }) => [chunk, kind, message])).toEqual([
      [1, 'unreadable', 'permission denied'],
      [2, 'unreadable', 'permission denied'],
    ]);
  });

  test.each(['', 'monitors/file/traces', STREAM])('a directory that may not be read says so: %j', (directory) => {
    const root = openTree({ [`${STREAM}/00000.jsonl`]: episodeLine('a') });
    chmodSync(join(root, directory), 0o000);
    const { error } = asUser(root);
    chmodSync(join(root, directory), 0o755);
    expect(error).toMatchObject({ code: 'PRL_ERR_DAMAGED', hint: expect.stringContaining('owner and mode') });
    expect(error?.message).toMatch(/^cannot read .*: permission denied$/);
  });

  test('a run that may only be read is read, and nothing in it changes', () => {
    const root = openTree({
      [`${STREAM}/00000.jsonl`]: episodeLine('a'),
      'monitors/file/traces/stream.index.jsonl': '',
    });
    const fingerprint = (): string =>
      execFileSync('find', ['.', '-printf', '%p %s %T@ %m\n'], { cwd: root }).toString().split('\n').sort().join('\n');
    for (const directory of ['', 'monitors', 'monitors/file', 'monitors/file/traces', STREAM]) {
      chmodSync(join(root, directory), 0o555);
    }
    const before = fingerprint();
    expect(asUser(root)).toMatchObject({ records: 1, damage: [] });
    expect(fingerprint()).toBe(before);
    for (const directory of ['', 'monitors', 'monitors/file', 'monitors/file/traces', STREAM]) {
      chmodSync(join(root, directory), 0o755);
    }
  });
});

describe('memory does not depend on the size of the run', { timeout: 120_000 }, () => {
  let idleBytes = 0;

  // The smallest real run there is tells what the process needs by itself.
  beforeAll(() => {
    idleBytes = readInChild([join(import.meta.dirname, '../../fixtures/damaged/torn-tail.jsonl')]).peakBytes;
  });

  /** 4 MiB of episode lines that hold `lineBytes` each. */
  function block(lineBytes: number): Buffer {
    const line = episodeLine('x', 'y'.repeat(lineBytes));
    return Buffer.from(line.repeat(Math.ceil((4 * MIB) / line.length)));
  }

  test('256 MiB plain', () => {
    const path = join(tempFolder(), 'traces.jsonl');
    const content = block(2_000);
    const file = openSync(path, 'w');
    for (let count = 0; count < 64; count += 1) writeSync(file, content);
    closeSync(file);
    const seen = readInChild([path]);
    expect(seen).toMatchObject({ bytes: 64 * content.length, damage: [] });
    expect(seen.peakBytes - idleBytes).toBeLessThan(60 * MIB);
  });

  test('512 MiB sealed in 4 MiB frames', () => {
    const content = block(60_000);
    const [frame] = compressFrames(content, { frameBytes: content.length });
    const sizes = Array(128).fill({ compressedBytes: frame?.length, bytes: content.length });
    const sealed = Buffer.concat([...Array(128).fill(frame), seekTable(sizes)]);
    const root = writeTree(tempFolder(), { [`${STREAM}/00000.jsonl.zst`]: sealed });
    const seen = readInChild([root]);
    expect(seen).toMatchObject({ layout: 'R3', bytes: 128 * content.length, damage: [] });
    // Two frames are held; the rest is memory of frames already read that the collector has not come to yet.
    expect(seen.peakBytes - idleBytes).toBeLessThan(280 * MIB);
  });

  test('a line of 400 MiB is passed over without being held', () => {
    const path = join(tempFolder(), 'traces.jsonl');
    const file = openSync(path, 'w');
    writeSync(file, `${episodeLine('a')}{"id":"big","traces":["`);
    const part = Buffer.alloc(MIB, 'x');
    for (let count = 0; count < 400; count += 1) writeSync(file, part);
    writeSync(file, `"]}\n${episodeLine('b')}`);
    closeSync(file);
    const seen = readInChild([path]);
    expect(seen).toMatchObject({ records: 2, damage: [{ kind: 'line_too_large' }] });
    // The buffer grows to the cap of 64 MiB, by doubling, before the line is known to be longer.
    expect(seen.peakBytes - idleBytes).toBeLessThan(220 * MIB);
  });
});

test('1,000 chunks are read with 32 descriptors (U22)', () => {
  const root = tempFolder();
  const chunks = Array.from({ length: 1_000 }, (_, chunk) => [`${STREAM}/${chunk}.jsonl`, episodeLine('a')] as const);
  writeTree(root, Object.fromEntries(chunks));
  const seen = JSON.parse(
    execFileSync('sh', [
      '-c',
      `ulimit -n 32 && exec "$0" "$@"`,
      process.execPath,
      ...childArguments([root]),
    ]).toString(),
  ) as Seen;
  expect(seen).toMatchObject({ records: 1_000, damage: [] });
});

describe('standard input', () => {
  const real = readFileSync(join(import.meta.dirname, '../../fixtures/runs/verifiers-eval/traces.jsonl'));

  test.each([
    ['plain', real],
    ['zstd with a seek table', seal(real, { frameBytes: 65_536 })],
    ['zstd without one', seal(real, { frameBytes: 65_536, hasTable: false })],
  ])('%s', (_, input) => {
    expect(readInChild(['-'], input)).toMatchObject({ layout: 'B', records: 16, bytes: real.length, damage: [] });
  });

  test.each([
    ['nothing at all', ''],
    ['less than a magic number', '\n\n'],
  ])('%s is an empty run', (_, input) => {
    expect(readInChild(['-'], input)).toMatchObject({ records: 0, damage: [] });
  });

  test('a torn end is reported', () => {
    const seen = readInChild(['-'], real.subarray(0, real.length - 100));
    expect(seen).toMatchObject({ records: 15, damage: [{ kind: 'torn' }] });
  });
});
