/** Segments: however a chunk is cut, its rows, its damage and its sums are those of the whole (I1, I4). */
import { readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openRun } from '../../src/io/run.js';
import { damageSeenBy, recordsSeenBy, writeBrokenRun } from '../helpers/broken-run.js';
import { readRun } from '../helpers/read-run.js';
import { type Scanned, scanInSegments, USUAL_SETTINGS } from '../helpers/scan-in-segments.js';
import { compressFrames, seal, seekTable } from '../helpers/seal.js';
import { shapeLines } from '../helpers/shapes.js';
import { tempFolder } from '../helpers/temp-folder.js';

const SIZES = [97, 1000, 4096, 30_000];
const STRICT = { ...USUAL_SETTINGS, isStrict: true };

const placed = ({ damage }: Pick<Scanned, 'damage'>) =>
  damage.map(({ chunk, offset, bytes, kind, recovered }) => ({ chunk, offset, bytes, kind, recovered }));

/** As the engine reads it; odd literals, of which these files have none, apart. */
function stepOf(record: Buffer): number {
  const episode = JSON.parse(record.toString().replace(/\bNaN\b|-?\bInfinity\b/g, 'null'));
  const { info } = episode.traces === undefined ? episode : (episode.traces?.[0] ?? {});
  return info?.arrival?.step ?? Number.NaN;
}

const RUNS = readdirSync('fixtures/runs').filter((name) => name !== 'v0-results');
const DAMAGED = readdirSync('fixtures/damaged').filter(
  (name) => name !== 'README.md' && name !== 'index-as-stream.jsonl',
);

describe.each([...RUNS.map((name) => `fixtures/runs/${name}`), ...DAMAGED.map((name) => `fixtures/damaged/${name}`)])(
  '%s',
  (path) => {
    test('finds what reading line by line finds', async () => {
      const run = await openRun(path);
      const read = await readRun(path);
      const scanned = await scanInSegments(run.files, Number.POSITIVE_INFINITY, STRICT);
      const found = read.damage.filter(({ kind }) => kind !== 'hole');
      expect(scanned.damage).toEqual(found);
      expect(scanned.counts.records).toBe(read.records.length);
      const offsets = scanned.rows
        .split('\n')
        .slice(0, -1)
        .map((row) => JSON.parse(row).offset);
      expect(offsets).toEqual(read.records.map(({ offset }) => offset));
      expect(scanned.steps).toEqual(read.records.map(({ bytes }) => stepOf(bytes)));
    });

    test.each(SIZES)('is the same in segments of %i bytes', async (segmentBytes) => {
      const { files } = await openRun(path);
      expect(await scanInSegments(files, segmentBytes)).toEqual(await scanInSegments(files, Number.POSITIVE_INFINITY));
    });
  },
);

describe('a run broken in every way', () => {
  const withoutHoles = (damage: ReturnType<typeof damageSeenBy>) => damage.filter(({ kind }) => kind !== 'hole');

  test.each([Number.POSITIVE_INFINITY, 1000, 100_000])(
    'has its damage named, in segments of %d bytes',
    async (size) => {
      const directory = tempFolder();
      const broken = writeBrokenRun(directory, { bytes: 4_194_304 });
      const { files } = await openRun(directory);
      const scanned = await scanInSegments(files, size);
      expect(placed(scanned)).toEqual(withoutHoles(damageSeenBy(broken, 'index')));
      expect(scanned.counts.records).toBe(recordsSeenBy(broken, 'index').length);
      const strict = await scanInSegments(files, size, STRICT);
      expect(placed(strict)).toEqual(withoutHoles(damageSeenBy(broken, 'strict')));
      expect(strict.counts.records).toBe(recordsSeenBy(broken, 'strict').length);
    },
  );
});

describe('what cannot be read', () => {
  const lines = Buffer.concat([...shapeLines('C', 60_000)]);

  /** A sealed file with small frames, some of them spoilt. */
  function sealedWith(spoilt: readonly number[], frameBytes = 1500): string {
    const frames = compressFrames(lines, { frameBytes });
    const sizes = frames.map((frame, index) => ({
      compressedBytes: frame.length,
      bytes: Math.min(frameBytes, lines.length - index * frameBytes),
    }));
    for (const index of spoilt) (frames[index] as Buffer).fill(0xff, 6);
    const path = join(tempFolder(), '00000.jsonl.zst');
    writeFileSync(path, Buffer.concat([...frames, seekTable(sizes)]));
    return path;
  }

  test.each([[[0]], [[3]], [[3, 4]], [[3, 5]], [[3, 4, 5, 9, 10, 20]], [[1000]]])(
    'frames %j: the same however it is cut, and as read line by line',
    async (indexes) => {
      const all = Math.ceil(lines.length / 1500);
      const path = sealedWith(indexes.map((index) => Math.min(index, all - 1)));
      const { files } = await openRun(path);
      const whole = await scanInSegments(files, Number.POSITIVE_INFINITY);
      expect(whole.damage).toEqual((await readRun(path)).damage);
      expect(whole.damage.length).toBeGreaterThan(0);
      const { records: _records, ...bytes } = whole.counts;
      expect(Object.values(bytes).reduce((sum, one) => sum + one, 0)).toBe(lines.length);
      for (const size of [500, 1500, 3000, 7000]) expect(await scanInSegments(files, size), `${size}`).toEqual(whole);
    },
  );

  test('a file that is cut while it is read loses what is gone, and no byte twice', async () => {
    const path = join(tempFolder(), 'run.jsonl');
    writeFileSync(path, lines);
    const { files } = await openRun(path);
    truncateSync(path, 41_234);
    const whole = await scanInSegments(files, Number.POSITIVE_INFINITY);
    expect(whole.damage).toEqual([expect.objectContaining({ kind: 'unreadable' })]);
    for (const size of SIZES) expect(await scanInSegments(files, size), `${size}`).toEqual(whole);
  });
});

test('lines and frames that end exactly where a segment does', async () => {
  const line = `{"id":"a","env":{"id":"e"},"ok":true,"errors":[],"traces":[]}\n`;
  const content = Buffer.from(line.repeat(40));
  const plain = join(tempFolder(), 'plain.jsonl');
  const sealed = join(tempFolder(), 'sealed.jsonl.zst');
  writeFileSync(plain, content);
  writeFileSync(sealed, seal(content, { frameBytes: line.length * 2 }));
  for (const path of [plain, sealed]) {
    const { files } = await openRun(path);
    const whole = await scanInSegments(files, Number.POSITIVE_INFINITY);
    expect(whole.counts.records).toBe(40);
    for (let size = 1; size < line.length * 3; size += 1) {
      expect(await scanInSegments(files, size), `${path} ${size}`).toEqual(whole);
    }
  }
  expect(readFileSync(plain).length).toBe(content.length);
});
