/** The document and the last line of several runs: sums, every run's own, and the gravest status. */
import { describe, expect, test } from 'vitest';
import { EXIT_STATUS, gravestStatus, STATUS_MEANING } from '../../src/cli/exit-codes.js';
import type { Failure } from '../../src/cli/failure.js';
import { terminalFormat } from '../../src/cli/format.js';
import type { UploadDocument } from '../../src/cli/upload-document.js';
import { type RunResult, uploadRunsDocument, uploadRunsLine } from '../../src/cli/upload-runs.js';
import { schemaComplaints } from '../helpers/json-schema.js';

const FILTER = { text: '--errors', selected: { episodes: 3, bytes: 30 }, left_out: { episodes: 5, bytes: 50 } };

function documentOf(run: string, change: Partial<UploadDocument> = {}): UploadDocument {
  return {
    schema: 'prl.upload/1',
    run,
    url: 'http://127.0.0.1:1',
    run_id: 'r',
    plan: { episodes: 3, bytes: 30 },
    sent: { episodes: 2, bytes: 20, wire_bytes: 12, requests: 1 },
    already: { episodes: 1, bytes: 10 },
    rejected: [],
    damaged: [],
    retries: 1,
    seconds: 2,
    peak_rss_bytes: 7,
    verified: null,
    complete: true,
    partial: false,
    ...change,
  };
}

const failure = (code: Failure['code'], status: number): Failure => {
  return { code, status, message: 'what', hint: 'do', error: new Error('what') };
};
const done = (run: string, change: Partial<UploadDocument> = {}): RunResult => {
  return { run, document: documentOf(run, change), failure: null, status: 0 };
};
const lost: RunResult = { run: './c', document: null, failure: failure('PRL_ERR_NOT_FOUND', 4), status: 4 };
const cut: RunResult = {
  run: './d',
  document: documentOf('./d', { complete: false, partial: true }),
  failure: failure('PRL_ERR_INTERRUPTED', 130),
  status: 130,
};
const surroundings = { url: 'http://127.0.0.1:1', seconds: 9.1234567, peakRssBytes: 99 };

describe('uploadRunsDocument', () => {
  const rejected = { chunk: 0, offset: 1, line: 1, id: null, code: 'c', message: 'm' };
  const some = [
    done('./a', { verified: { episodes: 3, ok: true }, filter: FILTER }),
    done('./b c', { run_id: 's', rejected: [rejected], verified: { episodes: 3, ok: false }, filter: FILTER }),
  ];

  test('has every key of one run, summed up, and is described by the same schema', () => {
    const document = uploadRunsDocument(some, surroundings);
    expect(schemaComplaints(JSON.parse(JSON.stringify(document)), 'schemas/prl.upload-1.json')).toEqual([]);
    expect(document).toMatchObject({
      schema: 'prl.upload/1',
      run: "./a './b c'",
      run_id: null,
      plan: { episodes: 6, bytes: 60 },
      sent: { episodes: 4, bytes: 40, wire_bytes: 24, requests: 2 },
      already: { episodes: 2, bytes: 20 },
      rejected: [{ ...rejected, run: './b c' }],
      filter: { text: '--errors', selected: { episodes: 6 }, left_out: { episodes: 10 } },
      retries: 2,
      seconds: 9.123,
      peak_rss_bytes: 99,
      verified: { episodes: 6, ok: false },
      complete: true,
      partial: false,
    });
    expect(document.runs).toEqual(some.map((one) => one.document));
    expect(Object.keys(document)[0]).toBe('schema');
  });

  test.each([
    ['all done', [done('./a'), done('./b')], { complete: true, partial: false, run_id: 'r' }],
    ['one not found', [done('./a'), lost], { complete: false, partial: false, run_id: 'r' }],
    ['one cut short', [done('./a'), cut], { complete: false, partial: true }],
    ['one never begun', [done('./a'), { ...cut, document: null }], { complete: false, partial: true }],
    ['none there', [lost], { complete: false, partial: false, run_id: null, plan: { episodes: 0 } }],
  ])('%s', (_what, results, said) => {
    const document = uploadRunsDocument(results, surroundings);
    expect(document).toMatchObject(said);
    expect(schemaComplaints(JSON.parse(JSON.stringify(document)), 'schemas/prl.upload-1.json')).toEqual([]);
    for (const [index, { failure: why }] of results.entries()) {
      const { code } = (document.runs[index] as { error?: { code: string } }).error ?? { code: null };
      expect(code).toBe(why?.code ?? null);
    }
  });

  test('plans add up', () => {
    const plan = { dry_run: { episodes: 2, bytes: 20, requests: 1 } };
    expect(uploadRunsDocument([done('./a', plan), done('./b', plan)], surroundings)).toMatchObject({
      dry_run: { episodes: 4, bytes: 40, requests: 2 },
    });
  });
});

test('the last line counts what is done and names what is not', () => {
  const format = terminalFormat({ ascii: false });
  expect(uploadRunsLine([done('./a'), done('./b')], format)).toBe(' runs      2 of 2 done');
  expect(uploadRunsLine([done('./a'), lost, cut], format)).toBe(
    ' runs      1 of 3 done; ./c ended in 4 (no such run or file); ./d ended in 130 (interrupted; state saved)',
  );
});

describe('gravestStatus', () => {
  test.each([
    [[], 0],
    [[0, 0], 0],
    [[0, 3], 3],
    [[3, 5, 4], 4],
    [[5, 9], 9],
    [[6, 2, 9], 6],
    [[3, 7, 8], 7],
    [[7, 1], 1],
  ])('of %j is %i', (statuses, status) => {
    expect(gravestStatus(statuses)).toBe(status);
  });

  test('knows every status that a run can end in', () => {
    const known = Object.keys(STATUS_MEANING).map(Number);
    const ofRuns = known.filter((status) => status > 0 && status < EXIT_STATUS.PRL_ERR_THRESHOLD);
    expect(ofRuns.map((status) => gravestStatus([0, status]))).toEqual(ofRuns);
  });
});
