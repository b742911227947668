/**
 * Demand U25 at the built command: the wall clock is set a day on, or back, while it waits for the service, for its own
 * bandwidth limit, and for more of a run that it follows. Nothing comes early, nothing comes a day late, and no figure shows it.
 */
import { appendFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Running } from '../helpers/child.js';
import { type Fault, type FaultyServer, startFaultyServer } from '../helpers/faulty-server.js';
import { episodeLine } from '../helpers/read-run.js';
import { tempFolder } from '../helpers/temp-folder.js';
import { startPrl } from '../helpers/upload-command.js';

const CLOCK_JUMP = resolve('test/helpers/clock-jump.mjs');
/** A day and an hour, so that the lines show it. */
const DAY_MS = 25 * 3_600_000;
const JUMPS = [
  ['a day on', DAY_MS],
  ['a day back', -DAY_MS],
] as const;

let home = '';
let file = '';

beforeEach(() => {
  home = tempFolder();
  file = join(home, 'traces.jsonl');
});

async function serve(script: (index: number) => Fault | undefined = () => undefined): Promise<FaultyServer> {
  const server = await startFaultyServer(script);
  onTestFinished(() => server.close());
  return server;
}

/** An upload whose clock jumps with SIGUSR2. */
function start(jumpMs: number, server: FaultyServer, ...flags: string[]): Running {
  const environment = { NODE_OPTIONS: `--import=${CLOCK_JUMP}`, CLOCK_JUMP_MS: `${jumpMs}`, CLOCK_JUMPS_LATER: '1' };
  const upload = startPrl(['upload', file, '--url', server.url, '--run-id', 'r', ...flags], { home, environment });
  onTestFinished(() => void upload.child.kill('SIGKILL'));
  return upload;
}

/** The hours of the plain lines: two, when the clock jumped for the process as well. */
const hoursIn = (stderr: string): Set<string> =>
  new Set([...stderr.matchAll(/^(\d\d):\d\d:\d\d upload /gm)].map(([, hour]) => String(hour)));

const LINES = ['--no-tui', '--progress-interval', '100ms'];

describe.each(JUMPS)('the clock is set %s', (_what, jumpMs) => {
  test('during a Retry-After of 2 s: the next request comes after it, and soon', async () => {
    writeFileSync(file, episodeLine('a'));
    const server = await serve((index) =>
      index === 0 ? { kind: 'answer', status: 503, headers: { 'Retry-After': '2' } } : undefined,
    );
    const upload = start(jumpMs, server, ...LINES);
    await vi.waitFor(() => expect(upload.stderr()).toMatch(/waiting for the service until .* \(it asked\)/), 20_000);
    upload.child.kill('SIGUSR2');
    const { status, stderr } = await upload.ended;
    expect(status).toBe(0);
    const [first, second] = server.requests;
    const waitedMs = (second?.atMs ?? 0) - (first?.atMs ?? 0);
    expect(waitedMs).toBeGreaterThanOrEqual(1_990);
    expect(waitedMs).toBeLessThan(20_000);
    expect(Number(/uploaded 1 episode, .* in ([\d.]+) s/.exec(stderr)?.[1])).toBeLessThan(30);
  });

  test('under --bwlimit: the rate holds, and rate and remaining time stay as they were', async () => {
    writeFileSync(
      file,
      Array.from({ length: 20 }, (_, index) => episodeLine(`e${index}`, 'x'.repeat(20_000))).join(''),
    );
    const server = await serve();
    const limits = ['--bwlimit', '200KB/s', '--compress', 'none', '--batch', '20KB', '--concurrency', '1'];
    const upload = start(jumpMs, server, ...LINES, ...limits);
    await vi.waitFor(() => expect(server.stored.size).toBeGreaterThan(5), 20_000);
    const before = upload.stderr().length;
    upload.child.kill('SIGUSR2');
    const { status, stderr } = await upload.ended;
    expect(status).toBe(0);
    const after = stderr.slice(before);
    expect(hoursIn(stderr).size).toBeGreaterThan(1);
    const etas = [...after.matchAll(/ eta (\d+):(\d\d)$/gm)].map(
      ([, minutes, seconds]) => Number(minutes) * 60 + Number(seconds),
    );
    expect(etas.length).toBeGreaterThan(5);
    expect(Math.max(...etas)).toBeLessThan(30);
    const [first, last] = [server.requests[0], server.requests.at(-1)];
    const seconds = ((last?.atMs ?? 0) - (first?.atMs ?? 0)) / 1000;
    const bytes = server.readBytes() - (first?.rawBody.length ?? 0);
    expect(bytes / (seconds + 0.1)).toBeLessThan(220_000);
    expect(seconds).toBeLessThan(30);
  });

  test('while a run is followed: what is appended goes when it has waited, and the age of the backlog is true', async () => {
    writeFileSync(file, episodeLine('a'));
    const server = await serve();
    const upload = start(jumpMs, server, '--follow', ...LINES);
    await vi.waitFor(() => expect(server.stored.size).toBe(1), 20_000);
    upload.child.kill('SIGUSR2');
    await vi.waitFor(() => expect(upload.stderr()).toMatch(/waiting for new episodes/), 20_000);
    const before = upload.stderr().length;
    appendFileSync(file, episodeLine('b'));
    await vi.waitFor(() => expect(server.stored.size).toBe(2), 20_000);
    upload.child.kill('SIGINT');
    const { status, stderr } = await upload.ended;
    expect(status).toBe(130);
    expect(hoursIn(stderr).size).toBeGreaterThan(1);
    const ages = [...stderr.slice(before).matchAll(/, oldest (\d+):(\d\d)\)/g)];
    expect(ages.length).toBeGreaterThan(0);
    expect(Math.max(...ages.map(([, minutes, seconds]) => Number(minutes) * 60 + Number(seconds)))).toBeLessThan(20);
  });
});
