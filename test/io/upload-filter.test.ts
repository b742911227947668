/**
 * Demand P5 at the pipeline: what a filter selects is stored and verified, what it leaves out is neither sent nor
 * remembered, whatever was stored, refused or rewritten before. Real runs, the real service, every copy counted.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { compileFilter } from '../../src/cli/filter-expression.js';
import { type FilterChoices, filterOf, parseSteps } from '../../src/cli/filter-flags.js';
import type { RowSelector } from '../../src/core/index/episode-row.js';
import type { UploadOutcome, UploadPlan } from '../../src/core/upload/outcome.js';
import { openRun } from '../../src/io/run.js';
import { RunUpload } from '../../src/io/run-upload.js';
import type { RunUploadOptions } from '../../src/io/run-upload-options.js';
import { NO_FAULTS } from '../../src/service/faults.js';
import { accessTo } from '../helpers/access.js';
import { type EmbeddedService, startEmbedded } from '../helpers/embedded-service.js';
import { tempFolder, writeTree } from '../helpers/temp-folder.js';
import { storedEpisodes } from '../helpers/upload-command.js';
import { type VariedEpisode, writeVariedRun } from '../helpers/varied-run.js';

const never = new AbortController().signal;
const RUN_ID = 'varied-run';
let service: EmbeddedService;
let notices: string[] = [];

beforeEach(async () => {
  notices = [];
  service = await startEmbedded();
  onTestFinished(() => service.close());
});

type Change = Partial<RunUploadOptions> & { readonly root: string };

async function session({ root, ...change }: Change): Promise<RunUpload> {
  return new RunUpload({
    run: await openRun(root),
    path: root,
    name: 'varied',
    access: { ...accessTo(service.url), apiKey: service.token },
    serviceName: service.url,
    runId: null,
    environmentRunId: null,
    stamps: true,
    context: {},
    concurrency: 2,
    targetBytes: 4_000,
    compress: 'none',
    maxAttempts: 2,
    retriesRejected: false,
    verifies: false,
    environment: { PRL_STATE_DIR: join(root, 'state') },
    onNotice: (message) => void notices.push(message),
    ...change,
  });
}

const upload = async (change: Change): Promise<UploadOutcome> => (await session(change)).run(never);
const plan = async (change: Change): Promise<UploadPlan> => (await session(change)).plan(never);
const stored = (): string[] => storedEpisodes(service, RUN_ID);
const selecting = (choices: FilterChoices): RowSelector => filterOf(choices)?.selects ?? (() => true);
const where = (text: string): FilterChoices => ({ where: [{ text, matches: compileFilter(text) }] });
const idsOf = (episodes: readonly VariedEpisode[], holds: (one: VariedEpisode) => boolean): string[] =>
  episodes.filter(holds).map(({ id }) => id);

/** Each flag, and what it means said without prl. */
const FILTERS: readonly [FilterChoices, (one: VariedEpisode) => boolean][] = [
  [{ kind: 'eval' }, ({ kind }) => kind === 'eval'],
  [{ env: ['math'] }, ({ env }) => env === 'math'],
  [{ env: ['math', 'web'] }, ({ env }) => env !== 'code'],
  [{ step: [parseSteps('3')] }, ({ step }) => step === 3],
  [{ step: [parseSteps('1-2'), parseSteps('5-')] }, ({ step }) => step !== null && [1, 2, 5, 6, 7].includes(step)],
  [{ errors: true }, ({ ok, errors }) => !ok || errors > 0],
  [where('reward > 0.5 and turns < 4'), ({ reward, turns }) => reward !== null && reward > 0.5 && turns < 4],
  [where('reward == null or stop_condition == "max_turns"'), ({ reward, turns }) => reward === null || turns > 4],
  [
    { kind: 'train', env: ['code'], errors: true, ...where('turns >= 1') },
    (one) => one.kind === 'train' && one.env === 'code' && (!one.ok || one.errors > 0) && one.turns >= 1,
  ],
];

