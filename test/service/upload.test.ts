/** What goes in comes back: receipts, replays, raw documents byte for byte, every legal shape of an upload. */
import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import {
  BOUNDARY,
  CLOSING,
  call,
  digestOf,
  episode,
  getJson,
  jsonl,
  METADATA_HEAD,
  packed,
  part,
  service,
  stored,
  TRACES_HEAD,
  temporaryFolder,
  trace,
  upload,
} from './service-fixture.js';

type Member = { id: string };
type Record = { id: string; traces: Member[] };

function linesOf(bytes: Buffer): Buffer[] {
  const lines: Buffer[] = [];
  for (let from = 0; from < bytes.length; ) {
    const at = bytes.indexOf(0x0a, from);
    const end = at < 0 ? bytes.length : at + 1;
    lines.push(bytes.subarray(from, end));
    from = end;
  }
  return lines;
}

const REAL_STREAMS = [
  'fixtures/runs/verifiers-eval/traces.jsonl',
  ...globSync('fixtures/runs/*/monitors/file/traces/stream/*.jsonl'),
  ...globSync('fixtures/runs/*/monitors/file/traces/stream.jsonl'),
  ...globSync('fixtures/runs/*/rollouts/*/train/all/traces.jsonl'),
].sort();

describe('records of the real libraries', () => {
  test.each(REAL_STREAMS)('%s comes back byte for byte', async (file) => {
    const of = await service();
    const bytes = readFileSync(file);
    expect(await stored(of, bytes)).toBe(createHash('sha256').update(bytes).digest('hex'));
    for (const line of linesOf(bytes)) {
      const record = JSON.parse(line.toString()) as Record;
      for (const member of record.traces) {
        const { bytes: raw } = await call(of, { target: `/traces/${member.id}?raw=true` });
        expect(JSON.parse(raw.toString())).toEqual(member);
        expect(line.includes(raw)).toBe(true);
      }
      const { bytes: envelope } = await call(of, { target: `/episodes/${record.id}?raw=true` });
      const at = line.indexOf('"traces":[') + '"traces":'.length;
      expect(envelope.subarray(0, at)).toEqual(line.subarray(0, at));
      expect(JSON.parse(envelope.toString())).toEqual({ ...record, traces: record.traces.map(({ id }) => id) });
      const detail = await getJson(of, `/episodes/${record.id}`);
      expect((detail.traces as { trace_count: number }).trace_count).toBe(record.traces.length);
    }
  });

  test('there are streams of four layouts to try', () => {
    expect(REAL_STREAMS.length).toBeGreaterThanOrEqual(4);
  });
});

describe('receipts', () => {
  test('a new batch gets 201, the same bytes again 200 and are stored once', async () => {
    const of = await service();
    const lines = jsonl(episode('e1', [trace('t1')]));
    const first = await upload(of, lines);
    const again = await upload(of, lines, { compress: false, metadata: { schema_version: 1, context: { a: 'b' } } });
    expect([first.status, again.status]).toEqual([201, 200]);
    expect(first.json()).toEqual({ upload_id: digestOf(Buffer.from(lines)), status: 'committed' });
    expect(again.json()).toEqual(first.json());
    expect((await getJson(of, '/episodes')).items).toHaveLength(1);
    // The replay stored nothing: neither rows nor its context.
    expect(((await getJson(of, '/traces')).items as { context: object }[])[0]?.context).toEqual({});
  });

  test('a replay is checked against its digest like any upload', async () => {
    const of = await service();
    const lines = jsonl(episode('e1', [trace('t1')]));
    const digest = await stored(of, lines);
    const other = await upload(of, jsonl(episode('e2', [])), { digest });
    expect([other.status, other.json().error]).toEqual([400, expect.objectContaining({ code: 'digest_mismatch' })]);
  });

  test('eight uploads at once, half of them the same bytes: each batch once, every trace readable', async () => {
    const of = await service();
    const batches = Array.from({ length: 4 }, (_, batch) =>
      jsonl(...Array.from({ length: 20 }, (_, index) => episode(`e${batch}-${index}`, [trace(`t${batch}-${index}`)]))),
    );
    const answers = await Promise.all([...batches, ...batches].map((lines) => upload(of, lines)));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 200, 200, 200, 201, 201, 201, 201]);
    expect((await getJson(of, '/episodes?limit=100')).items).toHaveLength(80);
    for (let batch = 0; batch < 4; batch += 1) {
      const { bytes } = await call(of, { target: `/traces/t${batch}-19?raw=true` });
      expect(bytes.toString()).toBe(JSON.stringify(trace(`t${batch}-19`)));
    }
  });
});

