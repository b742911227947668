/** The vectors of spec 06 section 3 and the rules that prl adds for run directories. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Batcher, type BatcherOptions, type Candidate } from '../../../src/core/upload/batcher.js';
import { batchesOf } from '../../../src/core/upload/batches.js';
import { ResumeState } from '../../../src/core/upload/resume.js';
import { rangeOf } from '../../../src/core/upload/split.js';
import type { Batch, RejectedLine } from '../../../src/core/upload/types.js';
import { candidatesOf, recordsOf, textOf } from '../../helpers/lines.js';

function cut(
  candidates: readonly Candidate[],
  options: BatcherOptions = {},
): { batches: Batch[]; rejected: RejectedLine[] } {
  const batcher = new Batcher(options);
  const batches: Batch[] = [];
  const rejected: RejectedLine[] = [];
  for (const candidate of candidates) {
    const pushed = batcher.push(candidate);
    if (pushed.closed !== null) batches.push(pushed.closed);
    if (pushed.rejected !== null) rejected.push(pushed.rejected);
  }
  const last = batcher.flush();
  if (last !== null) batches.push(last);
  return { batches, rejected };
}

function withIds(candidate: Candidate | undefined, episodeId: string, traceIds: readonly string[]): Candidate {
  if (candidate === undefined) throw new Error('no such line');
  return { ...candidate, format: 'episode', episodeId, traceIds, rows: 1 + traceIds.length };
}

describe('vectors of spec 06 section 3', () => {
  test.each([
    ['three lines of 5, target 10', 'aaaa\naaaa\naaaa\n', { targetBytes: 10 }, ['aaaa\naaaa\n', 'aaaa\n']],
    ['a blank line between', 'x\n\ny\n', { targetBytes: 10 }, ['x\ny\n']],
    ['white space of every kind is blank', 'x\n \t\v\f\r\ny\n', { targetBytes: 10 }, ['x\ny\n']],
    ['a line above the target stands alone', 'aaaaaaaaaaaa\nb\n', { targetBytes: 10 }, ['aaaaaaaaaaaa\n', 'b\n']],
    ['no LF at the end', 'abc', { targetBytes: 10 }, ['abc']],
    ['line cap counts without LF', 'abcd\n', { maxLineBytes: 4 }, ['abcd\n']],
    ['line cap, last line without LF', 'abcd', { maxLineBytes: 4 }, ['abcd']],
    ['at most so many lines', 'a\nb\nc\n', { maxLines: 2 }, ['a\nb\n', 'c\n']],
    ['exactly the target fits', 'aaaa\nbbbb\n', { targetBytes: 10 }, ['aaaa\nbbbb\n']],
    ['one byte more does not', 'aaaa\nbbbbb\n', { targetBytes: 10 }, ['aaaa\n', 'bbbbb\n']],
  ])('%s', (_name, text, options, expected) => {
    const { batches, rejected } = cut(candidatesOf(text), options);
    expect(batches.map(textOf)).toEqual(expected);
    expect(rejected).toEqual([]);
  });

  test('the CR counts against the line cap (A39), and the neighbours are cut as if the line were blank (B25)', () => {
    const { batches, rejected } = cut(candidatesOf('ab\nabcd\r\ncd\n'), { maxLineBytes: 4 });
    expect(batches.map(textOf)).toEqual(['ab\ncd\n']);
    expect(rejected).toMatchObject([{ lineNumber: 2, offset: 3, length: 6, code: 'line_too_large' }]);
    expect(rejected[0]?.message).toContain('5 bytes');
  });

  test.each([0, -1, 268_435_457, Number.NaN])('a target of %d is refused', (targetBytes) => {
    expect(() => new Batcher({ targetBytes })).toThrowError(expect.objectContaining({ code: 'PRL_ERR_USAGE' }));
  });

  test('a target of 256 MiB is allowed', () => {
    expect(cut(candidatesOf('a\n'), { targetBytes: 268_435_456 }).batches).toHaveLength(1);
  });
});

describe('run directories', () => {
  test('a batch never spans chunks (R-UP-1)', () => {
    const { batches } = cut([...candidatesOf('a\nb\n', 0), ...candidatesOf('c\n', 1)]);
    expect(batches.map((batch) => [batch.chunk, textOf(batch)])).toEqual([
      [0, 'a\nb\n'],
      [1, 'c\n'],
    ]);
  });

  test('a change of format closes the batch (scenario D of spec 07)', () => {
    const [first, second, third, fourth] = candidatesOf('tttt\ntttt\neeee\ntttt\n');
    const episode = withIds(third, 'e', []);
    const { batches } = cut([first, second, episode, fourth] as Candidate[]);
    expect(batches.map((batch) => [batch.format, batch.lines.length])).toEqual([
      ['trace', 2],
      ['episode', 1],
      ['trace', 1],
    ]);
  });

  test('the row cap counts the traces of an episode (B28) and is off by default', () => {
    const lines = candidatesOf('a\nb\nc\n').map((candidate, index) =>
      withIds(candidate, `e${index}`, [`t${index}`, `u${index}`]),
    );
    expect(cut(lines).batches).toHaveLength(1);
    expect(cut(lines, { maxRows: 6 }).batches.map((batch) => batch.lines.length)).toEqual([2, 1]);
  });
});

describe('duplicates inside one batch (R-UP-4)', () => {
  const [a, b, c] = candidatesOf('{"a":1}\n{"b":1}\n{"c":1}\n');

  test('the later episode is left out, its neighbours go, and the message names both lines', () => {
    const { batches, rejected } = cut([withIds(a, 'same', []), withIds(b, 'same', []), withIds(c, 'other', [])]);
    expect(batches.map(textOf)).toEqual(['{"a":1}\n{"c":1}\n']);
    expect(rejected).toMatchObject([{ lineNumber: 2, offset: 8, code: 'duplicate_episode_id' }]);
    expect(rejected[0]?.message).toMatch(/same .*line 1 .*line 2/);
  });

  test('the later holder of a trace is left out', () => {
    const { rejected } = cut([withIds(a, 'e1', ['t1', 't2']), withIds(b, 'e2', ['t2'])]);
    expect(rejected).toMatchObject([{ lineNumber: 2, code: 'duplicate_trace_id' }]);
  });

  test('a trace twice in one line rejects that line', () => {
    const { batches, rejected } = cut([withIds(a, 'e1', ['t', 't']), withIds(b, 'e2', ['t'])]);
    expect(rejected).toMatchObject([{ lineNumber: 1, code: 'duplicate_trace_id' }]);
    expect(batches.map(textOf)).toEqual(['{"b":1}\n']);
  });

  test('the same id in another batch is not a duplicate', () => {
    const { batches, rejected } = cut([withIds(a, 'same', []), withIds(b, 'same', [])], { targetBytes: 8 });
    expect(batches).toHaveLength(2);
    expect(rejected).toEqual([]);
  });

  test('an id of a rejected line does not block a later one', () => {
    const { rejected } = cut([withIds(a, 'e1', ['t1']), withIds(b, 'e1', ['t2']), withIds(c, 'e3', ['t2'])]);
    expect(rejected.map((line) => line.lineNumber)).toEqual([2]);
  });
});

test('batches are those of a slow reading of the rules, for any lines and targets', () => {
  const line = fc.string({ unit: fc.constantFrom('a', ' ', '\t', 'é', '"'), maxLength: 9 });
  fc.assert(
    fc.property(
      fc.array(line, { maxLength: 30 }),
      fc.integer({ min: 1, max: 24 }),
      fc.boolean(),
      (lines, target, endsWithLf) => {
        const text = lines.join('\n') + (endsWithLf ? '\n' : '');
        const { batches } = cut(candidatesOf(text), { targetBytes: target });
        expect(batches.map(textOf)).toEqual(slowBatches(text, target));
      },
    ),
    { seed: 6, numRuns: 300 },
  );
});

/** Spec 06 section 3 over a string, without offsets, ids or classes. */
function slowBatches(text: string, target: number): string[] {
  const batches: string[] = [];
  let open = '';
  for (const line of text.split(/(?<=\n)/)) {
    if (/^[ \t\n\v\f\r]*$/.test(line)) continue;
    if (open !== '' && Buffer.byteLength(open) + Buffer.byteLength(line) > target) {
      batches.push(open);
      open = '';
    }
    open += line;
  }
  return open === '' ? batches : [...batches, open];
}