describe('each filter', () => {
  test.each(FILTERS.map(([choices, holds]) => [filterOf(choices)?.text ?? '', choices, holds] as const))(
    '%s: exactly its episodes are stored and verified, the plan said so, and the rest goes later, each once',
    async (_text, choices, holds) => {
      const { root, episodes } = writeVariedRun(tempFolder());
      const expected = idsOf(episodes, holds);
      expect(expected.length).toBeGreaterThan(0);
      expect(expected.length).toBeLessThan(episodes.length);
      const selects = selecting(choices);
      const counts = {
        plan: { episodes: expected.length },
        filter: {
          selected: { episodes: expected.length },
          leftOut: { episodes: episodes.length - expected.length },
          unjudged: 0,
        },
      };
      const planned = await plan({ root, selects });
      expect(planned).toMatchObject({ ...counts, toSend: { episodes: expected.length } });
      expect(stored()).toEqual([]);
      expect(existsSync(join(root, 'monitors/prl'))).toBe(false);

      const first = await upload({ root, selects, verifies: true });
      expect(first).toMatchObject({ ...counts, sent: { episodes: expected.length, requests: planned.requests } });
      expect(first.verified).toMatchObject({ episodes: expected.length, ok: true });
      expect(stored()).toEqual(expected);

      const again = await upload({ root, selects, verifies: true });
      expect(again).toMatchObject({ ...counts, sent: { requests: 0 }, already: { episodes: expected.length } });
      expect(again.already.bytes).toBe(first.sent.bytes);
      expect(again.verified).toMatchObject({ episodes: expected.length, ok: true });

      const rest = await upload({ root, verifies: true });
      expect(rest).toMatchObject({
        filter: null,
        plan: { episodes: episodes.length },
        already: { episodes: expected.length },
      });
      expect(rest.verified).toMatchObject({ episodes: episodes.length, ok: true });
      expect(stored()).toEqual(episodes.map(({ id }) => id));
    },
  );
});

test('any filters one after the other: each stores what it selects and is not stored yet (compare sets)', async () => {
  let runs = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.nat(FILTERS.length - 1), { minLength: 1, maxLength: 3 }),
      fc.record({ seed: fc.nat(1000), chunks: fc.integer({ min: 1, max: 4 }), target: fc.constantFrom(1, 2000, 9000) }),
      async (picks, { seed, chunks, target }) => {
        runs += 1;
        const runId = `property-${runs}`;
        const { root, episodes } = writeVariedRun(tempFolder(), { episodes: 30, runId, seed, chunks });
        const expected = new Set<string>();
        for (const [choices, holds] of picks.map((index) => FILTERS[index] as (typeof FILTERS)[number])) {
          const ids = idsOf(episodes, holds);
          const before = ids.filter((id) => expected.has(id)).length;
          const outcome = await upload({ root, selects: selecting(choices), targetBytes: target });
          expect(outcome).toMatchObject({
            sent: { episodes: ids.length - before },
            already: { episodes: before },
            plan: { episodes: ids.length },
          });
          for (const id of ids) expected.add(id);
          expect(storedEpisodes(service, runId)).toEqual([...expected].sort());
        }
        await upload({ root, targetBytes: target });
        expect(storedEpisodes(service, runId)).toEqual(episodes.map(({ id }) => id));
      },
    ),
    { seed: 20_261_130, numRuns: 8 },
  );
});

test('an upload whose every receipt was lost, taken up under any other filter: the listing tells what is stored, each once', async () => {
  const data = tempFolder();
  let runs = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.tuple(fc.nat(FILTERS.length - 1), fc.nat(FILTERS.length - 1)),
      fc.record({ seed: fc.nat(1000), target: fc.constantFrom(1, 2000, 9000) }),
      async (picks, { seed, target }) => {
        runs += 1;
        const runId = `lost-${runs}`;
        const { root, episodes } = writeVariedRun(tempFolder(), { episodes: 30, runId, seed });
        const [first, second] = picks.map((index) => FILTERS[index]) as [
          (typeof FILTERS)[number],
          (typeof FILTERS)[number],
        ];
        const options = { root, targetBytes: target, serviceName: 'the service' };
        service = await startEmbedded({ dataDir: data, faults: { ...NO_FAULTS, lostResponseRatio: 1 } });
        const lost = await upload({ ...options, selects: selecting(first[0]), maxAttempts: 1, concurrency: 4 });
        expect(lost.sent.episodes).toBe(0);
        await service.close();
        service = await startEmbedded({ dataDir: data });
        const before = storedEpisodes(service, runId);
        if (idsOf(episodes, first[1]).length > 0) expect(before.length).toBeGreaterThan(0);
        await upload({ ...options, selects: selecting(second[0]) });
        expect(storedEpisodes(service, runId)).toEqual([...new Set([...before, ...idsOf(episodes, second[1])])].sort());
        await upload(options);
        expect(storedEpisodes(service, runId)).toEqual(episodes.map(({ id }) => id));
        await service.close();
      },
    ),
    { seed: 20_261_201, numRuns: 12 },
  );
  service = await startEmbedded({ dataDir: data });
});

