/** Stamping edits text in place: same meaning as stamping the parsed record, every other byte untouched. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readFacts } from '../../../src/core/stream/facts.js';
import { type RunStamp, stampRun } from '../../../src/core/stream/stamp.js';

function stamp(text: string, options: Partial<RunStamp> = {}, format: 'episode' | 'trace' = 'episode'): string {
  const bytes = Buffer.from(text);
  const facts = readFacts(bytes, format);
  if (facts === null) throw new Error('not a record');
  return Buffer.concat(stampRun(bytes, facts, { runId: null, fallbackRunId: null, ...options })).toString();
}

describe('edits', () => {
  test.each([
    [
      'a missing run is appended last, on envelope and traces',
      '{"id":"e","traces":[{"id":"t"},{"id":"u","x":1.0}]}\n',
      '{"id":"e","traces":[{"id":"t","run":{"type":"eval","id":"R"}},{"id":"u","x":1.0,"run":{"type":"eval","id":"R"}}],"run":{"type":"eval","id":"R"}}\n',
    ],
    [
      'null is replaced where it stands',
      '{"run":null,"id":"e","traces":[]}',
      '{"run":{"type":"eval","id":"R"},"id":"e","traces":[]}',
    ],
    [
      'other keys of a run and their places are kept',
      '{"run":{"type":"train","id":"old","name":"n","work":{"step":1e-05}},"traces":[]}',
      '{"run":{"type":"train","id":"R","name":"n","work":{"step":1e-05}},"traces":[]}',
    ],
    [
      'missing members of a run are appended to it',
      '{"run":{"name":"n"},"traces":[]}',
      '{"run":{"name":"n","type":"eval","id":"R"},"traces":[]}',
    ],
    ['an empty run', '{"run":{},"traces":[]}', '{"run":{"type":"eval","id":"R"},"traces":[]}'],
    ['an empty run with a space', '{"run":{ },"traces":[]}', '{"run":{ "type":"eval","id":"R"},"traces":[]}'],
    [
      'an empty trace',
      '{"traces":[{}],"run":{"type":"eval","id":"R"}}',
      '{"traces":[{"run":{"type":"eval","id":"R"}}],"run":{"type":"eval","id":"R"}}',
    ],
    ['white space before the brace stays', '{"traces":[] \n }', '{"traces":[],"run":{"type":"eval","id":"R"} \n }'],
    [
      'an escaped key is the same key',
      '{"r\\u0075n":{"\\u0069d":"old","type":"eval"},"traces":[]}',
      '{"r\\u0075n":{"\\u0069d":"R","type":"eval"},"traces":[]}',
    ],
    ['a run of another kind is replaced', '{"run":"R","traces":[]}', '{"run":{"type":"eval","id":"R"},"traces":[]}'],
    [
      'an id of another kind is replaced',
      '{"run":{"type":"eval","id":7},"traces":[]}',
      '{"run":{"type":"eval","id":"R"},"traces":[]}',
    ],
    [
      'of two runs the last counts',
      '{"run":1,"run":{"type":"eval","id":"x"},"traces":[]}',
      '{"run":1,"run":{"type":"eval","id":"R"},"traces":[]}',
    ],
    [
      'traces that are no objects are left',
      '{"traces":[1,null],"run":{"type":"eval","id":"R"}}',
      '{"traces":[1,null],"run":{"type":"eval","id":"R"}}',
    ],
  ])('%s', (_name, before, after) => {
    expect(stamp(before, { runId: 'R' })).toBe(after);
    expect(stamp(after, { runId: 'R' })).toBe(after);
  });

  test('a record keyed everywhere gives back the very same buffer', () => {
    const bytes = Buffer.from('{"run":{"type":"train","id":"R"},"traces":[{"run":{"id":"R","type":"train"}}]}\n');
    const facts = readFacts(bytes, 'episode');
    if (facts === null) throw new Error('not a record');
    const parts = stampRun(bytes, facts, { runId: 'R', fallbackRunId: null });
    expect(parts).toHaveLength(1);
    expect(parts[0]).toBe(bytes);
  });

  test('payload is shared with the source, not copied', () => {
    const bytes = Buffer.from(`{"id":"e","traces":[],"x":"${'y'.repeat(1000)}"}\n`);
    const facts = readFacts(bytes, 'episode');
    if (facts === null) throw new Error('not a record');
    const [head] = stampRun(bytes, facts, { runId: 'R', fallbackRunId: null });
    expect(head?.buffer).toBe(bytes.buffer);
  });

  test('a trace line is its own envelope', () => {
    expect(stamp('{"id":"t"}', { runId: 'R' }, 'trace')).toBe('{"id":"t","run":{"type":"eval","id":"R"}}');
  });

  test('an id is written as JSON', () => {
    expect(stamp('{"traces":[]}', { runId: 'a"\n' })).toBe('{"traces":[],"run":{"type":"eval","id":"a\\"\\n"}}');
  });
});

describe('which id', () => {
  const both = '{"run":{"type":"eval","id":"env"},"traces":[{"run":{"type":"eval","id":"tr"}}]}';
  test.each<[string, string, Partial<RunStamp>, string]>([
    ['--run-id wins over the record', both, { runId: 'R', fallbackRunId: 'F' }, 'R'],
    ['else the envelope', both, { fallbackRunId: 'F' }, 'env'],
    [
      'else the first trace with one',
      '{"traces":[{},{"run":{"type":"eval","id":"tr"}}]}',
      { fallbackRunId: 'F' },
      'tr',
    ],
    ['an empty id is none', '{"run":{"type":"eval","id":""},"traces":[]}', { fallbackRunId: 'F' }, 'F'],
    ['else the fallback', '{"traces":[{}]}', { fallbackRunId: 'F' }, 'F'],
  ])('%s', (_name, text, options, expected) => {
    const stamped = JSON.parse(stamp(text, options));
    expect([stamped.run.id, ...stamped.traces.map((trace: { run: { id: string } }) => trace.run.id)]).toEqual([
      expected,
      ...stamped.traces.map(() => expected),
    ]);
  });

  test('without any the record stays as it is', () => {
    expect(stamp('{"traces":[{}]}')).toBe('{"traces":[{}]}');
  });
});

test.each([
  ['its own', '{"traces":[{"run":{"type":"train"}}],"run":{"type":"eval"}}', 'eval', 'train'],
  ['the envelope for a trace', '{"traces":[{"info":{"kind":"eval"}}],"run":{"type":"train"}}', 'train', 'train'],
  ['info.kind of a trace', '{"traces":[{"info":{"kind":"train"}}]}', 'train', 'train'],
  ['an unknown info.kind is none', '{"traces":[{"info":{"kind":"other"}}]}', 'eval', 'eval'],
  ['eval at last', '{"traces":[{}]}', 'eval', 'eval'],
])('type: %s', (_name, text, envelope, trace) => {
  const stamped = JSON.parse(stamp(text, { runId: 'R' }));
  expect([stamped.run.type, stamped.traces[0].run.type]).toEqual([envelope, trace]);
});

describe('for any record', () => {
  const scalar = fc.oneof(fc.string(), fc.integer(), fc.constantFrom(null, true, 1.5));
  const run = fc.oneof(
    fc.constantFrom(null, 3, 'text', {}),
    fc.record(
      {
        type: fc.constantFrom('train', 'eval'),
        id: fc.string(),
        name: fc.string(),
        work: fc.dictionary(fc.string(), scalar),
      },
      { requiredKeys: [] },
    ),
  );
  const trace = fc.record(
    { id: fc.string(), run, info: fc.record({ kind: scalar }, { requiredKeys: [] }), nodes: fc.array(scalar) },
    { requiredKeys: [] },
  );
  const episode = fc.record(
    { id: fc.string(), run, traces: fc.array(trace, { maxLength: 4 }), task: fc.jsonValue() },
    { requiredKeys: ['traces'] },
  );
  const spacing = fc.constantFrom(undefined, 1, '\t');

  test('the meaning is that of stamping the parsed record, twice is once, and only inserted bytes are new', () => {
    fc.assert(
      fc.property(episode, spacing, fc.string({ minLength: 1 }), (value, indent, runId) => {
        const text = JSON.stringify(value, null, indent);
        const stamped = stamp(text, { runId });
        expect(JSON.parse(stamped)).toEqual(stampParsed(JSON.parse(text), runId));
        expect(stamp(stamped, { runId })).toBe(stamped);
        expect(keptBytes(text, runId)).toBe(true);
      }),
      { seed: 4, numRuns: 400 },
    );
  });
});

type Loose = { run?: unknown; info?: { kind?: unknown }; traces?: Loose[] };

/** The rule table of RunStamp over a parsed record. */
function stampParsed(record: Loose, runId: string): Loose {
  const ownType = (carrier: Loose): string | null => {
    const type = (carrier.run as { type?: unknown } | null | undefined)?.type;
    return typeof type === 'string' ? type : null;
  };
  const kind = (carrier: Loose): string | null =>
    carrier.info?.kind === 'train' || carrier.info?.kind === 'eval' ? carrier.info.kind : null;
  const traces = record.traces ?? [];
  const envelopeOwn = ownType(record);
  const put = (carrier: Loose, type: string): Loose => {
    const isObject = typeof carrier.run === 'object' && carrier.run !== null;
    return { ...carrier, run: { ...(isObject ? (carrier.run as object) : {}), type, id: runId } };
  };
  const envelopeType = envelopeOwn ?? traces.map(kind).find((found) => found !== null) ?? 'eval';
  const stampedTraces = traces.map((trace) => put(trace, ownType(trace) ?? envelopeOwn ?? kind(trace) ?? 'eval'));
  return put({ ...record, traces: stampedTraces }, envelopeType);
}

/** What is kept of the source comes in order, and what is taken out lies inside the value of a `run`. */
function keptBytes(text: string, runId: string): boolean {
  const bytes = Buffer.alloc(Buffer.byteLength(text)); // not pooled, so that a slice is known by its memory
  bytes.write(text);
  const facts = readFacts(bytes, 'episode');
  if (facts === null) return false;
  const runs = [facts.envelope, ...facts.traces].flatMap(({ run }) => (run === null ? [] : [run]));
  const isInRun = (start: number, end: number): boolean => runs.some((run) => start >= run.start && end <= run.end);
  let position = 0;
  for (const part of stampRun(bytes, facts, { runId, fallbackRunId: null })) {
    if (part.buffer !== bytes.buffer) continue;
    if (part.byteOffset < position) return false;
    if (part.byteOffset > position && !isInRun(position, part.byteOffset)) return false;
    position = part.byteOffset + part.length;
  }
  return position === bytes.length;
}
