/** The real embedded service in this process, over a data directory of its own, for tests that talk to a service. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ServiceOptions, startService } from '../../src/service/server.js';

export type EmbeddedService = {
  readonly url: string;
  readonly token: string;
  readonly directory: string;
  close(): Promise<void>;
};

/** Starts a service on a free loopback port; `close` ends it and removes the data directory it made itself. */
export async function startEmbedded(options: Partial<ServiceOptions> = {}): Promise<EmbeddedService> {
  const directory = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'prl-service-')));
  const token = 'a-token-of-tests';
  const service = await startService({ token, ...options, dataDir: directory });
  return {
    url: service.url,
    token,
    directory,
    close: async () => {
      await service.close();
      if (options.dataDir === undefined) await rm(directory, { recursive: true, force: true });
    },
  };
}
