/** What the built file monitor takes of memory does not follow the length of an episode (R-REC-2, A34). */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tempFolder } from '../helpers/temp-folder.js';

const MIB = 2 ** 20;

/** Two episodes of 10,000 turns, which share their texts and lists, so that they themselves take little. */
const SCRIPT = `
  import { FileMonitor } from 'prl';
  const content = 'x'.repeat(8000);
  const token_ids = Array.from({ length: 1000 }, (_, index) => index * 97);
  const logprobs = token_ids.map((id) => -id / 100_000);
  const mask = token_ids.map(() => true);
  const nodes = Array.from({ length: 10_000 }, (_, index) => ({
    ...(index === 0 ? {} : { parent: index - 1 }),
    message: { role: index % 2 === 0 ? 'user' : 'assistant', content }, token_ids, mask, logprobs,
  }));
  const calls = nodes.map((_, node) => ({ node, usage: { prompt_tokens: 1, completion_tokens: 2 } }));
  const task = { type: 'T', data: { idx: 0 } };
  const trace = { id: 't', task, agent: { config: {} }, nodes, calls };
  const monitor = await FileMonitor.open(process.argv[1], { compress: false });
  const logged = ['a', 'b'].map((id) => monitor.log({ id, env: { id: 'e' }, task, ok: true, errors: [], traces: [trace] }, { step: 0, kind: 'train' }));
  await Promise.all(logged);
  await monitor.finalize();
  console.log(JSON.stringify({ ...monitor.snapshot(), peakBytes: process.resourceUsage().maxRSS * 1024 }));
`;

test('two episodes of 270 MB are logged in less than 200 MiB', () => {
  const run = join(tempFolder(), 'run');
  const args = ['--input-type=module', '--eval', SCRIPT, run];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  expect(stderr).toBe('');
  const { writtenEpisodes, writtenBytes, peakBytes } = JSON.parse(stdout);
  expect(writtenEpisodes).toBe(2);
  expect(writtenBytes).toBeGreaterThan(400 * MIB);
  expect(peakBytes).toBeLessThan(200 * MIB);
  const rows = readFileSync(join(run, 'monitors/file/traces/stream.index.jsonl'), 'utf8');
  expect(rows).toMatch(/"id":"a".*"input_tokens":1,"output_tokens":20000,"turns":5000,.*\n.*"id":"b"/);
});
