/** Reads over real sockets: redirects, hostile pages, stops. The rest is shown against the service in upload-service.test.ts. */
import { afterEach, describe, expect, test } from 'vitest';
import { TracesReader } from '../../src/io/traces-reader.js';
import { accessTo, SECRET } from '../helpers/access.js';
import { FastClock } from '../helpers/clocks.js';
import { type Fault, startFaultyServer } from '../helpers/faulty-server.js';

const never = new AbortController().signal;
const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function serve(script: (index: number) => Fault | undefined) {
  const server = await startFaultyServer(script, { scriptsReads: true });
  closers.push(server.close);
  return server;
}

function readerTo(url: string, options = {}): TracesReader {
  const reader = new TracesReader({ ...accessTo(url, options), clock: new FastClock(1000), random: () => 0 });
  closers.push(() => reader.close());
  return reader;
}

async function idsOf(reader: TracesReader): Promise<string[]> {
  const ids: string[] = [];
  for await (const { id } of reader.listEpisodes('r', never)) ids.push(id);
  return ids;
}

const page = (body: unknown): Fault => ({ kind: 'answer', status: 200, body: JSON.stringify(body) });

describe('redirects', () => {
  test.each([301, 302, 307, 308])('%d is followed; another origin gets no credentials', async (status) => {
    const target = await serve(() => page({ items: [{ episode_id: 'e' }], next_cursor: null }));
    const front = await serve(() => ({ kind: 'answer', status, headers: { Location: `${target.url}/moved` } }));
    expect(await idsOf(readerTo(front.url))).toEqual(['e']);
    expect(front.requests[0]?.headers.authorization).toBe(`Bearer ${SECRET}`);
    expect(target.requests[0]?.headers).not.toHaveProperty('authorization');
  });

  test.each<[string, Record<string, string>]>([
    ['nowhere', {}],
    ['into plain HTTP', { Location: 'http://192.0.2.1/' }],
    ['in a circle', { Location: '/again' }],
  ])('%s is an error', async (_where, headers) => {
    const server = await serve(() => ({ kind: 'answer', status: 307, headers }));
    await expect(idsOf(readerTo(server.url))).rejects.toMatchObject({ code: 'PRL_ERR_USAGE' });
    expect(server.requests.length).toBeLessThanOrEqual(6);
  });
});

describe('pages', () => {
  test('cursors go back as they came, encoded; an empty one is the end', async () => {
    const pages = [
      { items: [{ episode_id: 'a' }], next_cursor: 'x+/=&y' },
      { items: [{ episode_id: 'b' }], next_cursor: '' },
    ];
    const server = await serve((index) => page(pages[index]));
    expect(await idsOf(readerTo(server.url))).toEqual(['a', 'b']);
    expect(server.requests[1]?.path).toBe('/api/v1/episodes?run_id=r&limit=100&cursor=x%2B%2F%3D%26y');
  });

  test.each<[string, unknown]>([
    ['no items', {}],
    ['items of another kind', { items: 'x' }],
    ['an item without an id', { items: [{}] }],
    ['a list', []],
  ])('%s: an integrity error that names the route', async (_what, body) => {
    const server = await serve(() => page(body));
    await expect(idsOf(readerTo(server.url))).rejects.toMatchObject({
      code: 'PRL_ERR_INTEGRITY',
      message: expect.stringContaining('/episodes'),
    });
  });
});

test('a service that is silent is given up after three attempts, each within the progress budget', async () => {
  const server = await serve(() => ({ kind: 'stall' }));
  const startedMs = performance.now();
  await expect(readerTo(server.url, { progressTimeoutMs: 200 }).digestOf('t', never)).rejects.toMatchObject({
    code: 'PRL_ERR_TEMPORARY',
  });
  expect(performance.now() - startedMs).toBeLessThan(10_000);
  expect(server.requests).toHaveLength(3);
});

test('a signal ends a read at once with its reason', async () => {
  const server = await serve(() => ({ kind: 'stall' }));
  const controller = new AbortController();
  setTimeout(() => controller.abort(new Error('SIGINT')), 50);
  await expect(readerTo(server.url).digestOf('t', controller.signal)).rejects.toThrow('SIGINT');
  expect(server.requests.length).toBeLessThanOrEqual(1);
});
