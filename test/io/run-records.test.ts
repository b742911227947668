import { closeSync, openSync, readdirSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { episodeLine, readRun, textOf } from '../helpers/read-run.js';
import { tempFolder } from '../helpers/temp-folder.js';

const DAMAGED = join(import.meta.dirname, '../../fixtures/damaged');
/** The three episodes the damaged inputs were made of: their lines in the real file they came from. */
const SOURCE = readFileSync(join(DAMAGED, '../runs/verifiers-eval/traces.jsonl'))
  .toString()
  .split(/(?<=\n)/);

/** Line lengths of the three, as the README of the damaged inputs names them: plain, no-trace, length. */
const PLAIN = SOURCE[0] as string;
const NO_TRACE = SOURCE[8] as string;
const LENGTH = SOURCE[3] as string;
const [P, N, L] = [PLAIN, NO_TRACE, LENGTH].map((line) => Buffer.byteLength(line)) as [number, number, number];

type Expected = { readonly records: readonly string[]; readonly damage: readonly unknown[][] };

/** What each damaged input gives: the exact records, and damage as [kind, chunk, offset, bytes, recovered]. */
const CORPUS: Readonly<Record<string, Expected>> = {
  'empty.jsonl': { records: [], damage: [] },
  'torn-tail.jsonl': { records: [PLAIN, NO_TRACE], damage: [['torn', 0, P + N, 1000, false]] },
  'glued-line.jsonl': { records: [PLAIN, NO_TRACE], damage: [['glued', 0, 0, 1000, true]] },
  'blank-lines.jsonl': { records: [PLAIN, NO_TRACE], damage: [] },
  'nul-run.jsonl': { records: [PLAIN, NO_TRACE], damage: [['nul', 0, P, 513, false]] },
  'nul-tail.jsonl': { records: [PLAIN], damage: [['nul', 0, P, 512, false]] },
  'bom.jsonl': { records: [PLAIN, NO_TRACE], damage: [['bom', 0, 0, 3, true]] },
  'invalid-utf8.jsonl': { records: [PLAIN, LENGTH], damage: [['invalid_utf8', 0, P, N, false]] },
  'crlf.jsonl': { records: [PLAIN, NO_TRACE].map((line) => line.replace('\n', '\r\n')), damage: [] },
  'duplicate-ids.jsonl': { records: [PLAIN, PLAIN], damage: [] },
  'plain-content.jsonl.zst': { records: [PLAIN, NO_TRACE], damage: [] },
  'no-frames.jsonl.zst': { records: [], damage: [] },
  'no-table.jsonl.zst': { records: [PLAIN, NO_TRACE, LENGTH], damage: [] },
  'leading-skippable.jsonl.zst': { records: [PLAIN, NO_TRACE, LENGTH], damage: [] },
  'checksum-table.jsonl.zst': { records: [PLAIN, NO_TRACE, LENGTH], damage: [] },
  'reserved-bits.jsonl.zst': { records: [PLAIN, NO_TRACE, LENGTH], damage: [] },
  'short-table.jsonl.zst': { records: [PLAIN, NO_TRACE, LENGTH], damage: [] },
  'truncated-frame.jsonl.zst': {
    records: [PLAIN, NO_TRACE],
    damage: [['corrupt_frame', 0, P + N, 16_384 - P - N, false]],
  },
  // Frame 1 covers bytes 4096 to 8192: the second line ends in it, and the third begins in it.
  'corrupt-frame.jsonl.zst': { records: [PLAIN], damage: [['corrupt_frame', 0, P, N + L, false]] },
  'glued-run': { records: [PLAIN, NO_TRACE], damage: [['glued', 0, P, 1000, true]] },
  'crash-run': { records: [PLAIN, NO_TRACE], damage: [['hole', 1, 0, 0, false]] },
};

describe('damaged inputs made from real episodes (I4, R32)', () => {
  test.each(Object.entries(CORPUS))('%s', async (name, expected) => {
    const { records, damage } = await readRun(join(DAMAGED, name));
    expect(damage.map((one) => [one.kind, one.chunk, one.offset, one.bytes, one.recovered])).toEqual(expected.damage);
    const texts = records.map((record) => record.bytes.toString());
    // The third line of the duplicates is no line of the source; it is checked by its ids.
    expect(texts.slice(0, expected.records.length)).toEqual(expected.records);
    expect(texts).toHaveLength(expected.records.length + (name === 'duplicate-ids.jsonl' ? 1 : 0));
  });

  test('two objects on one line are both read, each at its offset', async () => {
    const { records, damage } = await readRun(join(DAMAGED, 'two-objects.jsonl'));
    expect(records.map(({ offset, lineNumber }) => [offset, lineNumber])).toEqual([
      [0, 1],
      [P, 1],
      [P + N, 2],
    ]);
    expect(textOf(records)).toBe(`${PLAIN.trimEnd()} ${NO_TRACE}${LENGTH}`);
    expect(damage).toMatchObject([{ kind: 'glued', offset: 0, bytes: 0, recovered: true }]);
  });

  test('bare traces are records of their own unit; in a file of episodes they are damage', async () => {
    const bare = await readRun(join(DAMAGED, 'bare-traces.jsonl'));
    expect(bare.records.map((record) => record.unit)).toEqual(['trace', 'trace']);
    const mixed = await readRun(join(DAMAGED, 'mixed-units.jsonl'));
    expect(mixed.records.map((record) => record.unit)).toEqual(['episode', 'episode']);
    expect(mixed.damage).toMatchObject([{ kind: 'wrong_unit', offset: P }]);
    const lenient = await readRun(join(DAMAGED, 'mixed-units.jsonl'), { lenient: true });
    expect(lenient.records.map((record) => record.unit)).toEqual(['episode', 'trace', 'episode']);
  });

  test('every damaged input of the folder has its outcome here', () => {
    const elsewhere = [
      'README.md',
      'two-objects.jsonl',
      'bare-traces.jsonl',
      'mixed-units.jsonl',
      'index-as-stream.jsonl',
    ];
    expect(readdirSync(DAMAGED).sort()).toEqual([...Object.keys(CORPUS), ...elsewhere].sort());
  });

  test('a real run cut at any byte of its last record gives the others and one torn tail (R32)', async () => {
    const whole = Buffer.from(PLAIN + NO_TRACE);
    const path = join(tempFolder(), 'cut.jsonl');
    for (let cut = P + 1; cut < whole.length - 1; cut += 13) {
      writeFileSync(path, whole.subarray(0, cut));
      const { records, damage, summaries } = await readRun(path);
      expect(textOf(records)).toBe(PLAIN);
      expect(damage).toMatchObject([{ kind: 'torn', offset: P, bytes: cut - P }]);
      expect(summaries[0]?.summary.openLineOffset).toBe(P);
    }
    writeFileSync(path, whole.subarray(0, -1));
    const unended = await readRun(path);
    expect(unended.records.map((record) => record.length)).toEqual([P, N - 1]);
    expect(unended.damage).toEqual([]);
    expect(unended.summaries[0]?.summary.openLineOffset).toBe(P);
  });
});

describe('lines over the cap (R38, R51, A15)', () => {
  test('a line of 65 MiB between small ones costs itself', async () => {
    const path = join(tempFolder(), 'big.jsonl');
    const file = openSync(path, 'w');
    writeSync(file, `${episodeLine('a')}{"id":"big","traces":["`);
    for (let part = 0; part < 65; part += 1) writeSync(file, Buffer.alloc(1_048_576, 'x'));
    writeSync(file, `"]}\n${episodeLine('b')}`);
    closeSync(file);
    const { records, damage } = await readRun(path);
    expect(textOf(records)).toBe(episodeLine('a') + episodeLine('b'));
    expect(records.map((record) => record.lineNumber)).toEqual([1, 3]);
    const bytes = 65 * 1_048_576 + 27;
    expect(damage).toMatchObject([{ kind: 'line_too_large', offset: episodeLine('a').length, bytes }]);
    expect(damage[0]?.message).toBe(`a line of ${bytes - 1} bytes, over the cap of 67108864`);
    const raised = await readRun(path, { maxLineBytes: 100_000_000 });
    expect(raised.records.map((record) => record.length)).toEqual([
      episodeLine('a').length,
      bytes,
      episodeLine('b').length,
    ]);
  });

  test('the cap counts CR and not LF (A39)', async () => {
    const path = join(tempFolder(), 'cap.jsonl');
    const content = episodeLine('a').trimEnd();
    writeFileSync(path, `${content}\n${content}\r\n${content}`);
    const { records, damage } = await readRun(path, { maxLineBytes: content.length });
    expect(records.map((record) => record.lineNumber)).toEqual([1, 3]);
    expect(damage).toMatchObject([{ kind: 'line_too_large', bytes: content.length + 2 }]);
  });
});

describe('settled ranges', () => {
  test('are not read, and what is left keeps its offsets and line numbers', async () => {
    const path = join(tempFolder(), 'x.jsonl');
    const lines = Array.from({ length: 6 }, (_, index) => episodeLine(`e${index}`));
    const width = lines[0]?.length ?? 0;
    // The settled part is not even JSON any more: reading it would be seen.
    writeFileSync(
      path,
      lines.map((line, index) => (index === 1 || index === 2 ? `${'#'.repeat(width - 1)}\n` : line)).join(''),
    );
    const skip = () => [{ start: width, end: 3 * width, lines: 2 }];
    const { records, damage, summaries } = await readRun(path, { skip });
    expect(damage).toEqual([]);
    expect(records.map(({ offset, lineNumber }) => [offset / width, lineNumber])).toEqual([
      [0, 1],
      [3, 4],
      [4, 5],
      [5, 6],
    ]);
    expect(summaries[0]?.summary.skippedBytes).toBe(2 * width);
  });
});

test('an abort ends the reading of a run with its reason', async () => {
  const controller = new AbortController();
  controller.abort(new Error('enough'));
  await expect(readRun(join(DAMAGED, 'crash-run'), { signal: controller.signal })).rejects.toThrow('enough');
});
