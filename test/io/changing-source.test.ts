/** U17, U18, R23: a run that changes while it is uploaded, and between two uploads. Real files, real sockets. */
import {
  appendFileSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { UploadOutcome } from '../../src/core/upload/outcome.js';
import { openRun } from '../../src/io/run.js';
import { RunUpload } from '../../src/io/run-upload.js';
import { accessTo } from '../helpers/access.js';
import { type FaultyServer, startFaultyServer } from '../helpers/faulty-server.js';

let folder = '';
let file = '';
let server: FaultyServer;
let notices: string[] = [];
/** Called with the number of each request, before it is stored. */
let onRequest: (index: number) => void = () => {};
/** Which uploads the service refuses. */
let refuses: (jsonl: string) => boolean = () => false;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'prl-changing-'));
  file = join(folder, 'traces.jsonl');
  notices = [];
  onRequest = () => {};
  refuses = () => false;
  server = await startFaultyServer((index) => {
    onRequest(index);
    return { kind: 'refuse', refuses };
  });
});
afterEach(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});

const SIZE = 400_000;

/** Lines of one size, so that a rewrite can keep every offset. */
function line(index: number, letter = 'x'): string {
  const head = `{"id":"e${String(index).padStart(4, '0')}","traces":[],"x":"`;
  return `${head}${letter.repeat(SIZE - head.length - 3)}"}\n`;
}
const lines = (from: number, to: number, letter?: string): string =>
  Array.from({ length: to - from }, (_, index) => line(from + index, letter)).join('');

async function upload(targetBytes = 2 * SIZE, stamps = false): Promise<UploadOutcome> {
  const session = new RunUpload({
    run: await openRun(file),
    path: file,
    name: 'changing',
    access: accessTo(server.url),
    serviceName: server.url,
    runId: null,
    environmentRunId: null,
    stamps,
    context: {},
    concurrency: 1,
    targetBytes,
    compress: 'none',
    maxAttempts: 2,
    retriesRejected: false,
    verifies: false,
    environment: { PRL_STATE_DIR: join(folder, 'state') },
    onNotice: (message) => void notices.push(message),
  });
  return session.run(new AbortController().signal);
}

function storedIds(): string[] {
  const text = [...server.stored.values()].map(String).join('');
  return [...text.matchAll(/"id":"(e\d+)"/g)].map((match) => match[1] ?? '');
}
const ids = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, index) => `e${String(from + index).padStart(4, '0')}`);

describe('U17: growing', () => {
  test('lines up to the size seen at planning are sent; later and unfinished ones by later passes, each once', async () => {
    writeFileSync(file, lines(0, 10));
    onRequest = (index) => {
      if (index === 0) appendFileSync(file, lines(10, 13) + line(13).slice(0, 1000));
    };
    const first = await upload();
    expect(first).toMatchObject({ stopped: null, sent: { episodes: 10 }, rejected: [], damaged: [] });
    expect(storedIds()).toEqual(ids(0, 10));
    onRequest = (index) => {
      if (index === 5) appendFileSync(file, line(13).slice(1000) + line(14));
    };
    await upload();
    await upload();
    expect(storedIds()).toEqual(ids(0, 15));
    expect([...server.stored.values()].map(String).join('') === readFileSync(file, 'utf8')).toBe(true);
  });

  const torn = Buffer.from('{"id":"e0001","traces":[],"x":"é 漢 \u{1f600}"}\n');
  test.each([
    ['cut at every byte', Array.from({ length: torn.length - 2 }, (_, cut) => torn.subarray(0, cut + 1))],
    ['preallocated with zeros', [Buffer.alloc(700), Buffer.concat([torn.subarray(0, 20), Buffer.alloc(90)])]],
    ['of bytes that nobody has flushed yet', [Buffer.from([0xff, 0xfe, 0x00, 0x41]), Buffer.from('garbage')]],
  ])(
    'a last line without its LF, %s, is damage while it stays so, and forgotten when it is finished',
    async (_, ends) => {
      const first = `{"id":"e0000","traces":[]}\n`;
      for (const [index, end] of ends.entries()) {
        file = join(folder, `traces-${index}.jsonl`);
        writeFileSync(file, Buffer.concat([Buffer.from(first), end]));
        expect(await upload()).toMatchObject({
          plan: { episodes: 1 },
          damaged: [{ offset: first.length, bytes: end.length }],
        });
        expect((await upload()).damaged).toHaveLength(1);
        writeFileSync(file, Buffer.concat([Buffer.from(first), torn]));
        expect(await upload()).toMatchObject({
          plan: { episodes: 2 },
          already: { episodes: 1 },
          damaged: [],
          rejected: [],
        });
      }
    },
  );

  test('R23: appends throughout do not fail it', async () => {
    writeFileSync(file, lines(0, 20));
    let next = 20;
    onRequest = () => appendFileSync(file, line(next++));
    expect(await upload()).toMatchObject({ stopped: null, sent: { episodes: 20 } });
    onRequest = () => {};
    await upload();
    expect(storedIds()).toEqual(ids(0, next));
  });
});