test('a rewritten chunk: what is stored stays so, what is not selected waits, nothing goes twice (U18)', async () => {
  const { root, episodes } = writeVariedRun(tempFolder(), { chunks: 1 });
  const [choices, holds] = FILTERS[0] as (typeof FILTERS)[number];
  const selects = selecting(choices);
  await upload({ root, selects });
  const path = join(root, 'monitors/file/traces/stream/00000.jsonl');
  const lines = readFileSync(path, 'utf8').split('\n');
  writeFileSync(path, [...lines.slice(40, 60), ...lines.slice(0, 40), ''].join('\n'));
  const again = await upload({ root, selects, verifies: true });
  const expected = idsOf(episodes, holds);
  expect(again).toMatchObject({ sent: { episodes: 0 }, already: { episodes: expected.length } });
  expect(again.verified).toMatchObject({ episodes: expected.length, ok: true });
  await upload({ root });
  expect(stored()).toEqual(episodes.map(({ id }) => id));
});

test('every other line first, then the rest: one request does for each, however many stretches lie between', async () => {
  const { root, episodes } = writeVariedRun(tempFolder(), { chunks: 1 });
  const selects: RowSelector = ({ row }) => row.line % 2 === 0;
  const options = { root, targetBytes: 10_000_000 };
  expect((await upload({ ...options, selects })).sent).toMatchObject({ episodes: 30, requests: 1 });
  const rest = await upload(options);
  expect(rest).toMatchObject({ sent: { episodes: 30, requests: 1 }, already: { episodes: 30 }, damaged: [] });
  expect(await upload(options)).toMatchObject({ sent: { requests: 0 }, already: { episodes: 60 } });
  expect(stored()).toEqual(episodes.map(({ id }) => id));
});

test('what was rejected is listed and sent once more where the filter selects it, and nowhere else', async () => {
  const line = (id: string, env: string, traces: readonly string[]): string =>
    `${JSON.stringify({
      ...{ id, env: { id: env }, run: { type: 'eval', id: RUN_ID }, ok: true, errors: [] },
      traces: traces.map((trace) => ({ id: trace, nodes: [], info: {}, run: { type: 'eval', id: RUN_ID } })),
    })}\n`;
  const text = line('a', 'math', ['t', 't']) + line('b', 'math', ['u']) + line('c', 'code', ['v', 'v']);
  const root = writeTree(tempFolder(), { 'monitors/file/traces/stream/00000.jsonl': text });
  await upload({ root });
  const math = await upload({ root, selects: selecting({ env: ['math'] }) });
  expect(math).toMatchObject({ plan: { episodes: 2 }, already: { episodes: 1 }, rejected: [{ id: 'a' }] });
  const retried = await upload({ root, selects: selecting({ env: ['code'] }), retriesRejected: true });
  expect(retried).toMatchObject({ plan: { episodes: 1 }, already: { episodes: 0 }, rejected: [{ id: 'c' }] });
  expect((await upload({ root })).rejected.map(({ id }) => id)).toEqual(['a', 'c']);
});

test('records that no row can be made of are left out with one notice, and reported without a filter', async () => {
  const good = `{"id":"a","env":{"id":"x"},"run":{"type":"eval","id":"${RUN_ID}"},"ok":true,"errors":[],"traces":[]}\n`;
  const bad = good.replace('"errors":[]', '"errors":[1 2]').replace('"a"', '"b"');
  const root = writeTree(tempFolder(), { 'monitors/file/traces/stream/00000.jsonl': good + bad });
  const outcome = await upload({ root, selects: () => true });
  expect(outcome).toMatchObject({ sent: { episodes: 1 }, filter: { leftOut: { episodes: 1 }, unjudged: 1 } });
  expect(notices).toEqual([expect.stringMatching(/^1 record left out: no index row/)]);
  expect(stored()).toEqual(['a']);
  expect((await upload({ root })).rejected).toMatchObject([{ id: 'b', lineNumber: 2 }]);
});
