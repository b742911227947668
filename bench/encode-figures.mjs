/**
 * Question: what does encoding an episode cost the thread that trains, in processor time and in stalls of its loop?
 *
 * Contenders: `JSON.stringify` and `Buffer.from` in one go; the incremental encoder, plain arrays and typed ones. `cpu`:
 * one episode of 350 turns over and over, ASCII and not, with log probabilities that are already rounded (both sides
 * write the same bytes, asserted) and with ones that are not (the encoder rounds and prints, the engine prints 17
 * digits). `stall`: a ticker on an absolute schedule of 5 ms counts every missed slot while one episode of 10 to 10,000
 * turns is encoded on the same thread in slices of 1 ms; also one text of 50 MB, and 100,000 calls. Medians of 5.
 * `garbage`: what one encoding of the same episode leaves on the heap for the collector.
 * Fixture: bench/figures/episodes.mjs, turns of 1,000 tokens.
 *
 *   npm run build && node --expose-gc bench/encode-figures.mjs [--only cpu,garbage,stall] [--passes 5] [--turns 10,100]
 */
import assert from 'node:assert/strict';
import { parseArgs } from 'node:util';
import { encodeParts, encodeTo, encodeToBuffer } from '../dist/core/encode/drivers.js';
import { RecordEncoder } from '../dist/core/encode/record-encoder.js';
import { EPISODE_RULES } from '../dist/core/encode/record-rules.js';
import { Slices } from '../dist/core/encode/slices.js';
import { eventLoopPace } from '../dist/io/pace.js';
import { wasmModule } from '../dist/io/wasm-modules.js';
import { makeEpisode } from './figures/episodes.mjs';
import { median } from './figures/measure.mjs';
import { stallOf } from './figures/stall.mjs';

const { values: given } = parseArgs({
  options: {
    only: { type: 'string', default: 'cpu,garbage,stall' },
    passes: { type: 'string', default: '5' },
    turns: { type: 'string', default: '10,100,1000,3000,10000' },
  },
});
const only = given.only.split(',');
const passes = Number(given.passes);
const encoder = new RecordEncoder(wasmModule('encoder'));

/** Milliseconds of this thread's processor time for one call, over enough calls to be more than its ticks. */
function cpuMs(work) {
  const before = process.threadCpuUsage();
  const start = performance.now();
  let calls = 0;
  while (calls < 3 || performance.now() - start < 400) {
    work();
    calls += 1;
  }
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1e3 / calls;
}

const stringify = (episode) => () => Buffer.from(JSON.stringify(episode)).length;
const encode = (episode, model) => () => encodeTo(encoder, episode, { model, take: () => {} });

function cpuTable() {
  console.log('\nprocessor time of one episode of 350 turns, ms (ratio to JSON.stringify and Buffer.from)');
  for (const isAscii of [true, false]) {
    for (const isRounded of [true, false]) {
      const shape = { turns: 350, isAscii, isRounded };
      const plain = makeEpisode(shape);
      const typed = makeEpisode({ ...shape, isTyped: true });
      const bytes = encodeToBuffer(encoder, plain).length;
      if (isRounded) {
        assert.equal(encodeToBuffer(encoder, plain).compare(Buffer.from(JSON.stringify(plain))), 0);
      }
      const typedBytes = encodeToBuffer(encoder, typed, EPISODE_RULES);
      assert.equal(typedBytes.compare(encodeToBuffer(encoder, plain, EPISODE_RULES)), 0);
      const contenders = [
        ['JSON.stringify + Buffer.from', stringify(plain)],
        ['encoder, plain JSON', encode(plain, null)],
        ['encoder, episode', encode(plain, EPISODE_RULES)],
        ['encoder, episode of typed arrays', encode(typed, EPISODE_RULES)],
      ];
      const taken = contenders.map(() => []);
      for (let pass = -1; pass < passes; pass += 1) {
        for (const [index, [, work]] of contenders.entries()) {
          const ms = cpuMs(work);
          if (pass >= 0) taken[index].push(ms);
        }
      }
      console.log(
        `  ${isAscii ? 'ASCII' : 'not ASCII'}, ${isRounded ? 'rounded' : '17 digits'}, ${(bytes / 1e6).toFixed(2)} MB`,
      );
      const reference = median(taken[0]);
      for (const [index, [name]] of contenders.entries()) {
        const ms = median(taken[index]);
        console.log(`    ${name.padEnd(34)}${ms.toFixed(2).padStart(8)}  ${(reference / ms).toFixed(1).padStart(5)}`);
      }
    }
  }
}

