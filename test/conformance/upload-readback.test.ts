/** `prl upload` on every real run, then the official SDK reads back what the run's own library says is in it. */
import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type EmbeddedService, startEmbedded } from '../helpers/embedded-service.js';
import { ask, bytesOf, judge, sdk, valueIn } from './python.js';

/** The files that hold the episodes of each run, in order; sealed ones are read by pyzstd. */
const RUNS: Readonly<Record<string, (root: string) => string[]>> = {
  'verifiers-eval': (root) => [join(root, 'traces.jsonl')],
  'prime-rl-stream': (root) => inFolder(join(root, 'monitors/file/traces/stream')),
  'prime-rl-stream-r2': (root) => [join(root, 'monitors/file/traces/stream.jsonl')],
  'prime-rl-rollouts-r1b': (root) =>
    readdirSync(root, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('all/traces.jsonl'))
      .map((name) => join(root, name)),
};

function inFolder(folder: string): string[] {
  return readdirSync(folder)
    .sort()
    .map((name) => join(folder, name));
}

type Run = { type: string; id: string };
type Trace = { id: string; run?: Run };
type Episode = { id: string; run?: Run; traces: Trace[] };

async function prl(token: string, ...args: string[]): Promise<{ stdout: string; status: number }> {
  const environment = { ...process.env, PRIME_API_KEY: token };
  const run = promisify(execFile)(process.execPath, ['bin/run.js', ...args], { env: environment });
  return run.then(({ stdout }) => ({ stdout, status: 0 })).catch(({ stdout, code }) => ({ stdout, status: code }));
}

describe.skipIf(judge.missing !== null)(`prl upload, read by the SDK (${judge.missing ?? 'prime-traces'})`, () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'prl-readback-'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  describe.each(Object.keys(RUNS))('%s', (name) => {
    test.each([
      ['as written', ['--no-stamp']],
      ['with a run id', ['--run-id', 'chosen-run']],
    ])('%s', async (_what, flags) => {
      const service: EmbeddedService = await startEmbedded();
      try {
        const root = join(folder, `${name}-${flags.length}`);
        cpSync(join('fixtures/runs', name), root, { recursive: true, verbatimSymlinks: true });
        const chunks = (await ask('reading.py', { kind: 'lines', chunks: RUNS[name]?.(root) })) as string[][];
        const lines = chunks.flat().map((line) => Buffer.from(line, 'base64').toString('utf8'));
        const { stdout, status } = await prl(
          service.token,
          'upload',
          root,
          '--url',
          service.url,
          '--json',
          '--verify',
          ...flags,
        );
        expect({ status, document: JSON.parse(stdout) }).toMatchObject({
          status: 0,
          document: {
            sent: { episodes: lines.length },
            verified: { episodes: lines.length, ok: true },
            complete: true,
          },
        });
        await expectStored(service, lines, flags.includes('--run-id') ? 'chosen-run' : null);
      } finally {
        await service.close();
      }
    });
  });
});

async function expectStored(service: EmbeddedService, lines: readonly string[], runId: string | null): Promise<void> {
  const episodes = lines.map((line) => JSON.parse(line) as Episode);
  const ids = episodes.flatMap((episode) => episode.traces.map((trace) => trace.id));
  const [listed, ...raws] = await sdk(service, 'sync', [
    { call: 'iter', kwargs: runId === null ? {} : { run_id: runId } },
    ...ids.map((id) => ({ call: 'get_raw', args: [id] })),
  ]);
  expect(
    valueIn(listed)
      .map((item: { trace_id: string }) => item.trace_id)
      .sort(),
  ).toEqual([...ids].sort());
  let index = 0;
  episodes.forEach((episode, number) => {
    for (const trace of episode.traces) {
      const raw = bytesOf(valueIn(raws[index])).toString('utf8');
      index += 1;
      if (runId === null) {
        expect(lines[number]).toContain(raw);
        expect(JSON.parse(raw)).toEqual(trace);
      } else {
        const stored = JSON.parse(raw) as Trace;
        expect(stored.run).toMatchObject({ id: runId, type: episode.run?.type ?? 'eval' });
        expect({ ...stored, run: null }).toEqual({ ...trace, run: null });
      }
    }
  });
}
