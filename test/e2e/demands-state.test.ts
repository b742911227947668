/**
 * Demands U20 and U21 at the built command: a run that may only be read is uploaded and stays as it was, and a disk that has
 * no room for state costs a warning, and the next upload a look at the service's listing.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { startCountingProxy } from '../helpers/counting-proxy.js';
import { type EmbeddedService, startEmbedded } from '../helpers/embedded-service.js';
import { CAN_MOUNT, smallDisk } from '../helpers/small-disk.js';
import { tempFolder } from '../helpers/temp-folder.js';
import { runUnprivileged } from '../helpers/unprivileged.js';
import { documentOf, runPrl, storedEpisodes } from '../helpers/upload-command.js';
import { writeVariedRun } from '../helpers/varied-run.js';

let home = '';
let service: EmbeddedService;

beforeEach(async () => {
  home = tempFolder();
  service = await startEmbedded();
  onTestFinished(() => service.close());
});

/** Names, sizes, times, modes and bytes of everything below a folder, itself included. */
function fingerprint(root: string): string {
  const options = { cwd: root, encoding: 'utf8' } as const;
  const list = execFileSync('find', ['.', '-printf', '%p %y %s %T@ %C@ %m %U\\n'], options).split('\n').sort();
  const sums = execFileSync('sh', ['-c', 'find . -type f | sort | xargs sha256sum'], options);
  return `${list.join('\n')}\n${sums}`;
}

describe('U20: a run that may only be read', () => {
  function directoriesOf(root: string): string[] {
    const below = readdirSync(root, { recursive: true, encoding: 'utf8' }).map((name) => join(root, name));
    return [root, ...below].filter((path) => statSync(path).isDirectory());
  }

  test.each([
    ['upload', ['--verify']],
    ['rejected lines once more', ['--retry-rejected']],
    ['a filter', ['--kind', 'train']],
    ['--dry-run', ['--dry-run']],
  ])('by mode, to another user: %s', async (_what, flags) => {
    const { root, episodes } = writeVariedRun(join(home, 'run'));
    const directories = directoriesOf(root);
    for (const directory of directories) chmodSync(directory, 0o555);
    onTestFinished(() => {
      for (const directory of directories) chmodSync(directory, 0o755);
    });
    const before = fingerprint(root);
    const environment = { HOME: home, PRL_STATE_DIR: join(home, 'state'), PRIME_API_KEY: service.token };
    const args = ['upload', root, '--url', service.url, '--json', '--batch', '4KB', ...flags];
    const first = await runUnprivileged(args, environment);
    expect({ status: first.status, stderr: first.stderr }).toEqual({ status: 0, stderr: '' });
    expect(fingerprint(root)).toBe(before);
    if (flags[0] !== '--verify') return;
    expect(documentOf(first)).toMatchObject({ complete: true, sent: { episodes: 60 }, verified: { ok: true } });
    // The state is elsewhere, and is found there.
    const again = await runUnprivileged(args, environment);
    expect(documentOf(again)).toMatchObject({ already: { episodes: 60 }, sent: { requests: 0 } });
    expect(fingerprint(root)).toBe(before);
    expect(storedEpisodes(service, 'varied-run')).toEqual(episodes.map(({ id }) => id));
  });

  test.skipIf(!CAN_MOUNT)('by its file system, to the super-user too (needs the right to mount)', async () => {
    const disk = smallDisk(2 ** 20);
    const { root } = writeVariedRun(join(disk.path, 'run'));
    execFileSync('mount', ['-o', 'remount,ro', disk.path]);
    const before = fingerprint(root);
    const options = { home, environment: { PRIME_API_KEY: service.token } };
    const args = ['upload', root, '--url', service.url, '--json'];
    const first = await runPrl(args, options);
    expect({ status: first.status, stderr: first.stderr }).toEqual({ status: 0, stderr: '' });
    expect(documentOf(await runPrl(args, options))).toMatchObject({ complete: true, sent: { requests: 0 } });
    expect(fingerprint(root)).toBe(before);
  });
});

