/** R07: what uploads of a growing run leave in its state after a hundred of them. Real files, the real service. */
import { appendFileSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { LINE_DIGEST_CHARACTERS } from '../../src/core/upload/journal-format.js';
import { startEmbedded } from '../helpers/embedded-service.js';
import { startFaultyServer } from '../helpers/faulty-server.js';
import { episodeLine } from '../helpers/read-run.js';
import { uploadRun } from '../helpers/run-upload.js';
import { tempFolder } from '../helpers/temp-folder.js';

const STREAM = 'monitors/file/traces/stream';
const CYCLES = 100;
const LINES_A_CYCLE = 5;
/** How a file looked, a cut and a receipt, each with its names and digests; not what a line or the run holds. */
const CYCLE_BYTES = 1_200;

const root = (): string => {
  const path = join(tempFolder(), 'run');
  mkdirSync(join(path, STREAM), { recursive: true });
  return path;
};

function stateBytes(run: string): number {
  expect(readdirSync(join(run, 'monitors/prl'))).toEqual(['journal']);
  return statSync(join(run, 'monitors/prl/journal')).size;
}

test('uploads that find nobody cost the first of them alone', async () => {
  const server = await startFaultyServer(() => ({ kind: 'answer', status: 503 }));
  onTestFinished(() => server.close());
  const run = root();
  for (let line = 0; line < 40; line += 1) appendFileSync(join(run, STREAM, '00000.jsonl'), episodeLine(`e${line}`));
  const service = { url: server.url, token: 'a-token-of-tests' };
  const upload = async (): Promise<number> => {
    const { stopped } = await uploadRun({ root: run, service, targetBytes: 500, maxAttempts: 1 });
    expect(stopped?.errorCode).toBe('PRL_ERR_TEMPORARY');
    return stateBytes(run);
  };
  const first = await upload();
  for (let cycle = 1; cycle < 30; cycle += 1) await upload();
  expect(server.requests.length).toBeGreaterThanOrEqual(30);
  // How the file looked, once it was older, and no cut more than are under way at once.
  expect((await upload()) - first).toBeLessThan(400 + 4 * 450);
});

test('a hundred cycles cost what each of them settled, in one file, and those that found nothing new cost nothing', async () => {
  const service = await startEmbedded();
  onTestFinished(() => service.close());
  const run = root();
  const upload = (): ReturnType<typeof uploadRun> => uploadRun({ root: run, service, targetBytes: 1_000_000 });
  const sizes: number[] = [];
  for (let cycle = 0; cycle < CYCLES; cycle += 1) {
    for (let line = 0; line < LINES_A_CYCLE; line += 1) {
      appendFileSync(join(run, STREAM, '00000.jsonl'), episodeLine(`e${cycle}x${line}`));
    }
    expect((await upload()).sent).toMatchObject({ episodes: LINES_A_CYCLE, requests: 1 });
    sizes.push(stateBytes(run));
  }
  const growth = sizes.slice(1).map((size, index) => size - (sizes[index] ?? 0));
  const mostBytes = CYCLE_BYTES + LINES_A_CYCLE * LINE_DIGEST_CHARACTERS;
  expect(Math.max(...growth)).toBeLessThan(mostBytes);
  // The last cycle costs as much as the second; offsets have a few digits more.
  expect((growth.at(-1) ?? 0) - (growth[0] ?? 0)).toBeLessThan(50);
  // Once more, since what was just written is looked at twice.
  await upload();
  const settled = stateBytes(run);
  for (let cycle = 0; cycle < 20; cycle += 1) {
    expect((await upload()).already.episodes).toBe(CYCLES * LINES_A_CYCLE);
  }
  expect(stateBytes(run) - settled).toBeLessThan(400);
});