describe('U18: changed', () => {
  test('cut short while it is read: what was read is stored under its own digest, the loss is reported, nothing fails', async () => {
    writeFileSync(file, lines(0, 30));
    onRequest = (index) => {
      if (index === 0) truncateSync(file, 15 * SIZE - 100);
    };
    const outcome = await upload();
    const stored = storedIds();
    expect(stored).toEqual(ids(0, stored.length));
    expect(stored.length).toBeGreaterThanOrEqual(14);
    expect(stored.length).toBeLessThan(30);
    expect(outcome.damaged.length + notices.length).toBeGreaterThan(0);
  });

  test('rewritten at equal size while it is read: every upload holds the bytes of its key, the next run sends what is new', async () => {
    writeFileSync(file, lines(0, 30));
    onRequest = (index) => {
      if (index === 1) writeFileSync(file, lines(0, 30, 'y'));
    };
    await upload();
    // The server refuses a body whose digest is not its key, so whatever is stored was hashed as sent.
    expect(server.requests.every(({ jsonl }) => jsonl !== null)).toBe(true);
    onRequest = () => {};
    await upload();
    const text = [...server.stored.values()].map(String).join('');
    for (const index of [0, 15, 29]) expect(text.includes(line(index, 'y'))).toBe(true);
  });

  test('rewritten at equal size between two runs: noticed, and uploaded anew', async () => {
    writeFileSync(file, lines(0, 4));
    await upload();
    writeFileSync(file, lines(0, 4, 'y'));
    const second = await upload();
    expect(notices).toEqual([expect.stringMatching(/chunk 0 was rewritten/)]);
    expect(second).toMatchObject({ already: { episodes: 0 }, sent: { episodes: 4 } });
    expect((await upload()).sent.requests).toBe(0);
  });

  test('replaced by a shorter file between two runs: the new lines are sent', async () => {
    writeFileSync(file, lines(0, 4));
    await upload();
    writeFileSync(file, lines(50, 52));
    expect(await upload()).toMatchObject({ sent: { episodes: 2 } });
    expect(storedIds()).toEqual([...ids(0, 4), ...ids(50, 52)]);
  });

  describe('what the last bytes of a record do not tell', () => {
    const small = (id: string, filling = ''): string =>
      `{"id":"${id}","traces":[],"x":"${filling}","y":"${'y'.repeat(80)}"}\n`;
    const text = ['a', 'b', 'c', 'd'].map((id) => small(id)).join('');
    const stored = (): string[] =>
      [...server.stored.values()].flatMap((body) => [...String(body).matchAll(/"id":"(\w+)"/g)].map((m) => m[1] ?? ''));

    test.each<[string, string, string[]]>([
      ['one record replaced by another of its size', text.replace('"b"', '"B"'), ['B']],
      ['one record of another size in the middle', text.replace('"b"', '"bbb"'), ['bbb']],
      ['a record in front of all', small('new') + text, ['new']],
      ['a value inside a record', text.replace(small('c'), small('c', 'z')), ['c']],
      ['the end cut off', text.slice(0, text.length / 2), []],
      ['all others', ['e', 'f', 'g', 'h'].map((id) => small(id)).join(''), ['e', 'f', 'g', 'h']],
    ])('%s: what is new is sent, and what is stored is not sent again', async (_what, now, sent) => {
      writeFileSync(file, text);
      await upload();
      writeFileSync(file, now);
      const second = await upload();
      const lineCount = now.split('\n').length - 1;
      expect(second).toMatchObject({
        plan: { episodes: lineCount },
        already: { episodes: lineCount - sent.length },
        sent: { episodes: sent.length },
      });
      expect(stored()).toEqual(['a', 'b', 'c', 'd', ...sent]);
      expect(notices).toEqual([expect.stringMatching(/chunk 0 was rewritten .*not stored yet are sent/)]);
      // What was recognised is settled where it stands now: no third look, no further notice.
      const third = await upload();
      expect(third).toMatchObject({ already: { episodes: lineCount }, sent: { requests: 0 } });
      expect(notices).toHaveLength(1);
      writeFileSync(file, text);
      expect((await upload()).sent.episodes).toBe(0);
    });

    test('a record that was rejected and repaired in its place is sent; one that was not is not asked about again', async () => {
      refuses = (jsonl) => /"(bad1|bad2)"/.test(jsonl);
      writeFileSync(file, small('bad1') + small('ok11') + small('bad2'));
      expect((await upload()).rejected.map((line) => line.id)).toEqual(['bad1', 'bad2']);
      writeFileSync(file, small('rep1') + small('ok11') + small('bad2'));
      const before = server.requests.length;
      const second = await upload();
      expect(second).toMatchObject({ sent: { episodes: 1 }, already: { episodes: 1 }, rejected: [{ id: 'bad2' }] });
      expect(server.requests.length).toBe(before + 1);
      expect(stored()).toEqual(['ok11', 'rep1']);
    });

    test('another record at the place of a rejected one is not taken for it', async () => {
      refuses = (jsonl) => jsonl.includes('"bad1"');
      writeFileSync(file, small('bad1'));
      expect((await upload()).rejected).toHaveLength(1);
      writeFileSync(file, small('good1', 'zz') + small('good2'));
      expect(await upload()).toMatchObject({ sent: { episodes: 2 }, rejected: [], damaged: [] });
    });

    test('a file that was only touched, replaced by a copy or put in another order holds what is stored', async () => {
      writeFileSync(file, text);
      await upload();
      utimesSync(file, 1, 1);
      expect(await upload()).toMatchObject({ already: { episodes: 4 }, sent: { requests: 0 } });
      renameSync(file, `${file}.old`);
      writeFileSync(file, text);
      expect(await upload()).toMatchObject({ already: { episodes: 4 }, sent: { requests: 0 } });
      writeFileSync(file, ['d', 'a', 'c', 'b'].map((id) => small(id)).join(''));
      expect(await upload()).toMatchObject({ already: { episodes: 4 }, sent: { requests: 0 } });
      expect(notices).toEqual([]);
    });
  });
});

