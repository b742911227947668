/** The facts of a line, from a walk of its own or from the one that classified it: the same, whatever the line holds. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LineClassifier } from '../../../src/core/scan/classify.js';
import { factsOf, readFacts } from '../../../src/core/stream/facts.js';

const text = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('id', 'run', 'train', '"', '\\'));
const run = fc.oneof(fc.record({ type: text, id: text, work: fc.jsonValue() }, { requiredKeys: [] }), fc.jsonValue());
const carrier = { id: fc.oneof(text, fc.jsonValue()), run, info: fc.oneof(fc.record({ kind: text }), fc.jsonValue()) };
const trace = fc.record({ ...carrier, nodes: fc.jsonValue() }, { requiredKeys: ['nodes'] });
const episode = fc.record(
  { ...carrier, traces: fc.array(fc.oneof(trace, fc.jsonValue()), { maxLength: 3 }) },
  { requiredKeys: ['traces'] },
);

test('the walk that classifies a line keeps what a walk for the facts alone finds', () => {
  let kept = 0;
  fc.assert(
    fc.property(fc.oneof(episode, trace), fc.boolean(), (value, spaced) => {
      const bytes = Buffer.from(`${JSON.stringify(value, null, spaced ? ' ' : undefined).replaceAll('\n', '')}\n`);
      const classifier = new LineClassifier({ file: 'f', chunk: 0, lenient: false, maxLineBytes: 1e6 });
      const line = { offset: 7, length: bytes.length, terminated: true, lineNumber: 1, bytes };
      for (const record of classifier.classify(line).records) {
        const format = record.unit === 'trace' ? 'trace' : 'episode';
        expect(factsOf(record, format)).toEqual(readFacts(record.bytes, format));
        if (record.root !== undefined) kept += 1;
      }
    }),
    { numRuns: 500, seed: 3 },
  );
  expect(kept).toBeGreaterThan(450);
});

test('behind a byte order mark, and for a fault inside a trace, the line is walked once more', () => {
  const classify = (text: string, offset: number) => {
    const bytes = Buffer.from(text);
    const line = { offset, length: bytes.length, terminated: true, lineNumber: 1, bytes };
    return new LineClassifier({ file: 'f', chunk: 0, lenient: false, maxLineBytes: 1e6 }).classify(line).records[0];
  };
  const marked = classify('\ufeff{"id":"a","traces":[{"id":"t"}]}\n', 0);
  expect(marked?.root).toBeUndefined();
  expect(marked === undefined ? null : factsOf(marked, 'episode')?.traces[0]?.id).toBe('t');
  const faulty = classify('{"id":"a","traces":[{"id":nulx}]}\n', 0);
  expect(faulty).toMatchObject({ unit: 'episode' });
  expect(faulty?.root).toBeUndefined();
  expect(faulty === undefined ? undefined : factsOf(faulty, 'episode')).toBeNull();
});
