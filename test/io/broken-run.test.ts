/** The generators of large inputs against the reader of runs: what they say they wrote is what it finds. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Damage } from '../../src/core/scan/types.js';
import { openRun } from '../../src/io/run.js';
import { RunIndex } from '../../src/io/run-index.js';
import { damageSeenBy, type ExpectedDamage, recordsSeenBy, writeBrokenRun } from '../helpers/broken-run.js';
import { readRun, textOf } from '../helpers/read-run.js';
import { SHAPES, shapeLines, writeLongLine, writeShapeRun } from '../helpers/shapes.js';
import { tempFolder } from '../helpers/temp-folder.js';

type Place = { readonly chunk: number; readonly offset: number };

const byPlace = (a: Place, b: Place): number => a.chunk - b.chunk || a.offset - b.offset;

function placeOf({ chunk, offset, bytes, kind, recovered }: Damage): ExpectedDamage {
  return { chunk, offset, bytes, kind, recovered };
}

/** The rows and the damage of an index made on this thread. */
async function indexOf(directory: string, isStrict: boolean): Promise<{ rows: Place[]; damage: Damage[] }> {
  const pieces: Buffer[] = [];
  const index = new RunIndex({
    run: await openRun(directory),
    target: { kind: 'rows', write: async (bytes) => void pieces.push(Buffer.from(bytes)) },
    jobs: 1,
    tokens: 'auto',
    mode: null,
    isStrict,
    subset: 'all',
    environment: null,
    onNotice: () => {},
  });
  const { streams } = await index.run(new AbortController().signal);
  const rows = Buffer.concat(pieces).toString().trimEnd().split('\n');
  return {
    rows: rows.map((row) => JSON.parse(row) as Place).map(({ chunk, offset }) => ({ chunk, offset })),
    damage: streams.flatMap(({ damaged, torn }) => (torn === null ? damaged : [...damaged, torn])),
  };
}

function filesOf(directory: string): Buffer[] {
  return globSync('monitors/**/*.jsonl*', { cwd: directory })
    .sort()
    .map((name) => readFileSync(join(directory, name)));
}

describe('a run with every kind of damage at known places (I4, I8, R32)', () => {
  test.each([1, 2, 3])('readRecords reports each and gives every other record, seed %i', async (seed) => {
    const directory = tempFolder();
    const run = writeBrokenRun(directory, { seed });
    const { records, damage } = await readRun(directory);
    expect(damage.map(placeOf).sort(byPlace)).toEqual(damageSeenBy(run, 'records'));
    expect(records.map(({ chunk, offset, length }) => ({ chunk, offset, bytes: length }))).toEqual(
      recordsSeenBy(run, 'records'),
    );
  });

  test.each([
    ['index', false],
    ['strict', true],
  ] as const)('%s: an index reports each and has a row for every other record', async (reader, isStrict) => {
    const directory = tempFolder();
    const run = writeBrokenRun(directory);
    const { rows, damage } = await indexOf(directory, isStrict);
    expect(damage.map(placeOf).sort(byPlace)).toEqual(damageSeenBy(run, reader));
    expect(rows).toEqual(recordsSeenBy(run, reader).map(({ chunk, offset }) => ({ chunk, offset })));
  });

  test('what readers see differs where it must: payloads are looked at by --strict alone', () => {
    const run = writeBrokenRun(tempFolder());
    const seen = (['records', 'index', 'strict'] as const).map((reader) => damageSeenBy(run, reader));
    // 26 for everyone but one in a payload's UTF-8; 3 on the paths of rows; 3 in payloads.
    expect(seen.map((damage) => damage.length)).toEqual([26, 28, 32]);
    const strict = new Set(seen[2]?.map(({ chunk, offset }) => `${chunk} ${offset}`));
    expect(seen.flat().every(({ chunk, offset }) => strict.has(`${chunk} ${offset}`))).toBe(true);
  });

  test('same seed, same bytes and places', () => {
    const [first, second] = [tempFolder(), tempFolder()];
    expect(writeBrokenRun(first, { seed: 7 })).toEqual(writeBrokenRun(second, { seed: 7 }));
    expect(filesOf(first)).toHaveLength(4);
    expect(filesOf(first).every((bytes, index) => bytes.equals(filesOf(second)[index] as Buffer))).toBe(true);
  });
});

describe('runs of the measured shapes', () => {
  test.each(SHAPES.flatMap((shape) => [[shape, false] as const, [shape, true] as const]))(
    'shape %s, sealed %s: the lines of the seed, and nothing else',
    async (shape, sealed) => {
      const directory = tempFolder();
      const bytes = 600_000;
      const written = writeShapeRun(directory, {
        shape,
        bytes,
        chunkBytes: 250_000,
        sealed,
        seed: 5,
        annotations: true,
      });
      const { run, records, damage } = await readRun(directory);
      const lines = [...shapeLines(shape, bytes, 5)];
      expect(damage).toEqual([]);
      expect(textOf(records)).toBe(Buffer.concat(lines).toString());
      expect(written).toMatchObject({ episodes: lines.length, bytes: Buffer.concat(lines).length });
      expect(run.files.map(({ path }) => path)).toEqual(written.chunks);
      expect(filesOf(directory).length).toBeGreaterThan(run.files.length);
    },
  );

  test.each(SHAPES)('shape %s: every line is an episode whose ids are its own', (shape) => {
    const ids = new Set<string>();
    let lines = 0;
    for (const line of shapeLines(shape, 300_000)) {
      const episode = JSON.parse(line.toString()) as { id: string; traces: { id: string; nodes: unknown[] }[] };
      ids.add(episode.id);
      for (const trace of episode.traces) expect(trace.nodes.length).toBeGreaterThan(1);
      lines += 1;
    }
    expect(ids.size).toBe(lines);
  });

  test('a long line has about the bytes that were asked for', async () => {
    const path = join(tempFolder(), 'long.jsonl');
    const bytes = writeLongLine(path, 'A', 3_000_000);
    expect(Math.abs(bytes / 3_000_000 - 1)).toBeLessThan(0.02);
    const { records, damage } = await readRun(path);
    expect([records.map(({ length }) => length), damage]).toEqual([[bytes], []]);
  });
});
