/** The monitor on a disk that runs full: what is told is true, what was confirmed stays, and it goes on with room. */
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { LogError } from '../../src/monitor/log-error.js';
import { checkIndexes, episodeOf, idsOf, openMonitor, rowsOf, tracesOf } from '../helpers/monitored-run.js';
import { CAN_MOUNT, smallDisk } from '../helpers/small-disk.js';
import { tempFolder, writeTree } from '../helpers/temp-folder.js';

const KIB = 1024;
const TRAIN = { step: 5, kind: 'train' } as const;
const PLAIN = { compress: false } as const;

const small = (id: string): object => episodeOf(id);
const large = (id: string): object => episodeOf(id, ['x'.repeat(200 * KIB), 'y']);

describe.skipIf(!CAN_MOUNT)('U6, R39: a full disk', () => {
  test('costs the call that meets it: its receipt says what is written, and later calls are tried', async () => {
    const disk = smallDisk(100 * KIB);
    const { monitor, run, notices } = await openMonitor(PLAIN, join(disk.path, 'run'));
    await monitor.log(small('a'), TRAIN);
    const calls = [
      monitor.log([small('b'), large('c'), small('d')], TRAIN),
      monitor.log(small('e'), TRAIN),
      monitor.log(large('f'), TRAIN),
    ];
    const [first, second, third] = await Promise.allSettled(calls);
    const error = (first as PromiseRejectedResult).reason as LogError;
    expect(error).toMatchObject({
      code: 'PRL_ERR_LIMIT',
      message: expect.stringMatching(/00000\.jsonl.*no room.*[12] of 3 records were written$/),
      hint: expect.stringContaining('make room'),
      refused: [],
    });
    expect(second).toMatchObject({ status: 'fulfilled' });
    expect(third).toMatchObject({ reason: { code: 'PRL_ERR_LIMIT', receipt: { records: [] } } });
    // Whether the third record of the first call was tried is a matter of time; its receipt says it.
    const confirmed = error.receipt.records.map(({ id }) => id);
    expect([['b'], ['b', 'd']]).toContainEqual(confirmed);
    expect(await idsOf(run)).toEqual(['a', ...confirmed, 'e']);
    expect(notices.map(({ kind }) => kind)).toEqual(['failed', 'failed']);
    const { writtenEpisodes, failed, queuedEpisodes } = monitor.snapshot();
    expect([writtenEpisodes, writtenEpisodes + failed, queuedEpisodes]).toEqual([2 + confirmed.length, 6, 0]);
    disk.grow(4096 * KIB);
    await monitor.log([large('c'), large('f')], TRAIN);
    await monitor.finalize();
    expect(await idsOf(run)).toEqual(['a', ...confirmed, 'e', 'c', 'f']);
    expect(await checkIndexes(run)).toMatchObject([{ ok: true, counts: {}, rows: 4 + confirmed.length }]);
  });

  test('that the index alone is on keeps its rows back: they are told, and follow when there is room', async () => {
    const disk = smallDisk(8 * KIB);
    const run = join(tempFolder(), 'run');
    writeTree(tracesOf(run), { 'stream/': '' });
    writeFileSync(join(disk.path, 'index'), '');
    symlinkSync(join(disk.path, 'index'), join(tracesOf(run), 'stream.index.jsonl'));
    const { monitor } = await openMonitor(PLAIN, run);
    const ids = Array.from({ length: 60 }, (_, index) => `e${index}`);
    const outcomes = await Promise.allSettled(ids.map((id) => monitor.log(small(id), TRAIN)));
    const isSaved = outcomes.map(({ status }) => status === 'fulfilled');
    const firstLost = isSaved.indexOf(false);
    expect(firstLost).toBeGreaterThan(5);
    for (const [index, outcome] of outcomes.slice(firstLost).entries()) {
      // All are in the stream; what is missing are their rows.
      expect(outcome).toMatchObject({
        reason: {
          code: 'PRL_ERR_LIMIT',
          message: expect.stringMatching(/stream\.index\.jsonl|index.* no room.*1 of 1 records were written$/),
          receipt: { records: [{ id: ids[firstLost + index], line: firstLost + index + 1 }] },
        },
      });
    }
    expect(await idsOf(run)).toEqual(ids);
    expect(rowsOf(run).length).toBeLessThanOrEqual(firstLost);
    await expect(monitor.flush()).rejects.toMatchObject({ code: 'PRL_ERR_LIMIT' });
    disk.grow(1024 * KIB);
    await monitor.log(small('last'), TRAIN);
    await monitor.finalize();
    expect(rowsOf(run).map(({ id }) => id)).toEqual([...ids, 'last']);
    expect(await checkIndexes(run)).toMatchObject([{ ok: true, counts: {}, rows: 61, rebuilt: 61 }]);
  });
});
