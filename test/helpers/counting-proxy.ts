/** An HTTP proxy on loopback before a service that counts what passes: which requests, and how many bytes of body. */
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export type CountedRequest = { readonly method: string; readonly path: string; bodyBytes: number };

export type CountingProxy = {
  readonly url: string;
  /** In order of arrival. */
  readonly requests: readonly CountedRequest[];
  /** Requests that are not answered and whose connection is not gone. */
  open(): number;
  /** What was counted since the last call. */
  take(): { pages: number; bodies: number; others: number };
  /** From now on requests of a method get 403, as those of a key that may not do this. */
  refuse(method: string): void;
  /** Called once a request has come, before it is passed on. */
  onRequest(listener: () => void): void;
};

/** Passes everything on to `target` and back until the end of the test. */
export async function startCountingProxy(target: string): Promise<CountingProxy> {
  const requests: CountedRequest[] = [];
  const refused = new Set<string>();
  let open = 0;
  let onRequest = (): void => {};
  const server = createServer((incoming, answer) => {
    const counted = { method: incoming.method ?? '', path: incoming.url ?? '', bodyBytes: 0 };
    requests.push(counted);
    open += 1;
    answer.on('close', () => {
      open -= 1;
    });
    onRequest();
    if (refused.has(counted.method)) {
      incoming.resume();
      answer.writeHead(403).end();
      return;
    }
    incoming.on('data', (part: Buffer) => {
      counted.bodyBytes += part.length;
    });
    const onward = request(new URL(counted.path, target), { method: incoming.method, headers: incoming.headers });
    onward.on('response', (response) => {
      answer.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(answer);
    });
    onward.on('error', () => answer.destroy());
    incoming.pipe(onward);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  let taken = 0;
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    open: () => open,
    refuse: (method) => void refused.add(method),
    onRequest: (listener) => {
      onRequest = listener;
    },
    take: () => {
      const news = requests.slice(taken);
      taken = requests.length;
      const pages = news.filter(({ path }) => /^\/api\/v1\/(episodes|traces)\?run_id=/.test(path)).length;
      const bodies = news.filter(({ bodyBytes }) => bodyBytes > 0).length;
      return { pages, bodies, others: news.length - pages - bodies };
    },
  };
}
