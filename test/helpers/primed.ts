/** Prime monitors for tests: with a service of the test, a state directory of their own, and what they told. */
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { PrimeMonitor } from '../../src/monitor/prime-monitor.js';
import type { PrimeMonitorOptions } from '../../src/monitor/prime-settings.js';
import type { FinishReport, PrimeCounts, PrimeNotice } from '../../src/monitor/prime-types.js';
import { SECRET } from './access.js';
import { type Fault, type FaultyServer, startFaultyServer } from './faulty-server.js';
import type { ProducedEpisode } from './monitored-run.js';
import { tempFolder } from './temp-folder.js';
import { UPLOAD_CHILD } from './uploading.js';

/** Longest wait for something to happen; only a failing test takes so long. */
const PATIENCE_MS = 100_000;

export type PrimedOptions = PrimeMonitorOptions & { readonly url: string };

export class Primed {
  readonly monitor: PrimeMonitor;
  readonly notices: readonly PrimeNotice[];
  /** Where a spool lies unless it is told otherwise. */
  readonly spool: string;

  private constructor(monitor: PrimeMonitor, notices: readonly PrimeNotice[], spool: string) {
    this.monitor = monitor;
    this.notices = notices;
    this.spool = spool;
  }

  /** The clock stands still, so that the same episodes make the same bytes. */
  static async open({ url, ...options }: PrimedOptions): Promise<Primed> {
    const notices: PrimeNotice[] = [];
    const state = options.environment?.PRL_STATE_DIR ?? join(tempFolder(), 'state');
    const monitor = await PrimeMonitor.open({
      access: { url, apiKey: SECRET },
      run: { id: 'r1' },
      nowS: () => 1_790_000_000,
      lingerMs: 20,
      compress: 'none',
      onNotice: (notice) => void notices.push(notice),
      childUrl: UPLOAD_CHILD,
      environment: { PRL_STATE_DIR: state },
      ...options,
    });
    onTestFinished(() => monitor.finish(0).then(() => {}));
    return new Primed(monitor, notices, options.spoolDirectory ?? join(state, 'spool', options.run?.id ?? 'r1'));
  }

  told(kind: PrimeNotice['kind']): string[] {
    return this.notices.flatMap((notice) => (notice.kind === kind ? [notice.message] : []));
  }

  async until(condition: (primed: this) => boolean): Promise<void> {
    const deadline = performance.now() + PATIENCE_MS;
    while (!condition(this)) {
      if (performance.now() > deadline) {
        throw new Error(`in vain: ${condition}; ${JSON.stringify([this.notices, this.monitor.snapshot()])}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  /** The end, with the account proved. */
  async finish(timeoutMs?: number): Promise<FinishReport> {
    const report = await this.monitor.finish(timeoutMs);
    expectAccount(report.counts);
    return report;
  }
}

/** The identities of spec 07 section 5.4. */
export function expectAccount(counts: PrimeCounts): void {
  const { submitted, admitted, dropped, afterClose, adopted } = counts;
  const { stored, failed, rejected, skipped, unsent, unknown } = counts;
  expect(submitted).toBe(admitted + dropped + afterClose);
  expect(admitted + adopted).toBe(stored + failed + rejected + skipped + unsent + unknown);
}

/** A service of the test that misbehaves by a script. */
export async function serve(script: (index: number) => Fault | undefined = () => undefined): Promise<FaultyServer> {
  const server = await startFaultyServer(script);
  onTestFinished(() => server.close());
  return server;
}

/** In the order of their uploads. */
export function storedEpisodes({ stored }: FaultyServer): ProducedEpisode[] {
  const lines = [...stored.values()].flatMap((jsonl) => String(jsonl).trimEnd().split('\n'));
  return lines.map((line) => JSON.parse(line) as ProducedEpisode);
}

export function storedIds(server: FaultyServer): string[] {
  return storedEpisodes(server).map(({ id }) => id);
}

export function ids(count: number, prefix = 'e'): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}${index}`);
}
