/** `prl serve` as a user runs it: its one line, its exit statuses, its signals, its data directory. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { call, getJson, jsonl, rawSocket, stored, temporaryFolder, trace, upload } from '../service/service-fixture.js';
import { serveChild } from './serve-child.js';

const LINES = jsonl(trace('t1'));
const BARE = { format: 'trace' } as const;

describe('start', () => {
  test('prints one line to stdout and nothing to stderr, serves, and ends on SIGTERM with 143', async () => {
    const { port, kill, ended, output } = await serveChild(temporaryFolder());
    await stored({ port: port as number }, LINES, BARE);
    kill('SIGTERM');
    expect(await ended).toEqual({ status: 143, signal: null });
    expect(output().stdout).toBe(`listening on http://127.0.0.1:${port}\n`);
    expect(output().stderr).toBe('finishing the requests that are running; a second signal leaves at once\n');
  });

  test('--json: one document, nothing on stderr, 130 on SIGINT', async () => {
    const dataDir = temporaryFolder();
    const { child, kill, ended, output } = await serveChild(dataDir, { args: ['--json'], until: /\}\n/ });
    expect(child.exitCode).toBeNull();
    const document = JSON.parse(output().stdout) as { url: string };
    expect(document).toEqual({
      schema: 'prl.serve/1',
      url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      port: Number(document.url.split(':')[2]),
      data: dataDir,
    });
    kill('SIGINT');
    expect(await ended).toEqual({ status: 130, signal: null });
    expect(output().stderr).toBe('');
  });

  test.each([
    ['PRL_DATA_DIR', (folder: string) => ({ PRL_DATA_DIR: folder }), ''],
    ['XDG_DATA_HOME', (folder: string) => ({ PRL_DATA_DIR: '', XDG_DATA_HOME: folder }), 'prl'],
    ['HOME', (folder: string) => ({ PRL_DATA_DIR: '', XDG_DATA_HOME: '', HOME: folder }), '.local/share/prl'],
  ])('without --data the directory comes from %s', async (_, env, below) => {
    const folder = temporaryFolder();
    const { port } = await serveChild(null, { env: env(folder) });
    await stored({ port: port as number }, LINES, BARE);
    expect(existsSync(path.join(folder, below, 'traces.sqlite'))).toBe(true);
  });

  test('the token of PRL_SERVE_TOKEN is asked for and shown nowhere', async () => {
    const env = { PRL_SERVE_TOKEN: 'sesame-8d1f' };
    const { port, kill, ended, output } = await serveChild(temporaryFolder(), { env });
    const of = { port: port as number };
    expect((await upload(of, LINES, BARE)).status).toBe(401);
    await stored(of, LINES, { ...BARE, headers: { authorization: 'Bearer sesame-8d1f' } });
    kill('SIGTERM');
    await ended;
    expect(JSON.stringify(output())).not.toContain('sesame');
  });
});

describe('refusals', () => {
  test.each([
    [['--fault', 'speed=9'], 'unknown fault "speed"'],
    [['--fault', 'latency=fast'], 'latency takes a duration'],
    [['--host', '0.0.0.0'], 'is not loopback'],
    [['--port', '70000'], '65535'],
    [['--nonsense'], 'nonsense'],
  ])('%j: status 2, the reason on stderr, nothing on stdout', async (args, reason) => {
    const { port, ended, output } = await serveChild(temporaryFolder(), { args });
    expect([port, await ended]).toEqual([null, { status: 2, signal: null }]);
    expect(output().stderr).toContain(reason);
    expect(output().stdout).toBe('');
  });

  test('a directory that another service owns: status 9, naming its process; free again after a kill', async () => {
    const dataDir = temporaryFolder();
    const first = await serveChild(dataDir);
    const second = await serveChild(dataDir);
    expect(await second.ended).toEqual({ status: 9, signal: null });
    expect(second.output().stderr).toContain(`process ${first.child.pid}`);
    first.kill('SIGKILL');
    await first.ended;
    expect((await serveChild(dataDir)).port).not.toBeNull();
  });

  test('a port that is taken: status 2', async () => {
    const first = await serveChild(temporaryFolder());
    const second = await serveChild(temporaryFolder(), { args: ['--port', String(first.port)] });
    expect(await second.ended).toEqual({ status: 2, signal: null });
    expect(second.output().stderr).toContain('choose another --port');
  });
});

describe('end', () => {
  test('an upload that is running is finished first', async () => {
    const dataDir = temporaryFolder();
    const { port, kill, ended } = await serveChild(dataDir, { args: ['--fault', 'latency=400ms'] });
    const uploading = stored({ port: port as number }, LINES, BARE);
    // Once the chunk exists the request is inside the service.
    await expect.poll(() => existsSync(path.join(dataDir, 'stream', '00000.jsonl'))).toBe(true);
    kill('SIGTERM');
    await uploading;
    expect((await ended).status).toBe(143);
  });

  test('a peer that sends nothing more does not hold it: gone within two seconds', async () => {
    const { port, kill, ended } = await serveChild(temporaryFolder());
    const { socket } = rawSocket({ port: port as number });
    socket.write('POST /api/v1/traces HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n');
    await getJson({ port: port as number }, '/traces');
    const fromMs = performance.now();
    kill('SIGTERM');
    expect((await ended).status).toBe(143);
    expect(performance.now() - fromMs).toBeLessThan(2500);
  });

  test('--exit-with-parent: ends with 0 at the end of standard input', async () => {
    const { child, ended } = await serveChild(temporaryFolder(), { args: ['--exit-with-parent'] });
    child.stdin?.end();
    expect(await ended).toEqual({ status: 0, signal: null });
  });

  test('--exit-with-parent: a parent that is killed takes it along', async () => {
    const dataDir = temporaryFolder();
    const serve = ['bin/run.js', 'serve', '--port', '0', '--data', dataDir, '--exit-with-parent'];
    const script = `require('node:child_process').spawn(process.execPath, ${JSON.stringify(serve)}, { stdio: ['pipe', 1, 2] });
      setInterval(() => {}, 1000);`;
    const parent = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
    const stdoutEnd = new Promise<void>((resolve) => parent.stdout.on('end', () => resolve()));
    await new Promise<void>((resolve) => parent.stdout.once('data', () => resolve()));
    expect(existsSync(path.join(dataDir, 'owner.json'))).toBe(true);
    parent.kill('SIGKILL');
    // The service holds the other end of this pipe: it ends when the service has.
    await stdoutEnd;
    expect(existsSync(path.join(dataDir, 'owner.json'))).toBe(false);
  });

  test('without that flag the end of standard input means nothing', async () => {
    const { child, port } = await serveChild(temporaryFolder());
    child.stdin?.end();
    await stored({ port: port as number }, LINES, BARE);
  });

  test('SIGUSR2 begins a storm anew', async () => {
    const { port, kill } = await serveChild(temporaryFolder(), { args: ['--fault', 'storm=300ms'] });
    const of = { port: port as number };
    const status = async () => (await call(of, { target: '/traces' })).status;
    expect((await upload(of, LINES, BARE)).status).toBe(503);
    await expect.poll(status).toBe(200);
    kill('SIGUSR2');
    await expect.poll(status, { interval: 10 }).toBe(503);
  });
});