describe.skipIf(!CAN_MOUNT)('U21: a disk of 64 KiB for state (needs the right to mount)', () => {
  const EPISODES = 300;
  const ids = Array.from({ length: EPISODES }, (_, index) => `e${String(index).padStart(3, '0')}`);

  /** A bare file, whose state is never beside it. */
  function writeFile(): string {
    const run = { type: 'eval', id: 'r' };
    const lines = ids.map((id) =>
      JSON.stringify({ id, env: { id: 'e' }, run, traces: [{ id: `t-${id}`, nodes: [], run }] }),
    );
    const file = join(home, 'traces.jsonl');
    writeFileSync(file, `${lines.join('\n')}\n`);
    return file;
  }

  test('everything is stored, with one warning and a note; the next upload asks for the listing and sends no body', {
    timeout: 60_000,
  }, async () => {
    const file = writeFile();
    const disk = smallDisk(65_536);
    const proxy = await startCountingProxy(service.url);
    const options = { home, environment: { PRIME_API_KEY: service.token, PRL_STATE_DIR: disk.path } };
    // A request for each episode: two facts each for the journal.
    const args = ['upload', file, '--url', proxy.url, '--batch', '1', '--concurrency', '8'];
    const first = await runPrl([...args, '--no-tui'], options);
    expect(first.status).toBe(0);
    const warnings = first.stderr.split('\n').filter((line) => /journal is not kept/.test(line));
    expect(warnings).toEqual([expect.stringMatching(/ENOSPC/)]);
    expect(first.stderr.trimEnd().split('\n').at(-1)).toMatch(/^ journal {3}none kept {3}nothing left to send$/);
    expect(storedEpisodes(service, 'r')).toEqual(ids);
    proxy.take();

    const again = await runPrl([...args, '--json'], options);
    expect(again.status).toBe(0);
    expect(documentOf(again)).toMatchObject({
      complete: true,
      already: { episodes: EPISODES },
      sent: { episodes: 0, requests: 0 },
    });
    const { pages, bodies } = proxy.take();
    expect(bodies).toBe(0);
    expect(pages).toBeGreaterThan(0);
    expect(pages).toBeLessThanOrEqual(EPISODES / 100 + 1);

    // With room again nothing is left to find out after one more look.
    disk.grow(2 ** 20);
    expect(documentOf(await runPrl([...args, '--json'], options))).toMatchObject({ sent: { requests: 0 } });
    proxy.take();
    const last = await runPrl([...args, '--json'], options);
    expect({ status: last.status, stderr: last.stderr }).toEqual({ status: 0, stderr: '' });
    expect(proxy.take()).toEqual({ pages: 0, bodies: 0, others: 0 });
    expect(storedEpisodes(service, 'r')).toEqual(ids);
  });

  test('that is full from the start takes neither lock nor journal, and two uploads at once store each episode once', async () => {
    const file = writeFile();
    const disk = smallDisk(65_536);
    mkdirSync(join(disk.path, 'filled'));
    // Nothing is left, neither of bytes nor of what names and directories take.
    let files = 0;
    expect(() => {
      for (; files < 100; files += 1) writeFileSync(join(disk.path, 'filled', String(files)), Buffer.alloc(4_096));
    }).toThrow(/ENOSPC/);
    const options = { home, environment: { PRIME_API_KEY: service.token, PRL_STATE_DIR: disk.path } };
    const args = ['upload', file, '--url', service.url, '--batch', '2KB', '--no-tui'];
    const both = await Promise.all([runPrl(args, options), runPrl(args, options)]);
    for (const { status, stderr } of both) {
      expect(status).toBe(0);
      expect(stderr.match(/journal is not kept/g)).toHaveLength(1);
      expect(stderr).toMatch(/ journal {3}none kept/);
    }
    expect(storedEpisodes(service, 'r')).toEqual(ids);
  });
});