describe('legal shapes of an upload', () => {
  const lines = jsonl(episode('e1', [trace('t1')]));
  const bytes = Buffer.from(lines);
  const gzipHead = `${TRACES_HEAD}\r\nContent-Encoding: gzip`;
  const metadata = part(METADATA_HEAD, '{"schema_version":1}');
  const members = Buffer.concat([gzipSync(bytes.subarray(0, 100)), gzipSync(bytes.subarray(100))]);

  test.each([
    ['plain', packed(lines, { compress: false }).body],
    ['traces before metadata', packed(lines, { tracesFirst: true }).body],
    ['gzip of two members', Buffer.concat([metadata, part(gzipHead, members), CLOSING])],
    ['an epilogue', Buffer.concat([packed(lines).body, Buffer.from('behind the end')])],
    ['a preamble', Buffer.concat([Buffer.from('before the start\r\n'), packed(lines).body])],
    [
      'blanks behind a boundary',
      Buffer.from(packed(lines, { compress: false }).body.toString().replace('\r\n', ' \t\r\n')),
    ],
  ])('%s', async (_, body) => {
    const of = await service();
    expect((await call(of, { ...packed(lines), body })).status).toBe(201);
    expect((await call(of, { target: '/traces/t1?raw=true' })).bytes.toString()).toBe(JSON.stringify(trace('t1')));
  });

  test.each([1, 3, 17, 1000])('chunked, in pieces of %i bytes', async (pieceBytes) => {
    const of = await service();
    const { body, ...rest } = packed(lines);
    const pieces = Array.from({ length: Math.ceil(body.length / pieceBytes) }, (_, index) =>
      body.subarray(index * pieceBytes, (index + 1) * pieceBytes),
    );
    expect((await call(of, { ...rest, body: pieces })).status).toBe(201);
    expect((await call(of, { target: '/traces/t1?raw=true' })).bytes.toString()).toBe(JSON.stringify(trace('t1')));
  });

  test('the part names its boundary in quotes', async () => {
    const of = await service();
    const headers = { 'content-type': `Multipart/Form-Data; charset=utf-8; boundary="${BOUNDARY}"` };
    expect((await upload(of, lines, { headers })).status).toBe(201);
  });
});

