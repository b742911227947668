/** Demand U3: what an upload costs that was killed and is run again: the first byte of it, and what is sent twice. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Running } from '../helpers/child.js';
import { type CountedRequest, startCountingProxy } from '../helpers/counting-proxy.js';
import { startEmbedded } from '../helpers/embedded-service.js';
import { writeGeneratedRun } from '../helpers/generated-run.js';
import { tempFolder } from '../helpers/temp-folder.js';
import { documentOf, startPrl, storedEpisodes } from '../helpers/upload-command.js';

const KEY = { PRIME_API_KEY: 'a-token-of-tests' };
const RUN_ID = 'generated-run';
const CHUNK = 'monitors/file/traces/stream/00000.jsonl';

type Prepared = { readonly home: string; readonly run: string };

function generate(episodes: number, episodeBytes: number): Prepared {
  const home = tempFolder();
  const run = join(home, 'run');
  writeGeneratedRun(run, { episodes, episodeBytes });
  return { home, run };
}

/** Looks again until it holds; the time limit of the test ends it. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((done) => setTimeout(done, 5));
}

describe.skipIf(!existsSync('/proc/self/io'))('U3: what a rerun costs (needs /proc)', () => {
  // prl reads 6 MB of its own code; half of the run is 11.
  test.each([
    ['an older run', 2_100, 12_000_000],
    // May have been written again within the granularity of its times: what is settled of it is compared.
    ['a run just written', 0, 24_000_000],
  ])(
    '%s, after kill -9 at half of 1,000 episodes: nothing stored is sent again, and the first new byte comes without reading the other half',
    async (_what, leastAgeMs, mostReadBytes) => {
      const { home, run } = generate(1000, 20_000);
      const chunk = join(run, CHUNK);
      const service = await startEmbedded();
      onTestFinished(() => service.close());
      const proxy = await startCountingProxy(service.url);
      const args = ['upload', run, '--url', proxy.url, '--json', '--compress', 'none'];
      const start = (): Running =>
        startPrl([...args, '--batch', '200KB', '--concurrency', '2'], { home, environment: KEY });
      const posts = (): CountedRequest[] => proxy.requests.filter(({ method }) => method === 'POST');
      await until(() => Date.now() - statSync(chunk).ctimeMs > leastAgeMs);
      const first = start();
      await until(() => posts().length >= 50);
      first.child.kill('SIGKILL');
      await first.ended;
      // What the kernel still had of its requests is stored, or comes to nothing.
      await vi.waitFor(() => expect(proxy.open()).toBe(0));
      const storedBefore = storedEpisodes(service, RUN_ID).length;
      expect(storedBefore).toBeGreaterThan(350);
      const before = posts().length;
      let firstByte = { readBytes: Number.NaN, seconds: Number.NaN };
      const startedMs = performance.now();
      const second = start();
      proxy.onRequest(() => {
        if (posts().length !== before + 1) return;
        const io = readFileSync(`/proc/${second.child.pid}/io`, 'utf8');
        const readBytes = Number(/^rchar: (\d+)$/m.exec(io)?.[1]);
        firstByte = { readBytes, seconds: (performance.now() - startedMs) / 1000 };
      });
      const document = documentOf(await second.ended);
      expect(document).toMatchObject({ complete: true, plan: { episodes: 1000 }, damaged: [], rejected: [] });
      expect(storedEpisodes(service, RUN_ID)).toHaveLength(1000);
      // Less when the service stored another one meanwhile.
      expect(document.sent.episodes).toBeLessThanOrEqual(1000 - storedBefore);
      expect(firstByte.readBytes).toBeLessThan(mostReadBytes);
      // The demand is 2 s, and takes a quarter of that on a quiet machine.
      expect(firstByte.seconds).toBeLessThan(10);
    },
  );
});
