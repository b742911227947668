/** Signals at the built command, directly and through the launcher on an older Node (demand C8). */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Running } from '../helpers/child.js';
import { CommandRoot } from '../helpers/command-root.js';

const SYSTEM_NODE = '/usr/bin/node';

/** A Node too old to run prl itself, or null. */
function olderNode(): string | null {
  if (!existsSync(SYSTEM_NODE)) return null;
  const [major = 0] = execFileSync(SYSTEM_NODE, ['-p', 'process.versions.node']).toString().split('.').map(Number);
  return major < 22 ? SYSTEM_NODE : null;
}

const older = olderNode();
const skipReason = older === null ? ' (skipped: no Node older than 22 at /usr/bin/node)' : '';
const nodes: [string, string | undefined][] = [
  ['this Node', undefined],
  ...(older === null ? [] : [['the older Node', older] as [string, string]]),
];

const NOTICE = 'ready\nsaving the journal; a second signal leaves at once\n';

let prl: CommandRoot;

beforeAll(() => {
  prl = new CommandRoot();
});

afterAll(() => {
  prl.remove();
});

async function ready(running: Running): Promise<Running> {
  await vi.waitFor(() => expect(running.stderr()).toContain('ready'), { timeout: 20_000 });
  return running;
}

function start(args: string[], node: string | undefined): Promise<Running> {
  return ready(prl.start(['probe', ...args], node === undefined ? {} : { node }));
}

describe.each(nodes)('on %s', (_name, node) => {
  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 143],
  ] as const)('%s: one notice, the state is saved, status %i even if all was finished', async (signal, status) => {
    const { child, ended } = await start(['save', '--wait', '200ms'], node);
    child.kill(signal);
    expect(await ended).toEqual({
      status,
      signal: null,
      stdout: '{"schema":"prl.probe/1","saved":true}\n',
      stderr: NOTICE,
    });
  });

  test('the notice comes within 100 ms', async () => {
    const running = await start(['save', '--wait', '500ms'], node);
    const sentAtMs = performance.now();
    running.child.kill('SIGINT');
    await vi.waitFor(() => expect(running.stderr()).toBe(NOTICE), { timeout: 1000, interval: 2 });
    expect(performance.now() - sentAtMs).toBeLessThan(100);
    await running.ended;
  });

  test('a second signal leaves within 200 ms, with the status of the first', async () => {
    const running = await start(['stuck'], node);
    running.child.kill('SIGINT');
    await vi.waitFor(() => expect(running.stderr()).toBe(NOTICE));
    // Later than what counts as one signal; measured, not slept, so a slow machine only waits longer.
    const noticedAtMs = performance.now();
    await vi.waitFor(() => expect(performance.now() - noticedAtMs).toBeGreaterThan(150), { interval: 10 });
    const sentAtMs = performance.now();
    running.child.kill('SIGTERM');
    expect(await running.ended).toMatchObject({ status: 130, signal: null, stderr: NOTICE });
    expect(performance.now() - sentAtMs).toBeLessThan(200);
  });

  test('what cannot save ends by itself after the grace time', async () => {
    const running = await start(['stuck'], node);
    const sentAtMs = performance.now();
    running.child.kill('SIGTERM');
    expect(await running.ended).toMatchObject({ status: 143, signal: null });
    expect(performance.now() - sentAtMs).toBeGreaterThan(1900);
    expect(performance.now() - sentAtMs).toBeLessThan(3000);
  });

  test('with --json a command cut short is one document, and stderr stays empty of the notice', async () => {
    const running = prl.start(['probe', 'abort', '--json'], node === undefined ? {} : { node });
    await ready(running);
    running.child.kill('SIGINT');
    const { status, stdout, stderr } = await running.ended;
    expect({ status, stderr }).toEqual({ status: 130, stderr: 'ready\n' });
    expect(JSON.parse(stdout)).toMatchObject({ schema: 'prl.error/1', error: { code: 'PRL_ERR_INTERRUPTED' } });
  });

  test('SIGUSR1 opens no debugger', async () => {
    const running = await start(['save', '--wait', '1ms'], node);
    // Whoever shows progress listens for it; `save` does not, and must still live.
    if (node !== undefined) running.child.kill('SIGUSR1');
    running.child.kill('SIGINT');
    expect((await running.ended).status).toBe(130);
  });
});

describe.skipIf(older === null)(`the launcher on an older Node${skipReason}`, () => {
  const node = older ?? '';

  test('runs the command on the Node beside it, with its output and status', async () => {
    const { stdout, status } = await prl.run(['--version'], { node });
    expect({ stdout: stdout.includes(`node-${process.version}`), status }).toEqual({ stdout: true, status: 0 });
    expect(await prl.run(['probe', 'fail'], { node })).toMatchObject({
      status: 4,
      stderr: 'prl probe: no run at ./x\n  next: give a run\n',
    });
  });

  test('one Ctrl-C, which reaches the whole group, is one signal', async () => {
    const running = await start(['save', '--wait', '400ms'], node);
    const [child = 0] = childrenOf(running.child.pid);
    process.kill(child, 'SIGINT');
    running.child.kill('SIGINT');
    expect(await running.ended).toMatchObject({
      status: 130,
      stderr: NOTICE,
      stdout: expect.stringContaining('"saved":true'),
    });
  });

  test('the child ends, and saves, when the launcher is killed', async () => {
    const running = await start(['save', '--wait', '1ms'], node);
    const [child = 0] = childrenOf(running.child.pid);
    expect(isAlive(child)).toBe(true);
    running.child.kill('SIGKILL');
    // Standard output is shared, so it closes when the child is gone too.
    expect(await running.ended).toMatchObject({
      signal: 'SIGKILL',
      stdout: expect.stringContaining('"saved":true'),
      stderr: NOTICE,
    });
    await vi.waitFor(() => expect(isAlive(child)).toBe(false), { timeout: 5000 });
  });

  test('a child that is killed shows as 128 and the signal', async () => {
    const running = await start(['stuck'], node);
    const [child = 0] = childrenOf(running.child.pid);
    process.kill(child, 'SIGKILL');
    expect(await running.ended).toMatchObject({ status: 137, signal: null });
  });

  test('the variable of the lifeline does not reach further', async () => {
    const running = await start(['stuck'], node);
    const [child = 0] = childrenOf(running.child.pid);
    expect(readFileSync(`/proc/${child}/environ`, 'utf8')).toContain('PRL_LIFELINE_FD=3');
    running.child.kill('SIGKILL');
    await running.ended;
  });
});

function childrenOf(pid: number | undefined): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);
}

function isAlive(pid: number): boolean {
  try {
    // A zombie that nobody waits for is dead: its command line is empty.
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8') !== '';
  } catch {
    return false; // no such process
  }
}