describe('lines', () => {
  test('bare traces: CR kept, blank lines passed over, a last line without LF', async () => {
    const of = await service();
    const documents = ['a', 'b', 'c'].map((id) => JSON.stringify(trace(id)));
    await stored(of, `${documents[0]}\r\n\n \t\n${documents[1]}\n${documents[2]}`, { format: 'trace' });
    // The next upload lands in the same chunk: it must not be glued to the line that had no end.
    await stored(of, jsonl(trace('d')), { format: 'trace' });
    const raw = async (id: string) => (await call(of, { target: `/traces/${id}?raw=true` })).bytes.toString();
    expect(await Promise.all(['a', 'b', 'c', 'd'].map(raw))).toEqual([
      `${documents[0]}\r`,
      documents[1],
      documents[2],
      JSON.stringify(trace('d')),
    ]);
  });

  test('members are found whatever the text looks like: spaces, escaped keys, duplicate keys, key order', async () => {
    const of = await service();
    const member = ' { "ok" : true , "i\\u0064" : "t1" , "id":"t\\u00e4\\"1" } ';
    const line = `{ "traces" : [ 5 ] ,"\\u0074races": [${member}], "x":[[]], "id" : "e1" }\n`;
    await stored(of, line);
    const { bytes } = await call(of, { target: '/traces/t%C3%A4%221?raw=true' });
    expect(bytes.toString()).toBe(member.trim());
    const envelope = (await call(of, { target: '/episodes/e1?raw=true' })).bytes.toString();
    expect(envelope).toBe('{ "traces" : [ 5 ] ,"\\u0074races": ["tä\\"1"], "x":[[]], "id" : "e1" }');
  });

  test('an episode without traces is legal', async () => {
    const of = await service();
    const errors = [{ type: 'SetupError', message: 'no box' }];
    await stored(of, jsonl(episode('e1', [], { ok: false, errors })));
    expect(await getJson(of, '/episodes/e1')).toMatchObject({
      has_error: true,
      error: { type: 'SetupError', message: 'no box' },
      traces: { trace_count: 0, total_tokens: 0, total_duration_ms: 0, any_trace_error: false, agent_names: [] },
    });
    expect((await getJson(of, '/episodes/e1/traces')).items).toEqual([]);
    expect(JSON.parse((await call(of, { target: '/episodes/e1?raw=true' })).bytes.toString()).traces).toEqual([]);
  });

  test('counts beyond all measure are kept within what a number holds', async () => {
    const of = await service();
    const huge = { num_total_tokens: Number.MAX_SAFE_INTEGER };
    const usage = { prompt_tokens: Number.MAX_SAFE_INTEGER, completion_tokens: Number.MAX_SAFE_INTEGER };
    const negative = { num_total_tokens: -5 };
    await stored(
      of,
      jsonl(
        episode('e', [
          trace('a', huge),
          trace('b', huge),
          trace('c', { calls: [{ node: 1, usage }] }),
          trace('d', negative),
        ]),
      ),
    );
    expect(await getJson(of, '/traces/c')).toMatchObject({ total_tokens: Number.MAX_SAFE_INTEGER });
    // A negative count is none: it is derived from the calls.
    expect(await getJson(of, '/traces/d')).toMatchObject({ total_tokens: 15 });
    expect(await getJson(of, '/episodes/e')).toMatchObject({ traces: { total_tokens: Number.MAX_SAFE_INTEGER } });
  });

  test('a column value of monstrous size counts as not recorded, and the document is kept', async () => {
    const of = await service();
    const deep = `${'['.repeat(2_000_000)}${']'.repeat(2_000_000)}`;
    const line = `{"id":"t1","rewards":{"r":${deep}},"info":${deep},"run":${deep},"ok":true}`;
    await stored(of, `${line}\n`, { format: 'trace' });
    expect(await getJson(of, '/traces/t1')).toMatchObject({ score: { reward: null, outcome: null } });
    expect((await call(of, { target: '/traces/t1?raw=true' })).bytes.toString()).toBe(line);
  });

  test('an episode of 20 MB', async () => {
    const of = await service();
    const content = 'ünïcode "quotes" \n '.repeat(1_000_000);
    const document = JSON.stringify(trace('t1', { nodes: [{ message: { role: 'user', content } }] }));
    const lines = Buffer.from(`{"id":"e1","ok":true,"errors":[],"traces":[${document}]}\n`);
    expect(lines.length).toBeGreaterThan(20_000_000);
    await stored(of, lines);
    const { bytes } = await call(of, { target: '/traces/t1?raw=true' });
    expect(bytes.equals(Buffer.from(document))).toBe(true);
    expect(await getJson(of, '/traces/t1')).toMatchObject({ size_bytes: bytes.length });
  });

  test('more bytes than a chunk takes: later uploads go to further chunks, all stay readable', async () => {
    const dataDir = temporaryFolder();
    const of = await service({ dataDir, limits: { chunkBytes: 1000 } });
    for (let index = 0; index < 5; index += 1) await stored(of, jsonl(episode(`e${index}`, [trace(`t${index}`)])));
    expect(globSync(`${dataDir}/stream/*`).length).toBeGreaterThan(1);
    for (let index = 0; index < 5; index += 1) {
      const { bytes } = await call(of, { target: `/traces/t${index}?raw=true` });
      expect(bytes.toString()).toBe(JSON.stringify(trace(`t${index}`)));
    }
  });
});
