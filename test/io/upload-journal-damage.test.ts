/**
 * Demand U5, R01, R03: whatever becomes of the journal, the next upload ends right, with one warning at most and nothing
 * stored twice, and the one after it is quiet and sends nothing. Real files, the real service.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { type EmbeddedService, startEmbedded } from '../helpers/embedded-service.js';
import { CALL_STRIDE } from '../helpers/every-call.js';
import { seededRandom } from '../helpers/generated-run.js';
import { uploadRun } from '../helpers/run-upload.js';
import { tempFolder, writeTree } from '../helpers/temp-folder.js';
import { storedEpisodes } from '../helpers/upload-command.js';

const RUN_ID = 'damaged-state';
const CHUNK = 'monitors/file/traces/stream/00000.jsonl';
const PAGE_BYTES = 4_096;
let service: EmbeddedService;
let root = '';

beforeEach(async () => {
  service = await startEmbedded();
  onTestFinished(() => service.close());
  root = join(tempFolder(), 'run');
});

const journal = (): string => join(root, 'monitors/prl/journal');
const ids = (count: number): string[] => Array.from({ length: count }, (_, index) => `e${index + 100}`);

function episode(id: string): string {
  return `${JSON.stringify({ id, env: { id: 'e' }, run: { type: 'eval', id: RUN_ID }, traces: [] })}\n`;
}

const text = (episodes: number): string => `{"id":"torn\n${ids(episodes).map(episode).join('')}`;

/** Uploads a run of a torn line and so many episodes; returns its journal. */
async function finish(episodes: number, targetBytes = 4_000): Promise<Buffer> {
  writeTree(root, { [CHUNK]: text(episodes) });
  await uploadRun({ root, service, targetBytes });
  return readFileSync(journal());
}

type Ending = { readonly notices: readonly string[]; readonly already: number; readonly sent: number };

async function upload(targetBytes = 4_000): Promise<Ending> {
  const notices: string[] = [];
  const outcome = await uploadRun({ root, service, targetBytes, onNotice: (notice) => void notices.push(notice) });
  const { stopped, damaged, rejected, already, sent } = outcome;
  expect({ stopped, rejected, damages: damaged.length }).toEqual({ stopped: null, rejected: [], damages: 1 });
  return { notices, already: already.episodes, sent: sent.episodes };
}

/** An upload with whatever stands in the place of the journal. */
async function expectRight(episodes: number, targetBytes?: number): Promise<Ending> {
  const ending = await upload(targetBytes);
  expect(ending.already + ending.sent).toBe(episodes);
  expect(ending.notices.length).toBeLessThanOrEqual(1);
  return ending;
}

/** The same, and another upload after it. */
async function expectMended(episodes: number, targetBytes?: number): Promise<Ending> {
  const ending = await expectRight(episodes, targetBytes);
  expect(await upload(targetBytes)).toEqual({ notices: [], already: episodes, sent: 0 });
  return ending;
}

/** What was set aside, which is kept for people. */
function takeAside(): string[] {
  const names = readdirSync(join(root, 'monitors/prl')).filter((name) => name !== 'journal');
  for (const name of names) rmSync(join(root, 'monitors/prl', name));
  return names;
}

describe('the journal of two episodes and a torn line', () => {
  test('with a byte flipped, one after the other', { timeout: 120_000 }, async () => {
    const whole = await finish(2);
    const random = seededRandom(1);
    for (let at = 0; at < whole.length; at += CALL_STRIDE) {
      const damaged = Buffer.from(whole);
      damaged[at] = (damaged[at] as number) ^ (1 << Math.floor(random() * 8));
      writeFileSync(journal(), damaged);
      const { sent } = await (at % 16 === 0 ? expectMended(2) : expectRight(2));
      expect({ at, sent }).toEqual({ at, sent: 0 });
      takeAside();
    }
    expect(storedEpisodes(service, RUN_ID)).toEqual(ids(2));
  });

  test('cut at every third offset, down to nothing', { timeout: 120_000 }, async () => {
    const whole = await finish(2);
    for (let length = whole.length - 1; length >= 0; length -= 3) {
      writeFileSync(journal(), whole.subarray(0, length));
      const { sent, notices } = await (length % 8 === 0 ? expectMended(2) : expectRight(2));
      // A torn end is what any kill leaves: no reason for a word.
      expect({ length, sent, notices, aside: takeAside() }).toEqual({ length, sent: 0, notices: [], aside: [] });
    }
    expect(storedEpisodes(service, RUN_ID)).toEqual(ids(2));
  });
});

