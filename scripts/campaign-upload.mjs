/**
 * Demands U1 and U2 over many trials: uploads that are killed with SIGKILL again and again, under a service that loses
 * answers, declines, resets and is killed itself, of runs that grow meanwhile; in the end the service holds each line
 * once. Explained in docs/campaigns.md. Ends with status 1 when a trial did not come out right.
 *
 *   npm run build && npm run test:campaign [-- --runs 200] [--seed 1] [--kills 4] [--jobs 2] [--folder DIR] [--keep] [--prl FILE]
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Trial } from './campaign-upload/trial.mjs';

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '200' },
    seed: { type: 'string', default: '1' },
    kills: { type: 'string', default: '4' },
    jobs: { type: 'string', default: '2' },
    folder: { type: 'string', default: tmpdir() },
    keep: { type: 'boolean', default: false },
    prl: { type: 'string', default: fileURLToPath(new URL('../bin/run.js', import.meta.url)) },
  },
});
const folder = mkdtempSync(join(values.folder, 'prl-campaign-upload-'));
const first = Number(values.seed);
const last = first + Number(values.runs) - 1;
const totals = {};
const failed = [];

async function tryOne(seed) {
  const own = join(folder, String(seed));
  mkdirSync(own);
  const trial = new Trial({ seed, mostKills: Number(values.kills), prl: values.prl, folder: own });
  const startedMs = performance.now();
  try {
    await trial.run();
  } catch (error) {
    failed.push(seed);
    console.log(`seed ${seed} FAILED: ${error.message}\n${trial.log.map((line) => `  ${line}`).join('\n')}`);
  }
  for (const [name, count] of Object.entries(trial.counts)) totals[name] = (totals[name] ?? 0) + count;
  const { uploads, kills, episodes } = trial.counts;
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
  console.log(`seed ${seed}: ${episodes} episodes, ${uploads} uploads, ${kills} killed, ${seconds} s`);
  if (!values.keep || !failed.includes(seed)) rmSync(own, { recursive: true });
}

let next = first;
async function work() {
  while (next <= last) {
    next += 1;
    await tryOne(next - 1);
  }
}

await Promise.all(Array.from({ length: Number(values.jobs) }, work));
if (!values.keep || failed.length === 0) rmSync(folder, { recursive: true });
const { episodes, uploads, kills, gaveUp, restarts, resets, spoiled } = totals;
console.log(
  `${values.runs} runs of ${episodes} episodes: ${uploads} uploads, ${kills} of them killed, ${gaveUp} gave up; the service was ` +
    `killed ${restarts} times, ${resets} connections were reset, ${spoiled} journals spoiled; ${failed.length} runs came out wrong`,
);
if (failed.length > 0) {
  console.log(`seeds: ${failed.join(', ')}${values.keep ? `; kept in ${folder}` : ''}`);
  process.exitCode = 1;
}
