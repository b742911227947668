/** Slow, closed, full and absent streams at the built command (demands C2, C3). */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CommandRoot } from '../helpers/command-root.js';

const runFile = promisify(execFile);

let prl: CommandRoot;

beforeAll(() => {
  prl = new CommandRoot();
});

afterAll(() => {
  prl.remove();
});

/** Runs a shell line in which `prl` is the built command, with the status of the first part of a pipeline after the output. */
async function shell(line: string): Promise<{ stdout: string; stderr: string }> {
  const script = `prl() { "$NODE" "$LAUNCHER" "$@"; }; ${line}; echo "[\${PIPESTATUS[0]}]"`;
  const env = { PATH: process.env.PATH, HOME: prl.folder, NODE: process.execPath, LAUNCHER: prl.launcher };
  return runFile('bash', ['-c', script], { env, maxBuffer: 1 << 20 });
}

describe('a reader', () => {
  test('that is slow gets all 50 MB', async () => {
    expect((await shell('prl probe flood --count 50 | (sleep 0.5; wc -c)')).stdout).toBe('50000000\n[0]\n');
  });

  // The reader must not share prl's stderr: Node makes that pipe non-blocking, and head takes EAGAIN for a failure.
  test.each(['head -c 1', 'head -1'])(
    'that leaves (%s) stops the work with 0 and no message of a failure',
    async (reader) => {
      const { stdout, stderr } = await shell(`prl probe flood --count 1000 | ${reader} | wc -c >"$HOME/read"`);
      expect(stdout).toBe('[0]\n');
      expect(stderr).toBe('stopped\n');
      expect(Number(readFileSync(join(prl.folder, 'read'), 'utf8'))).toBeGreaterThan(0);
    },
  );

  test.each(['--help', 'probe --help', '--version', 'probe document'])(
    'that never reads costs nothing: %s',
    async (args) => {
      expect(await shell(`prl ${args} | true`)).toEqual({ stdout: '[0]\n', stderr: '' });
    },
  );
});

describe('a stream closed at the start', () => {
  test.each([
    ['stdout', 'prl probe document >&-', '[0]\n'],
    ['stdin', 'prl probe document --batch 1 --wait 0 <&-', '{"schema":"prl.probe/1","batch":1,"wait":0}\n[0]\n'],
    ['stderr', 'prl probe fail 2>&-', '[4]\n'],
    ['all three', '(prl probe fail <&- >&- 2>&-; exit $?)', '[4]\n'],
  ])('%s', async (_name, line, stdout) => {
    expect(await shell(line)).toEqual({ stdout, stderr: '' });
  });
});

describe('a full disk', () => {
  test('under stdout is a limit, not a crash', async () => {
    const { stdout, stderr } = await shell('prl probe document > /dev/full');
    expect(stdout).toBe('[8]\n');
    expect(stderr).toMatch(/^prl probe: ENOSPC.*\n {2}next: make room on the disk.*\n$/);
  });

  test('under the help as well', async () => {
    const { stdout, stderr } = await shell('prl --help > /dev/full');
    expect(stdout).toBe('[8]\n');
    expect(stderr).toMatch(/^prl: cannot write to stdout: ENOSPC/);
  });

  test('under stderr stops nothing', async () => {
    expect((await shell('prl probe notices 2> /dev/full')).stdout).toBe('[0]\n');
  });
});
