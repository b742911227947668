/**
 * Demand U16 at the built command: a service that takes 100 kB/s is felt by whoever reads the files, and not by the event
 * loop. The lag is measured in the process itself, beside a process that does nothing else, which tells how busy the
 * machine is.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { type Running, watchChild } from '../helpers/child.js';
import { startFaultyServer } from '../helpers/faulty-server.js';
import { writeGeneratedRun } from '../helpers/generated-run.js';
import { tempFolder } from '../helpers/temp-folder.js';
import { documentOf, startPrl } from '../helpers/upload-command.js';

const MIB = 2 ** 20;
const TICKER = resolve('test/helpers/lag-ticker.mjs');
/** Of 5 ms each; the slowest eight of them make the last hundredth. */
const LEAST_SAMPLES = 700;
const MEASURED_MS = 4_000;

type Lag = { readonly samples: number; readonly p50: number; readonly p99: number; readonly max: number };

const lagIn = (file: string): Lag => JSON.parse(readFileSync(file, 'utf8')) as Lag;

async function startIdle(file: string): Promise<Running> {
  const script = 'setInterval(() => {}, 1000); process.on("SIGINT", () => process.exit()); console.log("up")';
  const child = spawn(process.execPath, ['--import', TICKER, '-e', script], {
    env: { ...process.env, LAG_FILE: file },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const idle = watchChild(child);
  await once(child.stdout, 'data');
  return idle;
}

test.skipIf(!existsSync('/proc/self/io')).each([
  ['episodes of 4 MB in requests of 30 MiB', 4_000_000, 60, []],
  [
    'episodes of 20 kB in requests of 100 kB, so that it goes on reading',
    20_000,
    3_000,
    ['--batch', '100KB', '--budget', '8MiB'],
  ],
] as const)('U16: %s (needs /proc)', async (_what, episodeBytes, episodes, flags) => {
  const home = tempFolder();
  const run = join(home, 'run');
  const runBytes = writeGeneratedRun(run, { episodes, episodeBytes });
  const server = await startFaultyServer(() => ({ kind: 'slow', bytesPerSecond: 100_000 }));
  onTestFinished(() => server.close());
  const [file, idleFile] = [join(home, 'lag.json'), join(home, 'idle.json')];
  const args = ['upload', run, '--url', server.url, '--json', '--compress', 'none', ...flags];
  const environment = { PRIME_API_KEY: 'a-key', NODE_OPTIONS: `--import=${TICKER}`, LAG_FILE: file };
  const upload = startPrl(args, { home, environment });
  onTestFinished(() => void upload.child.kill('SIGKILL'));
  const idle = await startIdle(idleFile);
  await vi.waitFor(() => expect(server.readBytes()).toBeGreaterThan(200_000), 20_000);
  for (const child of [upload.child, idle.child]) child.kill('SIGUSR2');
  const readBefore = readBytesOf(upload.child);
  await new Promise((done) => setTimeout(done, MEASURED_MS));
  const read = readBytesOf(upload.child);
  for (const child of [upload.child, idle.child]) child.kill('SIGINT');
  expect(documentOf(await upload.ended)).toMatchObject({ partial: true });
  await idle.ended;
  // The reader went no further than the budget lets it, and then as slowly as the service.
  expect(read).toBeLessThan(runBytes * 0.8);
  expect(read - readBefore).toBeLessThan(4 * MIB);
  const [lag, idleLag] = [lagIn(file), lagIn(idleFile)];
  expect(lag.samples).toBeGreaterThan(LEAST_SAMPLES);
  // The demand is 10 ms, on a machine that is quiet; on a busy one a process that does nothing waits for its turn as well.
  expect(lag.p99).toBeLessThan(20 + 5 * idleLag.p99);
});

/** Everything that the process has read so far, from disk, cache and sockets. */
function readBytesOf({ pid }: ChildProcess): number {
  return Number(/^rchar: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1]);
}