test('any page of a long journal zeroed: what stands before it counts, the rest is found at the service', async () => {
  const whole = await finish(120, 400);
  const pages = Math.ceil(whole.length / PAGE_BYTES);
  expect(pages).toBeGreaterThan(5);
  for (let page = 0; page < pages; page += 1) {
    const damaged = Buffer.from(whole);
    damaged.subarray(page * PAGE_BYTES, (page + 1) * PAGE_BYTES).fill(0);
    writeFileSync(journal(), damaged);
    const { sent, notices } = await expectMended(120, 400);
    expect({ page, sent, aside: takeAside().length }).toEqual({ page, sent: 0, aside: notices.length });
    if (page < pages - 1) expect(notices).toEqual([expect.stringContaining('the journal is damaged')]);
  }
  expect(storedEpisodes(service, RUN_ID)).toEqual(ids(120));
});

test('R03: rolled back to any earlier state nothing is sent again, and of a run that has grown since what is new', async () => {
  const copies: Buffer[] = [];
  for (let episodes = 1; episodes <= 12; episodes += 1) copies.push(await finish(episodes, 200));
  for (const old of copies) {
    writeFileSync(journal(), old);
    expect(await expectMended(12, 200)).toEqual({ notices: [], already: 12, sent: 0 });
  }
  writeFileSync(journal(), copies[3] as Buffer);
  writeTree(root, { [CHUNK]: text(13) });
  expect(await upload(200)).toEqual({ notices: [], already: 12, sent: 1 });
  expect(storedEpisodes(service, RUN_ID)).toEqual(ids(13));
});

test('R03: newer than the run, which came back from a copy and grows again: nothing is stored twice', async () => {
  await finish(8, 200);
  writeTree(root, { [CHUNK]: text(5) });
  expect(await upload(200)).toMatchObject({ already: 5, sent: 0 });
  writeTree(root, { [CHUNK]: text(9) });
  expect(await upload(200)).toMatchObject({ already: 8, sent: 1 });
  expect(await upload(200)).toEqual({ notices: [], already: 9, sent: 0 });
  expect(storedEpisodes(service, RUN_ID)).toEqual(ids(9));
});

describe('in the place of the journal', () => {
  const version = (number: number): Buffer => {
    const header = Buffer.alloc(16);
    header.write('prljrnl\n');
    header.writeUInt32LE(number, 8);
    header.writeUInt32LE(crc32(header.subarray(0, 12)), 12);
    return header;
  };
  const random = seededRandom(7);

  test.each<[string, Buffer, number]>([
    ['nothing', Buffer.alloc(0), 0],
    ['a page of zeros', Buffer.alloc(PAGE_BYTES), 0],
    ['a journal of version 2', version(2), 1],
    ['a journal of version 0 with something in it', Buffer.concat([version(0), Buffer.from('x'.repeat(100))]), 1],
    ['another file', Buffer.from('my diary\n'), 1],
    ['noise', Buffer.from(Array.from({ length: 5_000 }, () => Math.floor(random() * 256))), 1],
  ])('%s', async (_what, bytes, warnings) => {
    await finish(6, 200);
    writeFileSync(journal(), bytes);
    const { sent, notices } = await expectMended(6, 200);
    expect({ sent, warned: notices.length, aside: takeAside().length }).toEqual({
      sent: 0,
      warned: warnings,
      aside: warnings,
    });
    expect(storedEpisodes(service, RUN_ID)).toEqual(ids(6));
  });

  test('a directory: the upload goes on without a journal, and says so each time', async () => {
    await finish(6, 200);
    rmSync(journal());
    mkdirSync(journal());
    for (const _time of [1, 2]) {
      const { sent, notices } = await expectRight(6, 200);
      expect({ sent, notices }).toEqual({ sent: 0, notices: [expect.stringContaining('the journal is not kept')] });
    }
    expect(storedEpisodes(service, RUN_ID)).toEqual(ids(6));
  });
});
