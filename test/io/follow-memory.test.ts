/** A line of any length costs a follower no memory until it is whole, and none then if it is over the cap (T3, T12, R38). */
import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { FollowProcess } from '../helpers/follow-process.js';
import { episodeLine } from '../helpers/read-run.js';
import { tempFolder, writeTree } from '../helpers/temp-folder.js';

const MIB = 1_048_576;
const CHUNK = 'monitors/file/traces/stream/00000.jsonl';
const HEAD = '{"id":"long","traces":[],"text":"';
const PART = Buffer.alloc(MIB, 'x');

function growingRun(): { run: string; append: (part: string | Buffer) => void; end: () => void } {
  const run = writeTree(tempFolder(), { [CHUNK]: episodeLine('first') });
  const file = openSync(join(run, CHUNK), 'a');
  return {
    run,
    append: (part) => void writeSync(file, part as Buffer),
    end: () => closeSync(file),
  };
}

/** Waits until the open line is told to be as long. */
async function untilSeen(child: FollowProcess, bytes: number): Promise<void> {
  await child.until((told) => told.all('growing').some((event) => event.bytes === bytes));
}

describe('peak memory of a process that follows', { timeout: 120_000 }, () => {
  test('a line of 560 MB that grows without an end, then has one: 100 lines behind it are told', async () => {
    const { run, append, end } = growingRun();
    const child = new FollowProcess(run, { pollMs: 50 });
    append(HEAD);
    for (let count = 1; count <= 560; count += 1) {
      append(PART);
      if (count % 80 === 0) await untilSeen(child, HEAD.length + count * MIB);
    }
    expect(child.ids).toEqual(['first']);
    const ids = Array.from({ length: 100 }, (_, index) => `line-${index}`);
    append(`"}\n${ids.map((id) => episodeLine(id)).join('')}`);
    await child.until((told) => told.ids.length === 101);
    expect(child.ids).toEqual(['first', ...ids]);
    expect(child.all('damage')).toMatchObject([
      { damage: { kind: 'line_too_large', offset: episodeLine('first').length, bytes: HEAD.length + 560 * MIB + 3 } },
    ]);
    end();
    expect(await child.end()).toBeLessThan(200 * MIB);
  });

  test('a line of 64 MiB that is written slowly is one record', async () => {
    const { run, append, end } = growingRun();
    const child = new FollowProcess(run, { pollMs: 20 });
    append(HEAD);
    for (let count = 1; count <= 63; count += 1) {
      append(PART.subarray(0, MIB / 2));
      if (count % 10 === 0) await untilSeen(child, HEAD.length + (count - 0.5) * MIB);
      append(PART.subarray(MIB / 2));
    }
    const rest = MIB - HEAD.length - '"}'.length;
    append(PART.subarray(0, rest));
    append('"}');
    await untilSeen(child, 64 * MIB);
    append('\n');
    await child.until((told) => told.ids.length === 2);
    expect(child.all('record')[1]).toMatchObject({ id: 'long', length: 64 * MIB + 1 });
    expect(child.all('damage')).toEqual([]);
    end();
    // The line itself, gathered in a buffer that grows by doubling, and once more for the receiver.
    expect(await child.end()).toBeLessThan(400 * MIB);
  });
});
