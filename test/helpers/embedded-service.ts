/** The real embedded service in this process, over a data directory of its own, for tests that talk to a service. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startService } from '../../src/service/server.js';

export type EmbeddedService = {
  readonly url: string;
  readonly token: string;
  readonly directory: string;
  close(): Promise<void>;
};

/** Starts a service on a free loopback port; `close` ends it and removes its data. */
export async function startEmbedded(): Promise<EmbeddedService> {
  const directory = await mkdtemp(join(tmpdir(), 'prl-service-'));
  const token = 'conformance-token';
  const service = await startService({ host: '127.0.0.1', port: 0, dataDir: directory, token });
  return {
    url: service.url,
    token,
    directory,
    close: async () => {
      await service.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
