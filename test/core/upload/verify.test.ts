/** What counts as a difference between a run and what a service gives back. */
import { describe, expect, test } from 'vitest';
import { Verification } from '../../../src/core/upload/verify.js';

function verification(): Verification {
  const expected = new Verification();
  expected.expect({
    episodeId: 'e1',
    runId: 'r',
    traces: new Map([
      ['t1', 'd1'],
      ['t2', 'd2'],
    ]),
  });
  expected.expect({ episodeId: 'e2', runId: null, traces: new Map() });
  expected.expect({ episodeId: null, runId: 'r', traces: new Map([['t3', 'd3']]) });
  return expected;
}

const kinds = (done: Verification): string[] => done.result().differences.map(({ kind }) => kind);

test('what was sent is what is looked for: by run, by id where there is none, traces outside an episode too', () => {
  const expected = verification();
  expect(expected.episodeIds).toEqual(['e1', 'e2']);
  expect([...expected.runIds]).toEqual(['r']);
  expect([...expected.unfiledEpisodeIds]).toEqual(['e2']);
  expect([...expected.bareTraces]).toEqual([['t3', 'd3']]);
  expect(expected.result()).toEqual({ episodes: 3, ok: true, differences: [], superseded: 0 });
});

test("copies of another upload are not ours to compare, but ours must be among our uploads'", () => {
  const expected = verification();
  expect(expected.isOwn('other')).toBe(true); // nothing is known yet
  expected.addUpload('ours');
  expect(['ours', 'other', null].map((id) => expected.isOwn(id))).toEqual([true, false, true]);
  expected.supersede('e1');
  expected.compareSuperseded(new Set(['e1']));
  expect(expected.result()).toMatchObject({ ok: true, superseded: 1 });
  expected.compareSuperseded(new Set());
  expect(kinds(expected)).toEqual(['episode_missing']);
});

describe('differences', () => {
  test.each<[string, (expected: Verification) => void, string[]]>([
    [
      'an episode listed twice',
      (expected) =>
        expected.compareEpisodes(
          new Map([
            ['e1', 2],
            ['e2', 1],
          ]),
        ),
      ['episode_doubled'],
    ],
    ['an episode not listed', (expected) => expected.compareEpisodes(new Map([['e1', 1]])), ['episode_missing']],
    ['a trace listed twice', (expected) => expected.compareTraces('e1', ['t1', 't1', 't2']), ['trace_doubled']],
    ['a trace not listed', (expected) => expected.compareTraces('e1', ['t1']), ['trace_missing']],
    ['a trace nobody sent', (expected) => expected.compareTraces('e1', ['t1', 't2', 't9']), ['trace_unexpected']],
    ['other bytes', (expected) => expected.compareDocument('e1', 't1', 'd9'), ['trace_differs']],
    ['no document', (expected) => expected.compareDocument(null, 't3', null), ['trace_missing']],
    ['a document that cannot be read', (expected) => expected.unreadable('e1', 't1', 'why'), ['unreadable']],
  ])('%s', (_what, read, found) => {
    const expected = verification();
    read(expected);
    expect(kinds(expected)).toEqual(found);
    expect(expected.result().ok).toBe(false);
  });

  test('nothing differs when everything is as sent', () => {
    const expected = verification();
    expected.compareEpisodes(
      new Map([
        ['e1', 1],
        ['e2', 1],
      ]),
    );
    expected.compareTraces('e1', ['t2', 't1']);
    expected.compareTraces('e2', []);
    expected.compareDocument('e1', 't1', 'd1');
    expected.compareDocument(null, 't3', 'd3');
    expect(kinds(expected)).toEqual([]);
  });
});
