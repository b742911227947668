/**
 * The built prime monitor in a producer of its own, against the embedded service as a process: killed at any moment, its
 * uploads killed, its service stopped or gone. Every stored copy is read out of the service's database: each episode is
 * there once (U1, U2, U7, U12, U16, U24).
 */
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { watchChild } from '../helpers/child.js';
import { seededRandom } from '../helpers/generated-run.js';
import { expectAccount } from '../helpers/primed.js';
import { gone, Producer, type ProducerJob, peakBytesOf } from '../helpers/producer.js';
import { readRun } from '../helpers/read-run.js';
import { runPrl, storedEpisodes } from '../helpers/upload-command.js';
import { temporaryFolder } from '../service/service-fixture.js';
import { type ServeChild, serveChild } from './serve-child.js';

const MIB = 1024 * 1024;
const RUN = 'r1';
let directory = '';
let state = '';
let service: ServeChild;

beforeEach(async () => {
  directory = temporaryFolder();
  state = temporaryFolder();
  service = await serveChild(directory);
});

const start = (job: Partial<ProducerJob> & { readonly count: number }): Producer =>
  new Producer({ url: `http://127.0.0.1:${service.port}`, run: RUN, state, ...job });
const stored = (): string[] => storedEpisodes({ directory }, RUN);
const spool = (): string => join(state, 'spool', RUN);
const ids = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, index) => `e${from + index}`).sort();

/** Of the first thread of a process, which those that come later inherit. */
function nicenessOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // Behind the name, which may hold anything, comes the third field; niceness is the nineteenth.
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16]);
}

test.runIf(process.platform === 'linux')('what uploads comes behind its producer from its first moment', async () => {
  const producer = start({ count: 1, end: 'stay' });
  await producer.until(({ uploadPid }) => uploadPid !== null);
  const upload = producer.uploadPid ?? 0;
  await producer.until(() => nicenessOf(upload) === 19);
  await producer.logged();
  expect(nicenessOf(producer.pid)).toBe(nicenessOf(process.pid));
});

describe('U1, U2: each episode once', () => {
  test('with the process that uploads killed again and again', async () => {
    const random = seededRandom(7);
    const producer = start({ count: 300, bytes: 20_000, pauseMs: 8, options: { batchBytes: 100_000 } });
    for (let kill = 0; kill < 3; kill += 1) {
      await producer.until(({ uploadPid }) => uploadPid !== null);
      const pid = producer.uploadPid ?? 0;
      await producer.until((one) => one.said('logged').length >= (kill + 1) * 60 + random() * 40);
      process.kill(pid, 'SIGKILL');
      await gone(pid);
    }
    const report = await producer.report();
    expectAccount(report.counts);
    expect(report).toMatchObject({ isComplete: true, counts: { admitted: 300, adopted: 0, stored: 300 } });
    expect(stored()).toEqual(ids(0, 300));
    expect(producer.said('notice').filter((notice) => notice.includes('SIGKILL'))).toHaveLength(3);
    expect(existsSync(spool())).toBe(false);
  });

  test('with the producer killed again and again: what was on the disk is sent by the next, its process ends with it', async () => {
    const random = seededRandom(11);
    const saved: string[] = [];
    let from = 0;
    for (let life = 0; life < 4; life += 1) {
      const producer = start({ count: 10_000, from, bytes: 20_000, pauseMs: 3, options: { batchBytes: 100_000 } });
      const enough = 40 + random() * 60;
      await producer.until((one) => one.said('saved').length >= enough && one.uploadPid !== null);
      const { pid, uploadPid } = producer;
      process.kill(pid, 'SIGKILL');
      await producer.ended;
      await gone(uploadPid ?? 0);
      saved.push(...producer.said('saved'));
      from = Number((producer.said('logged').at(-1) ?? '').slice(1)) + 1;
    }
    const last = start({ count: 10, from });
    const report = await last.report();
    expectAccount(report.counts);
    expect(report).toMatchObject({ isComplete: true, counts: { admitted: 10 } });
    const all = stored();
    expect(all).toEqual([...new Set(all)]);
    expect(all).toEqual(expect.arrayContaining([...saved, ...ids(from, from + 10)]));
    expect(existsSync(spool())).toBe(false);
  });

  test('with the producer killed while it follows the stream of its file monitor: what is in the stream is stored', async () => {
    const random = seededRandom(13);
    const fileRun = join(state, 'run');
    let from = 0;
    for (let life = 0; life < 3; life += 1) {
      const producer = start({
        count: 10_000,
        from,
        fileRun,
        bytes: 20_000,
        pauseMs: 3,
        options: { batchBytes: 100_000 },
      });
      const enough = 40 + random() * 60;
      await producer.until((one) => one.said('logged').length >= enough);
      process.kill(producer.pid, 'SIGKILL');
      await producer.ended;
      from = Number((producer.said('logged').at(-1) ?? '').slice(1)) + 1;
    }
    const report = await start({ count: 10, from, fileRun }).report();
    expectAccount(report.counts);
    expect(report).toMatchObject({ isComplete: true, counts: { admitted: 10 } });
    const { records, damage } = await readRun(fileRun);
    expect(damage.filter(({ kind }) => kind !== 'torn')).toEqual([]);
    expect(stored()).toEqual(records.map(({ bytes }) => (JSON.parse(bytes.toString()) as { id: string }).id).sort());
    expect(existsSync(spool())).toBe(false);
  });

  test('with a service that loses answers and refuses in between', async () => {
    service.kill('SIGTERM');
    await service.ended;
    service = await serveChild(directory, { args: ['--fault', 'lost-response=30%', '--fault', 'errors=20%'] });
    const producer = start({ count: 80, bytes: 10_000, options: { batchBytes: 100_000 } });
    const report = await producer.report();
    expectAccount(report.counts);
    expect(report).toMatchObject({ isComplete: true, counts: { stored: 80 } });
    expect(stored()).toEqual(ids(0, 80));
  });

  test('with a service that is started again under it', async () => {
    const producer = start({ count: 200, bytes: 10_000, pauseMs: 10, options: { batchBytes: 50_000 } });
    await producer.until((one) => one.said('logged').length > 60);
    const { port } = service;
    service.kill('SIGKILL');
    await service.ended;
    await producer.until((one) => one.said('logged').length > 120);
    service = await serveChild(directory, { args: ['--port', String(port)] });
    const report = await producer.report();
    expect(report).toMatchObject({ isComplete: true, counts: { stored: 200, dropped: 0 } });
    expect(stored()).toEqual(ids(0, 200));
  });
});

