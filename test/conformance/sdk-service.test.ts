/** The official SDK, sync and async, against the embedded service: everything a user of the SDK does with a run. */
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type EmbeddedService, startEmbedded } from '../helpers/embedded-service.js';
import { bytesOf, judge, type SdkMode, type SdkStep, sdk, valueIn } from './python.js';

const FILE = 'fixtures/runs/verifiers-eval/traces.jsonl';
const EPISODE_FORMAT = { line_format: { line_format: 'episode' } };

type Trace = { id: string };
type Episode = { id: string; traces: Trace[]; ok: boolean; run: { id: string } };

const lines = readFileSync(FILE, 'utf8').trimEnd().split('\n');
const episodes = lines.map((line) => JSON.parse(line) as Episode);
const traceIds = episodes.flatMap((episode) => episode.traces.map((trace) => trace.id));

describe.skipIf(judge.missing !== null)(`the official SDK (${judge.missing ?? 'prime-traces'})`, () => {
  describe.each<SdkMode>(['sync', 'async'])('%s', (mode) => {
    let service: EmbeddedService;
    const perform = (...steps: SdkStep[]) => sdk(service, mode, steps);

    beforeAll(async () => {
      service = await startEmbedded();
      const [first, second] = await perform(
        { call: 'upload_file', args: [FILE], kwargs: { ...EPISODE_FORMAT, context: { source: 'conformance' } } },
        { call: 'upload_file', args: [FILE], kwargs: { ...EPISODE_FORMAT, compress: false } },
      );
      const digest = createHash('sha256').update(readFileSync(FILE)).digest('hex');
      expect(valueIn(first)).toMatchObject([{ upload_id: digest, status: 'committed' }]);
      // The same bytes again replay the receipt and store nothing.
      expect(valueIn(second)).toEqual(valueIn(first));
    });
    afterAll(() => service.close());

    test('lists every trace once, page by page', async () => {
      const [all, page] = await perform({ call: 'iter', kwargs: { limit: 5 } }, { call: 'list', kwargs: { limit: 5 } });
      const listed = valueIn(all).map((summary: { trace_id: string }) => summary.trace_id);
      expect([...listed].sort()).toEqual([...traceIds].sort());
      expect(valueIn(page).items).toHaveLength(5);
      expect(valueIn(page).next_cursor).toEqual(expect.any(String));
    });

    test('finds by run, context and upload', async () => {
      const digest = createHash('sha256').update(readFileSync(FILE)).digest('hex');
      const [byContext, byOther, byUpload, episodesOfRun] = await perform(
        { call: 'iter', kwargs: { context: { source: 'conformance' } } },
        { call: 'iter', kwargs: { context: { source: 'other' } } },
        { call: 'iter', kwargs: { upload_id: digest } },
        { call: 'list_episodes', kwargs: { run_id: episodes[0]?.run.id, limit: 100 } },
      );
      expect(valueIn(byContext)).toHaveLength(traceIds.length);
      expect(valueIn(byOther)).toEqual([]);
      expect(valueIn(byUpload)).toHaveLength(traceIds.length);
      const ids = valueIn(episodesOfRun).items.map((item: { episode_id: string }) => item.episode_id);
      expect(ids.sort()).toEqual(episodes.map((episode) => episode.id).sort());
    });

    test('gives every raw document back byte for byte', async () => {
      const outcomes = await perform(...traceIds.map((id) => ({ call: 'get_raw', args: [id] })));
      outcomes.forEach((outcome, index) => {
        const raw = bytesOf(valueIn(outcome)).toString('utf8');
        const line = lines.find((candidate) => candidate.includes(`"id":"${traceIds[index]}"`)) ?? '';
        expect(line).toContain(raw);
        const trace = (JSON.parse(line) as Episode).traces.find(({ id }) => id === traceIds[index]);
        expect(JSON.parse(raw)).toEqual(trace);
      });
    });

    test('downloads a raw document into a file', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'prl-download-'));
      const target = join(folder, 'trace.json');
      const [written, raw] = await perform(
        { call: 'download_raw', args: [traceIds[0], target] },
        { call: 'get_raw', args: [traceIds[0]] },
      );
      expect(readFileSync(target)).toEqual(bytesOf(valueIn(raw)));
      expect(valueIn(written)).toBe(readFileSync(target).length);
      rmSync(folder, { recursive: true });
    });

    test('shows episodes with their members, the one without a trace too', async () => {
      const outcomes = await perform(
        ...episodes.flatMap(({ id }) => [
          { call: 'get_episode', args: [id] },
          { call: 'get_episode_raw', args: [id] },
          { call: 'list_episode_traces', args: [id] },
        ]),
      );
      expect(episodes.some((episode) => episode.traces.length === 0)).toBe(true);
      episodes.forEach((episode, index) => {
        const [detail, envelope, members] = outcomes.slice(index * 3, index * 3 + 3).map(valueIn);
        const ids = episode.traces.map(({ id }) => id);
        expect(detail.traces.trace_count).toBe(ids.length);
        expect(detail.has_error).toBe(!episode.ok);
        expect(JSON.parse(bytesOf(envelope).toString('utf8'))).toEqual({ ...episode, traces: ids });
        expect(members.items.map((item: { trace_id: string }) => item.trace_id).sort()).toEqual([...ids].sort());
      });
    });

    test('binds a cursor to its filters', async () => {
      const [page] = await perform({ call: 'list', kwargs: { limit: 3 } });
      const cursor = valueIn(page).next_cursor;
      const [same, other, garbage] = await perform(
        { call: 'list', kwargs: { limit: 3, cursor } },
        { call: 'list', kwargs: { limit: 3, cursor, has_error: true } },
        { call: 'list', kwargs: { limit: 3, cursor: 'nonsense' } },
      );
      expect(valueIn(same).items).toHaveLength(3);
      expect(other?.error).toMatchObject({ type: 'ValidationRejectedError', code: 'invalid_cursor' });
      expect(garbage?.error).toMatchObject({ type: 'ValidationRejectedError', code: 'invalid_cursor' });
    });

    test('maps refusals to the errors that the SDK has for them', async () => {
      const encoded = (text: string) => ({ base64: Buffer.from(text).toString('base64') });
      const [torn, twice, missing, wrongKey] = [
        ...(await perform(
          { call: 'upload_lines', args: [[encoded('{"id":"x"\n')]] },
          { call: 'upload_lines', args: [[encoded('{"id":"y","nodes":[]}\n'), encoded('{"id":"y","nodes":[]}\n')]] },
          { call: 'get', args: ['no-such-trace'] },
        )),
        ...(await sdk({ url: service.url, token: 'wrong' }, mode, [{ call: 'list' }])),
      ];
      expect(torn?.error).toMatchObject({ type: 'ValidationRejectedError', code: 'invalid_trace' });
      expect(twice?.error).toMatchObject({ type: 'ValidationRejectedError', code: 'duplicate_trace_id' });
      expect(missing?.error).toMatchObject({ type: 'NotFoundError', code: 'trace_not_found' });
      expect(wrongKey?.error).toMatchObject({ type: 'UnauthorizedError' });
    });

    test('refuses the same bytes under the other line format', async () => {
      const [conflict] = await perform({ call: 'upload_file', args: [FILE] });
      expect(conflict?.error).toMatchObject({ type: 'LineFormatConflictError', code: 'line_format_conflict' });
    });

    test('uploads records, deletes a trace and a run, and never finds them again', async () => {
      const record = (id: string) => ({
        id,
        nodes: [],
        run: { type: 'eval', id: `records-${mode}` },
        rewards: {},
        ok: true,
      });
      const steps = await perform(
        { call: 'upload_records', args: [[record(`a-${mode}`), record(`b-${mode}`), record('..')]] },
        { call: 'iter', kwargs: { run_id: `records-${mode}` } },
        { call: 'get_raw', args: ['..'] },
        { call: 'delete', args: [`a-${mode}`] },
        { call: 'get', args: [`a-${mode}`] },
        { call: 'delete', args: [`a-${mode}`] },
        { call: 'delete_run', args: [`records-${mode}`] },
        { call: 'iter', kwargs: { run_id: `records-${mode}` } },
        { call: 'delete_run', args: [`records-${mode}`] },
      );
      expect(valueIn(steps[0])).toHaveLength(1);
      expect(valueIn(steps[1])).toHaveLength(3);
      expect(JSON.parse(bytesOf(valueIn(steps[2])).toString('utf8'))).toEqual(record('..'));
      expect(steps[3]).not.toHaveProperty('error');
      expect(steps[4]?.error).toMatchObject({ type: 'NotFoundError', code: 'trace_not_found' });
      expect(steps[5]?.error).toMatchObject({ type: 'NotFoundError', code: 'trace_not_found' });
      expect(steps[6]).not.toHaveProperty('error');
      expect(valueIn(steps[7])).toEqual([]);
      expect(steps[8]?.error).toMatchObject({ type: 'NotFoundError', code: 'run_not_found' });
    });
  });
});