describe('beside settled bytes a line is what it was before', () => {
  const EPISODE = '{"id":"E","env":{"id":"e"},"traces":[]}';

  test.each([
    ['a torn record with the next one behind it', `${EPISODE}\n{"id":"T","env":{"id":"e"},"tr${EPISODE}\n`, 'glued'],
    ['a line of the other shape', `${EPISODE}\n{"id":"t","nodes":[],"task":{"type":"T","data":{}}}\n`, 'wrong_unit'],
  ])('%s', async (_what, text, kind) => {
    writeFileSync(file, text.replace('"id":"E"', '"id":"F"'));
    const first = await upload(1);
    expect(first.damaged.map((damage) => damage.kind)).toEqual([kind]);
    for (let round = 0; round < 2; round += 1) {
      const again = await upload(1);
      expect(again.damaged).toEqual(first.damaged);
      expect(again).toMatchObject({ plan: first.plan, sent: { requests: 0 } });
    }
  });
});

test('an id that several batches hold: each line is stored, and the user is told', async () => {
  const repeated = (filling: string): string => `{"id":"same","traces":[],"x":"${filling}"}\n`;
  writeFileSync(file, repeated('1') + repeated('2') + repeated('3'));
  expect(await upload(1)).toMatchObject({ sent: { episodes: 3 }, rejected: [] });
  expect(notices).toEqual([expect.stringMatching(/^2 lines repeat the id of an earlier episode of the run \(same\)/)]);
});

test('a first record that cannot be read names no run and hides none', async () => {
  const named = '{"id":"ok","run":{"type":"eval","id":"r"},"traces":[]}\n';
  writeFileSync(file, `{"id":"\\ud800","traces":[]}\n${named}`);
  expect(await upload(1000, true)).toMatchObject({
    runId: 'r',
    sent: { episodes: 1 },
    rejected: [{ lineNumber: 1, code: 'invalid_trace' }],
  });
});