describe('a service that stands still', () => {
  test('U7, U12, U16: costs disk, neither memory nor an episode; every call returns', async () => {
    service.kill('SIGSTOP');
    // 120 MiB through a budget of 16 MiB.
    const budgetBytes = 16 * MIB;
    const options = { budgetBytes, uploadBudgetBytes: budgetBytes, compress: 'none', batchBytes: 4 * MIB };
    const producer = start({ count: 240, bytes: MIB / 2, pauseMs: 10, end: 'stay', options });
    const logged = await producer.logged();
    expect(logged).toMatchObject({ submitted: 240, dropped: 0, stored: 0, queuedRecords: 0 });
    expect(logged.spoolBytes).toBeGreaterThan(120 * MIB);
    // Node and its libraries take 60 to 100 MB before anything is done.
    expect(peakBytesOf(producer.pid)).toBeLessThan(budgetBytes + 200 * MIB);
    expect(peakBytesOf(producer.uploadPid ?? 0)).toBeLessThan(budgetBytes + 200 * MIB);
    service.kill('SIGCONT');
    producer.tell('finish');
    expect(await producer.report()).toMatchObject({ isComplete: true, counts: { stored: 240 } });
    expect(stored()).toEqual(ids(0, 240));
    expect(existsSync(spool())).toBe(false);
  });

  test('R10: killed with its uploads while the service is away, again and again, a producer loses nothing that was on the disk', async () => {
    service.kill('SIGSTOP');
    const saved: string[] = [];
    const logged: string[] = [];
    for (let life = 0; life < 3; life += 1) {
      const producer = start({ count: 10_000, from: logged.length, bytes: 20_000, pauseMs: 3 });
      await producer.until((one) => one.said('saved').length >= 50 && one.uploadPid !== null);
      const { uploadPid } = producer;
      if (uploadPid !== null) process.kill(uploadPid, 'SIGKILL');
      process.kill(producer.pid, 'SIGKILL');
      await producer.ended;
      await gone(uploadPid ?? 0);
      saved.push(...producer.said('saved'));
      logged.push(...producer.said('logged'));
    }
    service.kill('SIGCONT');
    const report = await start({ count: 0 }).report();
    expectAccount(report.counts);
    expect(report).toMatchObject({ isComplete: true, counts: { admitted: 0 } });
    const all = stored();
    expect(all).toEqual([...new Set(all)]);
    expect(all).toEqual(expect.arrayContaining(saved));
    // What is lost was on its way from the memory to the disk, which is not far.
    expect(saved.length).toBeGreaterThan(logged.length / 2);
  });

  test('U24: finish ends in time, tells what is left, and `prl upload` of that sends it', async () => {
    service.kill('SIGSTOP');
    const producer = start({ count: 20, bytes: 5_000, options: { finishTimeoutMs: 500, batchBytes: 20_000 } });
    const report = await producer.report();
    expectAccount(report.counts);
    expect(report).toMatchObject({ isComplete: false, left: { directory: spool(), records: 20 }, lost: 0 });
    expect(producer.said('notice')).toEqual([
      expect.stringMatching(/^left 20 episodes are not confirmed by the service/),
    ]);
    service.kill('SIGCONT');
    const url = `http://127.0.0.1:${service.port}`;
    const { status } = await runPrl(['upload', spool(), '--url', url, '--batch', '20000'], {
      home: state,
      environment: { PRL_STATE_DIR: state, PRIME_API_KEY: 'pk-of-tests' },
    });
    expect(status).toBe(0);
    expect(stored()).toEqual(ids(0, 20));
  });
});

