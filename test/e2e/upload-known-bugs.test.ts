/** Reported bugs of other uploaders that need the whole command to show (spec 08; the others stand with their modules). */
import { spawn } from 'node:child_process';
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { watchChild } from '../helpers/child.js';
import { type FaultyServer, startFaultyServer } from '../helpers/faulty-server.js';
import { serve } from '../helpers/primed.js';
import { tempFolder, writeTree } from '../helpers/temp-folder.js';
import { documentOf, runPrl } from '../helpers/upload-command.js';

const MIB = 1024 * 1024;

const episode = (id: string, text = ''): string =>
  `{"id":"${id}","env":{"id":"arith"},"task":{"type":"T","data":{"text":"${text}"}},"ok":true,"errors":[],"traces":[]}\n`;

const storedIds = ({ stored }: FaultyServer): string[] =>
  [...stored.values()].flatMap((jsonl) => [...String(jsonl).matchAll(/^\{"id":"(\w+)"/gm)].map(([, id = '']) => id));

/** An upload of a file to a service of the test. */
async function upload(server: FaultyServer, path: string, home: string) {
  const args = ['upload', path, '--url', server.url, '--run-id', 'r', '--json'];
  const ended = await runPrl(args, { home, environment: { PRIME_API_KEY: 'key' } });
  return { ...documentOf(ended), status: ended.status };
}

test('A13: a reward that is no number costs its own record, and a second upload sends nothing', async () => {
  const home = tempFolder();
  const server = await serve();
  const bad = episode('b').replace('"ok":true', '"reward":NaN,"ok":true');
  const run = writeTree(join(home, 'run'), { 'traces.jsonl': episode('a') + bad + episode('c') });
  const first = await upload(server, run, home);
  expect(first).toMatchObject({ status: 3, sent: { episodes: 2 } });
  expect([...first.damaged, ...first.rejected]).toHaveLength(1);
  expect(storedIds(server)).toEqual(['a', 'c']);
  expect(await upload(server, run, home)).toMatchObject({ status: 3, already: { episodes: 2 }, sent: { requests: 0 } });
});

test('A46: a line that no gateway may take is announced with its place and sent alone', async () => {
  const home = tempFolder();
  const server = await serve();
  const path = join(home, 'traces.jsonl');
  writeFileSync(path, episode('a'));
  appendFileSync(path, episode('huge', 'x'.repeat(40 * MIB)));
  appendFileSync(path, episode('c'));
  // As of what does not compress.
  const args = ['upload', path, '--url', server.url, '--run-id', 'r', '--compress', 'none'];
  const { status, stderr } = await runPrl(args, { home, environment: { PRIME_API_KEY: 'key' } });
  expect(status).toBe(0);
  expect(stderr).toMatch(/a request of \d+ bytes is above the 33554432 that gateways .*\(1 line\)/);
  // Nothing shares its request; which of them is stored first nobody says (R-Q-8).
  expect([...server.stored.values()].filter(({ length }) => length > MIB)).toHaveLength(1);
  expect(server.stored.size).toBe(3);
});

test('A54: 80 MiB go up in requests of 30 MiB at most', async () => {
  const home = tempFolder();
  const server = await serve();
  const path = join(home, 'traces.jsonl');
  const text = 'x'.repeat(2 * MIB);
  for (let index = 0; index < 40; index += 1) appendFileSync(path, episode(`e${index}`, text));
  expect(await upload(server, path, home)).toMatchObject({ status: 0, sent: { episodes: 40, requests: 3 } });
  expect([...server.stored.values()].every(({ length }) => length <= 30 * MIB)).toBe(true);
  expect(new Set(storedIds(server)).size).toBe(40);
});

test('A53: a file that was resumed, and is another file by now, goes up with what came since', async () => {
  const home = tempFolder();
  const server = await serve();
  const run = writeTree(join(home, 'run'), { 'traces.jsonl': episode('a') + episode('b') });
  await upload(server, run, home);
  // A resumed evaluation writes what it keeps anew and goes on behind it.
  writeTree(run, { 'traces.jsonl': episode('b') + episode('c') + episode('d') });
  expect(await upload(server, run, home)).toMatchObject({ status: 0, already: { episodes: 1 }, sent: { episodes: 2 } });
  expect(storedIds(server)).toEqual(['a', 'b', 'c', 'd']);
});

test('A55: a configuration in the working directory names no service and gets no key', async () => {
  const [meant, foreign] = [await startFaultyServer(), await startFaultyServer()];
  const home = tempFolder();
  const project = tempFolder();
  const config = (url: string, key: string): string => JSON.stringify({ traces_url: url, base_url: url, api_key: key });
  mkdirSync(join(home, '.prime'));
  mkdirSync(join(project, '.prime'));
  writeFileSync(join(home, '.prime/config.json'), config(meant.url, 'my-key'));
  writeFileSync(join(project, '.prime/config.json'), config(foreign.url, 'their-key'));
  writeTree(project, { 'traces.jsonl': episode('a') });
  try {
    const child = spawn(process.execPath, [resolve('bin/run.js'), 'upload', 'traces.jsonl', '--run-id', 'r'], {
      cwd: project,
      env: { PATH: process.env.PATH ?? '', HOME: home },
    });
    expect(await watchChild(child).ended).toMatchObject({ status: 0 });
    expect(meant.requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer my-key']);
    expect(foreign.connections()).toBe(0);
  } finally {
    await meant.close();
    await foreign.close();
  }
});