describe('batchesOf', () => {
  const text = ['a', 'b', 'c', 'd'].map((id) => `{"id":"${id}","traces":[]}\n`).join('');
  const lineBytes = text.length / 4;

  async function collect(
    options: Partial<Parameters<typeof batchesOf>[1]>,
  ): Promise<{ batches: string[]; rejected: RejectedLine[] }> {
    const rejected: RejectedLine[] = [];
    const batches: string[] = [];
    for await (const batch of batchesOf(recordsOf(text), {
      stamp: null,
      onRejected: (line) => void rejected.push(line),
      ...options,
    })) {
      batches.push(batch.lines.map((line) => line.id).join(''));
    }
    return { batches, rejected };
  }

  test('settled records are no part of the batch around them, whether the reader gives them or not', async () => {
    const resume = new ResumeState();
    resume.settle({ chunk: 0, start: lineBytes, end: 2 * lineBytes, physicalLines: 1 });
    const options = { placementOf: resume.placementOf.bind(resume), targetBytes: 1000 };
    expect((await collect(options)).batches).toEqual(['acd']);
    const without = recordsOf(text).filter((record) => record.offset !== lineBytes);
    const batches: Batch[] = [];
    for await (const batch of batchesOf(without, { stamp: null, onRejected: () => {}, ...options }))
      batches.push(batch);
    const ranges = batches.map((batch) => rangeOf(batch, { digest: '', lineDigests: [] }));
    expect(ranges).toMatchObject([
      {
        lines: 3,
        islands: [
          [0, lineBytes, 1],
          [2 * lineBytes, 4 * lineBytes, 2],
        ],
      },
    ]);
  });

  test('a rejected record is passed over as if it were blank', async () => {
    const resume = new ResumeState();
    resume.reject({
      chunk: 0,
      offset: lineBytes,
      length: lineBytes,
      byteLength: lineBytes,
      lineNumber: 2,
      id: 'b',
      code: 'x',
      message: '',
      digest: null,
    });
    expect((await collect({ placementOf: resume.placementOf.bind(resume) })).batches).toEqual(['acd']);
    expect((await collect({ placementOf: resume.placementOfRejected.bind(resume) })).batches).toEqual(['b']);
  });

  test('a planned cut is repeated although the target has changed (U2)', async () => {
    const resume = new ResumeState();
    resume.pin({ chunk: 0, start: lineBytes, end: 3 * lineBytes });
    const pinAt = resume.pinAt.bind(resume);
    expect((await collect({ pinAt, targetBytes: 1 })).batches).toEqual(['a', 'bc', 'd']);
    expect((await collect({ pinAt, targetBytes: 1000 })).batches).toEqual(['a', 'bc', 'd']);
  });

  test('a record that was cut without its LF is cut so again, with the LF come since; other bytes are not cut off', async () => {
    const resume = new ResumeState();
    resume.pin({ chunk: 0, start: 2 * lineBytes, end: 4 * lineBytes - 1 });
    const pinAt = resume.pinAt.bind(resume);
    const open = text.slice(0, -1);
    for (const [now, sent] of [
      [`${open}\n`, open],
      [`${open}\r\n`, open],
      [`${open.slice(0, -1)},"x":1}\n`, `${open.slice(0, -1)},"x":1}\n`],
    ] as const) {
      const texts: string[] = [];
      const options = { stamp: null, pinAt, onRejected: () => {} };
      for await (const batch of batchesOf(recordsOf(now), options)) texts.push(textOf(batch));
      expect(texts).toEqual([text.slice(0, 2 * lineBytes), sent.slice(2 * lineBytes)]);
    }
  });

  test('a record of another unit is rejected, its neighbours go', async () => {
    const records = recordsOf(text).map((record, index) => (index === 1 ? { ...record, unit: 'v0' as const } : record));
    const rejected: RejectedLine[] = [];
    for await (const batch of batchesOf(records, { stamp: null, onRejected: (line) => void rejected.push(line) })) {
      expect(batch.lines.map((line) => line.id)).toEqual(['a', 'c', 'd']);
    }
    expect(rejected).toMatchObject([{ code: 'wrong_unit', lineNumber: 2 }]);
  });

  test('a record that names no run stops with a usage error when one must be stamped', async () => {
    await expect(collect({ stamp: { runId: null, fallbackRunId: null } })).rejects.toMatchObject({
      code: 'PRL_ERR_USAGE',
    });
    expect((await collect({ stamp: { runId: null, fallbackRunId: 'r' } })).batches).toEqual(['abcd']);
  });
});