describe('the end of a producer', () => {
  test('a process that uploads and answers nobody any more does not keep it, nor the report', async () => {
    const producer = start({ count: 20, bytes: 5_000, end: 'stay', options: { finishTimeoutMs: 200 } });
    await producer.logged();
    const pid = producer.uploadPid ?? 0;
    process.kill(pid, 'SIGSTOP');
    // Nothing of its own is left to do, which would keep it alive.
    producer.tell('finish');
    expectAccount((await producer.report()).counts);
    await gone(pid);
  });

  test('an interrupt for the whole group leaves the uploads to finish', async () => {
    const producer = start({ count: 10_000, pauseMs: 5 });
    await producer.until((one) => one.said('logged').length > 50);
    process.kill(-producer.pid, 'SIGINT');
    const report = await producer.report();
    expect(report.isComplete).toBe(true);
    expect(stored()).toEqual(producer.said('logged').sort());
  });

  test('without finish it ends by itself, and its upload with it; what is on the disk waits for the next', async () => {
    service.kill('SIGSTOP');
    const producer = start({ count: 50, bytes: 10_000, end: 'leave' });
    await producer.until(({ uploadPid }) => uploadPid !== null);
    const { uploadPid } = producer;
    expect(await producer.ended).toMatchObject({ status: 0, stderr: '' });
    await gone(uploadPid ?? 0);
    expect(producer.said('saved')).toHaveLength(50);
    expect(readdirSync(join(spool(), 'monitors/file/traces/stream'))).toEqual(['00000.jsonl']);
    service.kill('SIGCONT');
    expect(await start({ count: 0 }).report()).toMatchObject({ isComplete: true, counts: { adopted: 50, stored: 50 } });
    expect(stored()).toEqual(ids(0, 50));
  });
});

test('scenario H, short: large episodes as fast as they can be logged, none dropped, each stored once', async () => {
  const producer = start({ count: 60, bytes: 2.3 * MIB, options: { budgetBytes: 4096 * MIB } });
  expect(await producer.report()).toMatchObject({ isComplete: true, counts: { dropped: 0, stored: 60 } });
  expect(stored()).toEqual(ids(0, 60));
});

test("the README's example sends an episode", async () => {
  const readme = readFileSync('README.md', 'utf8');
  const example = /```ts\n(import \{ PrimeMonitor \} from 'prl';[^`]+)```/.exec(readme)?.[1] ?? '';
  const episode = {
    id: 'e1',
    env: { id: 'arith' },
    task: { type: 'T', data: { idx: 0 } },
    ok: true,
    errors: [],
    traces: [],
  };
  const code = `const episode = ${JSON.stringify(episode)};\n${example}\nconsole.log(counts.stored, left);`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', code], {
    env: {
      PATH: process.env.PATH ?? '',
      HOME: state,
      PRIME_TRACES_URL: `http://127.0.0.1:${service.port}`,
      PRIME_API_KEY: 'pk-of-tests',
    },
  });
  expect(await watchChild(child).ended).toMatchObject({ status: 0, stdout: '1 null\n', stderr: '' });
  expect(storedEpisodes({ directory }, 'my-run')).toEqual(['e1']);
});
