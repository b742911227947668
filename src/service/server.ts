/** The embedded traces service as a whole: a store, a listening socket, and an end that loses nothing (cli.md, `prl serve`). */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { messageOf, PrlError } from '../core/errors.js';
import { FaultInjector } from './fault-injector.js';
import { type Faults, NO_FAULTS } from './faults.js';
import { handleRequest } from './handle-request.js';
import { DEFAULT_LIMITS, type ServiceLimits } from './limits.js';
import { Store } from './store.js';

export type ServiceOptions = {
  /** Address to bind; anything but loopback needs a token. Default 127.0.0.1. */
  readonly host?: string;
  /** 0, the default, takes any free port. */
  readonly port?: number;
  /** Created when missing; belongs to this service alone as long as it runs. */
  readonly dataDir: string;
  /** Bearer token every request must carry; null or empty asks for none. */
  readonly token?: string | null;
  readonly faults?: Faults;
  /** Seed of everything random in the faults; default 1. */
  readonly faultSeed?: number;
  /** Replaces single limits of DEFAULT_LIMITS. */
  readonly limits?: Partial<ServiceLimits>;
  /** Takes one line about something an operator should know; default drops it. */
  readonly log?: (line: string) => void;
};

export type Service = {
  /** `http://host:port`, without a path. */
  readonly url: string;
  readonly port: number;
  /** Begins the spans of the faults `storm` and `stall` anew. */
  restartFaults(): void;
  /** Takes no further request, finishes those that run within `limits.shutdownMs`, then closes the store. */
  close(): Promise<void>;
};

/**
 * Starts the service; it accepts requests when the promise resolves.
 *
 * @throws PrlError PRL_ERR_USAGE for an address that cannot be bound or must not be without a token, and the errors of
 *   `Store.open`.
 */
export async function startService(options: ServiceOptions): Promise<Service> {
  const host = options.host ?? '127.0.0.1';
  const token = options.token || null;
  if (token === null && !isLoopback(host)) throw unsafeHost(host);
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const log = options.log ?? (() => {});
  const store = await Store.open(options.dataDir, limits);
  for (const { chunk, offset, bytes } of store.cut) {
    log(`chunk ${chunk}: cut off ${bytes} bytes at ${offset}, written by uploads that never got a receipt`);
  }
  const closing = new AbortController();
  const faults = new FaultInjector(options.faults ?? NO_FAULTS, options.faultSeed ?? 1, closing.signal);
  const context = { store, limits, faults, token, closing: closing.signal, log };
  const running = new Set<Promise<void>>();
  const server = buildServer(limits, (request, response) => {
    const work = handleRequest(request, response, context)
      .catch((error: unknown) => log(`a request ended badly: ${String(error)}`))
      .finally(() => running.delete(work));
    running.add(work);
  });
  try {
    await listen(server, host, options.port ?? 0);
  } catch (error) {
    await store.close();
    throw cannotBind(host, options.port ?? 0, error);
  }
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
    port,
    restartFaults: () => faults.restartWindows(),
    async close() {
      closing.abort();
      await endRequests(server, running, limits.shutdownMs);
      await store.close();
    },
  };
}

/** 127.0.0.0/8, ::1 and localhost. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host);
}

function buildServer(
  limits: ServiceLimits,
  onRequest: (request: IncomingMessage, response: ServerResponse) => void,
): Server {
  const server = createServer({
    headersTimeout: limits.headersMs,
    // Deadlines are on progress, never on the total time: a slow upload that moves may take as long as it needs.
    requestTimeout: 0,
    connectionsCheckingInterval: Math.max(100, Math.min(5_000, limits.headersMs / 2)),
    keepAliveTimeout: 75_000,
    noDelay: true,
  });
  server.on('request', onRequest);
  // We decide ourselves whether to ask for the body: an upload that is refused by its head is never sent.
  server.on('checkContinue', onRequest);
  return server;
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

async function endRequests(server: Server, running: ReadonlySet<Promise<void>>, shutdownMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), shutdownMs);
  while (running.size > 0) {
    await Promise.allSettled(running);
    server.closeIdleConnections();
  }
  clearTimeout(timer);
  server.closeAllConnections();
  await closed;
}

function unsafeHost(host: string): PrlError {
  return new PrlError('PRL_ERR_USAGE', `--host ${host} is not loopback: others could read and delete every trace`, {
    hint: 'set PRL_SERVE_TOKEN; every request must then carry it',
  });
}

function cannotBind(host: string, port: number, error: unknown): PrlError {
  return new PrlError('PRL_ERR_USAGE', `cannot listen on ${host} port ${port}: ${messageOf(error)}`, {
    hint: 'choose another --port, or 0 for any free one',
    cause: error,
  });
}
