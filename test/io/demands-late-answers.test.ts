/**
 * Demands R35, U2: the service stores what it is sent, and says so after the client has given up; or it gets a request when
 * the client has given it up and sent another. For a third of the requests, before the real service: its rows equal the lines.
 */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { accessTo } from '../helpers/access.js';
import { startEmbedded } from '../helpers/embedded-service.js';
import { uploadRun } from '../helpers/run-upload.js';
import { tempFolder } from '../helpers/temp-folder.js';
import { storedEpisodes } from '../helpers/upload-command.js';
import { writeVariedRun } from '../helpers/varied-run.js';

/** The patience of the client for an answer. */
const PATIENCE_MS = 250;
const LATE_MS = 3 * PATIENCE_MS;

type LateProxy = { readonly url: string; lateUploads(): number; whenPassed(): Promise<void> };

const later = (): Promise<void> => new Promise((done) => setTimeout(done, LATE_MS));

/** Before a service: of every third upload the request, or the answer, takes longer than the client waits. */
async function startLateProxy(target: string, what: 'request' | 'answer'): Promise<LateProxy> {
  let uploads = 0;
  let late = 0;
  const passing = new Set<Promise<void>>();
  const server = createServer(async (incoming, answer) => {
    const parts: Buffer[] = [];
    incoming.on('error', () => {}); // the client has given up
    answer.on('error', () => {});
    for await (const part of incoming) parts.push(part as Buffer);
    const isUpload = incoming.method === 'POST';
    const isLate = isUpload && uploads % 3 === 0;
    uploads += isUpload ? 1 : 0;
    late += isLate ? 1 : 0;
    const passed = (async () => {
      if (isLate && what === 'request') await later();
      const { method, headers, url = '' } = incoming;
      const response = await pass(new URL(url, target), { method: method ?? '', headers }, Buffer.concat(parts));
      if (isLate && what === 'answer') await later();
      answer.writeHead(response.status, { 'content-type': 'application/json' }).end(response.body);
    })();
    passing.add(passed);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    lateUploads: () => late,
    whenPassed: async () => void (await Promise.all(passing)),
  };
}

type Onward = { readonly method: string; readonly headers: IncomingHttpHeaders };

function pass(url: URL, onward: Onward, body: Buffer): Promise<{ status: number; body: Buffer }> {
  return new Promise((resolve, reject) => {
    const sent = request(url, onward, async (response) => {
      const parts: Buffer[] = [];
      for await (const part of response) parts.push(part as Buffer);
      resolve({ status: response.statusCode ?? 0, body: Buffer.concat(parts) });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

test.each(['answer', 'request'] as const)(
  'R35: every third %s comes too late: each episode is stored, once',
  async (what) => {
    const service = await startEmbedded();
    onTestFinished(() => service.close());
    const proxy = await startLateProxy(service.url, what);
    const { root, episodes } = writeVariedRun(join(tempFolder(), 'run'), { episodes: 40 });
    const ids = episodes.map(({ id }) => id);
    const outcome = await uploadRun({
      root,
      service: { url: proxy.url, token: service.token },
      access: { ...accessTo(proxy.url), apiKey: service.token, progressTimeoutMs: PATIENCE_MS },
      maxAttempts: 20,
      concurrency: 4,
    });
    expect(outcome).toMatchObject({ stopped: null, rejected: [], sent: { episodes: 40 } });
    expect(proxy.lateUploads()).toBeGreaterThanOrEqual(3);
    expect(outcome.retries).toBeGreaterThanOrEqual(3);
    await proxy.whenPassed();
    expect(storedEpisodes(service, 'varied-run')).toEqual(ids);
  },
);
