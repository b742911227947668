/** Uploading a run while it grows: what arrives, when it ends, and what a later upload finds (U17, U27, P6, B27). */
import { appendFileSync, cpSync, mkdirSync, readFileSync, renameSync, unlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { compileFilter } from '../../src/cli/filter-expression.js';
import { filterOf } from '../../src/cli/filter-flags.js';
import type { UploadTotals } from '../../src/core/upload/uploader.js';
import { type EmbeddedService, startEmbedded } from '../helpers/embedded-service.js';
import { type FollowedOptions, FollowedUpload } from '../helpers/followed-upload.js';
import { openBelow } from '../helpers/following.js';
import { seal } from '../helpers/seal.js';
import { tempFolder, writeTree } from '../helpers/temp-folder.js';
import { storedEpisodes } from '../helpers/upload-command.js';

const RUN_ID = 'grows';
const STREAM = 'monitors/file/traces/stream';
let service: EmbeddedService;
let root = '';

beforeEach(async () => {
  service = await startEmbedded();
  onTestFinished(() => service.close());
  root = join(tempFolder(), 'run');
  mkdirSync(join(root, STREAM), { recursive: true });
});

const start = (change: Partial<FollowedOptions> = {}): Promise<FollowedUpload> =>
  FollowedUpload.start({ root, service, ...change });
const stored = (): string[] => storedEpisodes(service, RUN_ID);
const chunkPath = (chunk: number): string => join(root, STREAM, `${String(chunk).padStart(5, '0')}.jsonl`);

/** Episodes of the run, LF included. */
function lines(...ids: string[]): string {
  const run = { type: 'train', id: RUN_ID };
  return ids
    .map((id) => {
      const traces = [{ id: `t-${id}`, nodes: [], run }];
      return `${JSON.stringify({ id, env: { id: 'e' }, run, ok: true, errors: [], traces })}\n`;
    })
    .join('');
}

function append(chunk: number, text: string): void {
  appendFileSync(chunkPath(chunk), text);
}

function sealChunk(chunk: number): void {
  const path = chunkPath(chunk);
  writeFileSync(`${path}.zst.tmp`, seal(readFileSync(path)));
  renameSync(`${path}.zst.tmp`, `${path}.zst`);
  unlinkSync(path);
}

/** When an upload is stopped: before it sends, while it does, after it has. */
const STAGES = [
  () => true,
  ({ requests }: UploadTotals) => requests > 0,
  ({ episodes }: UploadTotals) => episodes > 0,
] as const;

describe('a stream', () => {
  test('begun before its first chunk: episodes arrive as they come, over rolls and seals, and it ends with the run', async () => {
    const upload = await start({ verifies: true });
    await upload.until(({ snapshot }) => snapshot.phase === 'following');
    expect(upload.snapshot).toMatchObject({ runId: null, plan: { chunks: 0, growing: 0 }, backlog: { rows: 0 } });
    const [before, after] = [lines('a').slice(0, 60), lines('a').slice(60)];
    append(0, before);
    await upload.until(({ snapshot }) => snapshot.plan.bytes === before.length);
    append(0, after);
    await upload.untilSent(1);
    expect(stored()).toEqual(['a']);
    expect(upload.snapshot).toMatchObject({ runId: RUN_ID, plan: { chunks: 1, growing: 1 }, phase: 'following' });
    append(0, lines('b', 'c') + lines('d').slice(0, 20));
    await upload.untilSent(3);
    append(0, lines('d').slice(20));
    append(1, lines('e'));
    sealChunk(0);
    await upload.untilSent(5);
    expect(upload.snapshot).toMatchObject({ plan: { chunks: 2, growing: 1 } });
    append(1, lines('f'));
    sealChunk(1);
    const outcome = await upload.ended;
    expect(outcome).toMatchObject({
      runId: RUN_ID,
      plan: { episodes: 6, bytes: lines('a', 'b', 'c', 'd', 'e', 'f').length },
      sent: { episodes: 6 },
      already: { episodes: 0 },
      interrupted: false,
      stopped: null,
      damaged: [],
      verified: { episodes: 6, ok: true },
    });
    expect(stored()).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
    expect(openBelow(dirname(root))).toEqual([]);
    // B27: the tail was sent while it was open, and is not sent again.
    const again = await (await start({ follows: false })).ended;
    expect(again).toMatchObject({ sent: { requests: 0 }, already: { episodes: 6 } });
  });

  test('of a run that is finished the requests are those of an upload without following, and it ends', async () => {
    const ids = Array.from({ length: 40 }, (_, index) => `e${index + 10}`);
    writeTree(root, {
      [`${STREAM}/00000.jsonl`]: lines(...ids.slice(0, 25)),
      [`${STREAM}/00001.jsonl`]: lines(...ids.slice(25)),
    });
    sealChunk(0);
    sealChunk(1);
    const options = { targetBytes: 1_000, lingerMs: 0 };
    const followed = await (await start(options)).ended;
    expect(followed).toMatchObject({ sent: { episodes: 40 }, interrupted: false, stopped: null });
    expect(followed.sent.requests).toBeGreaterThan(3);
    const copy = join(tempFolder(), 'run');
    cpSync(join(root, STREAM), join(copy, STREAM), { recursive: true, verbatimSymlinks: true });
    // The service of the first one would list what it has, and get nothing.
    const other = await startEmbedded();
    onTestFinished(() => other.close());
    const plain = await (await start({ ...options, root: copy, service: other, follows: false })).ended;
    expect(plain.sent).toEqual(followed.sent);
    expect(stored()).toEqual(ids);
  });

  test('a writer that is gone without sealing does not end it; drain does, with what is left without its LF', async () => {
    append(0, lines('a') + lines('b').slice(0, -1));
    const upload = await start();
    await upload.until(({ snapshot }) => snapshot.backlog?.writer === 'idle');
    await upload.untilSent(1);
    expect(stored()).toEqual(['a']);
    expect(upload.notices).toEqual([expect.stringMatching(/nobody seems to write the run/)]);
    append(0, `\n${lines('c')}{"id":"torn`);
    await upload.untilSent(3);
    const outcome = await upload.drain();
    expect(outcome).toMatchObject({ sent: { episodes: 3 }, interrupted: false, stopped: null });
    expect(outcome.damaged).toMatchObject([{ kind: 'torn', offset: lines('a', 'b', 'c').length }]);
    expect(stored()).toEqual(['a', 'b', 'c']);
  });

  test('drain settles a last record without its LF; when the LF comes later, the record is not sent again', async () => {
    append(0, lines('a', 'b').slice(0, -1));
    const upload = await start();
    await upload.untilSent(1);
    expect(await upload.drain()).toMatchObject({ sent: { episodes: 2 }, damaged: [] });
    append(0, `\n${lines('c')}`);
    sealChunk(0);
    expect(await (await start()).ended).toMatchObject({ sent: { episodes: 1 }, already: { episodes: 2 } });
    expect(stored()).toEqual(['a', 'b', 'c']);
  });

  test('stopped in the middle and begun again: what was told is known, the rest is sent, each once', async () => {
    const ids: string[] = [];
    for (let round = 0; round < 6; round += 1) {
      ids.push(...['x', 'y', 'z'].map((letter) => `${round}${letter}`));
      append(round >> 1, lines(...ids.slice(-3)));
      const upload = await start();
      const isFarEnough = STAGES[round % 3] as (sent: UploadTotals) => boolean;
      await upload.until(({ snapshot }) => isFarEnough(snapshot.sent));
      const { interrupted } = await upload.stop().catch(() => ({ interrupted: true }));
      expect(interrupted).toBe(true);
    }
    sealChunk(0);
    sealChunk(1);
    sealChunk(2);
    const outcome = await (await start()).ended;
    expect(outcome).toMatchObject({ interrupted: false, plan: { episodes: 18 } });
    expect(stored()).toEqual(ids);
  });

  test('no run id for a record that names none is found out when it comes, before anything is sent', async () => {
    const upload = await start({ stamps: true });
    await upload.until(({ snapshot }) => snapshot.phase === 'following');
    append(0, '{"id":"a","env":{"id":"e"},"traces":[]}\n');
    await expect(upload.ended).rejects.toMatchObject({ code: 'PRL_ERR_USAGE' });
    expect(openBelow(dirname(root))).toEqual([]);
  });

  test('with a filter: what fits is sent as it comes, and the rest by an upload without one', async () => {
    append(0, lines('a', 'b'));
    const filter = filterOf({ where: [{ text: 'id != "b"', matches: compileFilter('id != "b"') }] });
    const upload = await start({ selects: filter?.selects ?? null });
    await upload.untilSent(1);
    append(0, lines('c'));
    await upload.untilSent(2);
    expect(stored()).toEqual(['a', 'c']);
    expect((await upload.drain()).filter).toMatchObject({ selected: { episodes: 2 }, leftOut: { episodes: 1 } });
    sealChunk(0);
    expect(await (await start()).ended).toMatchObject({ sent: { episodes: 1 }, already: { episodes: 2 } });
    expect(stored()).toEqual(['a', 'b', 'c']);
  });
});

describe('flat files', () => {
  test('a bare file is followed until it is stopped or drained', async () => {
    const file = join(root, 'traces.jsonl');
    writeFileSync(file, lines('a'));
    const upload = await start({ root: file });
    await upload.untilSent(1);
    appendFileSync(file, lines('b'));
    await upload.untilSent(2);
    expect(await upload.drain()).toMatchObject({ sent: { episodes: 2 }, plan: { episodes: 2 } });
    expect(stored()).toEqual(['a', 'b']);
  });

  test('steps that come while it follows are sent, and known to the next upload by their names', async () => {
    const rollouts = join(tempFolder(), 'run');
    const file = (step: number): string => `rollouts/step_${step}/train/all/traces.jsonl`;
    writeTree(rollouts, { [file(2)]: lines('a') });
    const upload = await start({ root: rollouts });
    await upload.untilSent(1);
    // Before the known one in the order of the run, behind it in the order of coming.
    writeTree(rollouts, { [file(1)]: lines('b'), [file(3)]: lines('c') });
    await upload.untilSent(3);
    appendFileSync(join(rollouts, file(2)), lines('d'));
    await upload.untilSent(4);
    await upload.drain();
    expect(stored()).toEqual(['a', 'b', 'c', 'd']);
    const again = await (await start({ root: rollouts, follows: false })).ended;
    expect(again).toMatchObject({ sent: { requests: 0 }, already: { episodes: 4 } });
  });

  test('a sealed file is read to its end, and a document is refused', async () => {
    const folder = writeTree(tempFolder(), { 'a.jsonl.zst': seal(Buffer.from(lines('a'))), 'b.json': '[]' });
    expect(await (await start({ root: join(folder, 'a.jsonl.zst') })).ended).toMatchObject({ sent: { episodes: 1 } });
    const refused = await start({ root: join(folder, 'b.json') });
    await expect(refused.ended).rejects.toMatchObject({ code: 'PRL_ERR_USAGE' });
  });
});
