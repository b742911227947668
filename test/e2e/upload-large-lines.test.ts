/**
 * The built `prl upload` and lines larger than what it may hold (U8, R05): each goes alone, in a request that is larger
 * than any other, its neighbours as usual. What the service cannot take (spec 06 section 3) is told, whatever its size.
 */
import { createHash } from 'node:crypto';
import { closeSync, mkdirSync, openSync, readFileSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type FaultyServer, startFaultyServer } from '../helpers/faulty-server.js';
import { tempFolder } from '../helpers/temp-folder.js';
import { documentOf, runPrl } from '../helpers/upload-command.js';

const MIB = 2 ** 20;
const KEY = { PRIME_API_KEY: 'a-token-of-tests' };

type LineSize = { readonly id: string; readonly bytes: number };

/** A run of lines of the given sizes, of text that compresses to half; returns the digest of each line, LF included. */
function writeLines(run: string, lines: readonly LineSize[]): Map<string, string> {
  const path = join(run, 'monitors/file/traces/stream/00000.jsonl');
  mkdirSync(dirname(path), { recursive: true });
  const file = openSync(path, 'w');
  const block = createHash('shake256', { outputLength: MIB / 2 })
    .update('text')
    .digest('hex');
  const digests = new Map<string, string>();
  for (const { id, bytes } of lines) {
    const hash = createHash('sha256');
    const write = (text: string): void => {
      writeSync(file, text);
      hash.update(text);
    };
    const run = { type: 'train', id: 'r' };
    const [head = '', tail = ''] = JSON.stringify({
      id,
      env: { id: 'e' },
      run,
      ok: true,
      errors: [],
      traces: [],
      x: '|',
    }).split('|');
    write(head);
    for (let left = bytes - head.length - tail.length - 1; left > 0; left -= block.length) write(block.slice(0, left));
    write(`${tail}\n`);
    digests.set(id, hash.digest('hex'));
  }
  closeSync(file);
  return digests;
}

/** Ids of each stored request, and whether each line of it is the one that was written. */
function storedLines({ stored }: FaultyServer, digests: ReadonlyMap<string, string>): string[] {
  return [...stored.values()].map((jsonl) => {
    const ids: string[] = [];
    for (let at = 0; at < jsonl.length; ) {
      const end = jsonl.indexOf(0x0a, at) + 1;
      const id = /^\{"id":"(\w+)"/.exec(jsonl.toString('latin1', at, at + 40))?.[1] ?? '';
      const digest = createHash('sha256').update(jsonl.subarray(at, end)).digest('hex');
      ids.push(digest === digests.get(id) ? id : `${id}, changed`);
      at = end;
    }
    return ids.join(' ');
  });
}

describe('U8, R05: a line far above the budget, and above any other request, among lines of 2 MB', () => {
  test.each([
    [40, 'gzip', 300],
    [60, 'none', 300],
    // A line of the largest size that the service takes is read, copied once to be joined, and compressed.
    [60, 'gzip', 350],
  ])(
    'of %d MB, through a budget of 16 MiB, bodies by %s: alone, unchanged, in %d MiB, and the neighbours as usual',
    async (megabytes, compress, mostMib) => {
      const home = tempFolder();
      const run = join(home, 'run');
      const small = (id: string): LineSize => ({ id, bytes: 2_000_000 });
      const sizes = [small('a'), small('b'), { id: 'large', bytes: megabytes * 1_000_000 }, small('c')];
      const digests = writeLines(run, sizes);
      const server = await startFaultyServer();
      onTestFinished(() => server.close());
      const args = ['upload', run, '--url', server.url, '--json', '--budget', '16MiB', '--compress', compress];
      const document = documentOf(await runPrl(args, { home, environment: KEY }));
      expect(document).toMatchObject({ sent: { episodes: 4 }, complete: true, rejected: [], damaged: [] });
      expect(storedLines(server, digests).sort()).toEqual(['a b', 'c', 'large']);
      expect(document.peak_rss_bytes).toBeLessThan(mostMib * MIB);
    },
  );
});

test('U8: a line of 560 MB is above what the service takes: told with its place, in less than 300 MiB, its neighbours stored', async () => {
  const home = tempFolder();
  const run = join(home, 'run');
  const sizes = [
    { id: 'a', bytes: 2_000_000 },
    { id: 'L560', bytes: 560_000_000 },
    { id: 'b', bytes: 2_000_000 },
  ];
  const digests = writeLines(run, sizes);
  const server = await startFaultyServer();
  onTestFinished(() => server.close());
  const args = ['upload', run, '--url', server.url, '--json', '--budget', '64MiB'];
  const ended = await runPrl(args, { home, environment: KEY });
  expect(ended.status).toBe(3);
  const document = documentOf(ended);
  expect(document).toMatchObject({
    sent: { episodes: 2 },
    complete: true,
    damaged: [{ kind: 'line_too_large', offset: 2_000_000, bytes: 560_000_000 }],
  });
  expect(storedLines(server, digests).join(' ')).toBe('a b');
  expect(document.peak_rss_bytes).toBeLessThan(300 * MIB);
  expect(readFileSync(join(run, 'monitors/prl/journal')).length).toBeLessThan(10_000);
});