function garbageTable() {
  console.log('\nheap that one encoding of an episode of 350 turns leaves to the collector, kB');
  for (const isTyped of [false, true]) {
    const episode = makeEpisode({ turns: 350, isTyped });
    for (const [name, work] of [
      ['JSON.stringify + Buffer.from', stringify(episode)],
      ['encoder', encode(episode, EPISODE_RULES)],
    ]) {
      for (let warm = 0; warm < 5; warm += 1) work();
      // The least of some: a collection in between takes garbage away, the meter itself leaves some.
      const left = Array.from({ length: 7 }, () => {
        globalThis.gc();
        const before = process.memoryUsage();
        work();
        const after = process.memoryUsage();
        return after.heapUsed + after.external - before.heapUsed - before.external;
      });
      const kilobytes = (median(left) / 1e3).toFixed(1).padStart(10);
      console.log(`  ${isTyped ? 'typed arrays' : 'plain arrays'}  ${name.padEnd(30)}${kilobytes}`);
    }
  }
}

async function encodeSliced(value, model) {
  const slices = new Slices(eventLoopPace());
  await slices.giveBack();
  for await (const part of encodeParts(encoder, value, { model, slices })) part.release();
}

async function stallTable() {
  console.log('\nworst stall of a 5 ms ticker, ms: median of passes (worst); processor time, ms');
  const wide = Buffer.from('a text with "quotes", lines\nand größe, 東京 '.repeat(1_000_000)).toString();
  const cases = given.turns.split(',').flatMap((turns) => [
    [`${turns} turns`, () => makeEpisode({ turns: Number(turns) }), true],
    [`${turns} turns, typed arrays`, () => makeEpisode({ turns: Number(turns), isTyped: true }), false],
  ]);
  cases.push(['one text of 50 MB', () => ({ text: wide }), true]);
  cases.push(['100,000 calls', () => withCalls(100_000), true]);
  for (const [name, make, isPaired] of cases) {
    const value = make();
    const model = 'traces' in value ? EPISODE_RULES : null;
    await encodeSliced(value, model);
    const sliced = [];
    for (let pass = 0; pass < passes; pass += 1) sliced.push(await stallOf(() => encodeSliced(value, model)));
    const bytes = sliced.length > 0 ? sizeOfValue(value, model) : 0;
    let line = `  ${name.padEnd(26)}${(bytes / 1e6).toFixed(2).padStart(8)} MB   encoder ${described(sliced)}`;
    if (isPaired) {
      const whole = [];
      for (let pass = 0; pass < Math.min(3, passes); pass += 1) {
        whole.push(await stallOf(async () => stringify(value)()));
      }
      line += `   JSON.stringify ${described(whole)}`;
    }
    console.log(line);
  }
}

function withCalls(count) {
  const episode = makeEpisode({ turns: 1 });
  const [trace] = episode.traces;
  trace.calls = Array.from({ length: count }, (_, node) => ({ ...trace.calls[0], node }));
  return episode;
}

function sizeOfValue(value, model) {
  let bytes = 0;
  encodeTo(encoder, value, { model, take: (part) => (bytes += part.length) });
  return bytes;
}

function described(stalls) {
  const worst = stalls.map(({ worstMs }) => worstMs);
  const cpu = median(stalls.map(({ cpuMs: ms }) => ms));
  return `${median(worst).toFixed(2).padStart(8)} (${Math.max(...worst).toFixed(2)}), ${cpu.toFixed(0)}`;
}

console.log(`Node ${process.version}`);
if (only.includes('cpu')) cpuTable();
if (only.includes('garbage')) garbageTable();
if (only.includes('stall')) await stallTable();
