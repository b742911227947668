/** `--fault`: what is understood, what is refused, and that each fault does what it says and no more. */
import { describe, expect, test } from 'vitest';
import { type Faults, NO_FAULTS, parseFaults } from '../../src/service/faults.js';
import { call, episode, getJson, jsonl, service, stored, trace, upload } from './service-fixture.js';

function lines(index: number): string {
  return jsonl(episode(`e${index}`, [trace(`t${index}`)]));
}

async function timed<T>(work: () => Promise<T>): Promise<{ value: T; spanMs: number }> {
  const fromMs = performance.now();
  const value = await work();
  return { value, spanMs: performance.now() - fromMs };
}

describe('parseFaults', () => {
  test.each<[string[], Partial<Faults>]>([
    [[], {}],
    [['latency=80ms'], { latencyMs: 80 }],
    [['latency=1.5s'], { latencyMs: 1500 }],
    [['bandwidth=40MB/s'], { bandwidthBytesPerSecond: 40_000_000 }],
    [['bandwidth=1MiB/s'], { bandwidthBytesPerSecond: 1_048_576 }],
    [['bandwidth=500B/s'], { bandwidthBytesPerSecond: 500 }],
    [['errors=5%'], { errorsRatio: 0.05 }],
    [['errors=100%'], { errorsRatio: 1 }],
    [['stall=10s'], { stallMs: 10_000 }],
    [['lost-response=0.5%'], { lostResponseRatio: 0.005 }],
    [['storm=1m'], { stormMs: 60_000 }],
    // What every flag takes (cli.md, "Every command").
    [['storm=1m30s'], { stormMs: 90_000 }],
    [['stall=0'], { stallMs: 0 }],
    [['bandwidth=40mib/s'], { bandwidthBytesPerSecond: 41_943_040 }],
    [['latency=1s', 'errors=1%', 'latency=2s'], { latencyMs: 2000, errorsRatio: 0.01 }],
  ])('%j', (texts, expected) => {
    expect(parseFaults(texts)).toEqual({ ...NO_FAULTS, ...expected });
  });

  test.each([
    ['speed=1s', /unknown fault "speed", known are latency, bandwidth, errors, stall, lost-response, storm/],
    ['', /unknown fault ""/],
    ['constructor=1', /unknown fault/],
    ['latency', /latency takes a duration such as 80ms, not ""/],
    ['latency=', /not ""/],
    ['latency=80', /not "80"/],
    ['latency=-1s', /not "-1s"/],
    ['latency=80 ms', /not "80 ms"/],
    ['latency=1s=2s', /not "1s=2s"/],
    ['bandwidth=40MB', /a rate such as 40MB\/s/],
    ['bandwidth=0MB/s', /not "0MB\/s"/],
    ['bandwidth=4M/s', /not "4M\/s"/],
    ['errors=5', /a share such as 5%/],
    ['errors=101%', /not "101%"/],
    ['storm=NaNs', /not "NaNs"/],
  ])('"%s" is refused', (text, message) => {
    expect(() => parseFaults([text])).toThrow(message);
    expect(() => parseFaults([text])).toThrow(expect.objectContaining({ code: 'PRL_ERR_USAGE' }));
  });
});

describe('what a fault does', () => {
  const faulty = (faults: Partial<Faults>, faultSeed = 1) =>
    service({ faults: { ...NO_FAULTS, ...faults }, faultSeed });

  test('latency: every answer comes that much later', async () => {
    const of = await faulty({ latencyMs: 120 });
    const upload = await timed(() => stored(of, lines(0)));
    const read = await timed(() => getJson(of, '/traces'));
    expect(Math.min(upload.spanMs, read.spanMs)).toBeGreaterThanOrEqual(115);
  });

  test('bandwidth: shared by two uploads at once, and by raw documents', async () => {
    const of = await faulty({ bandwidthBytesPerSecond: 400_000 });
    const big = (index: number) =>
      jsonl(episode(`e${index}`, [trace(`t${index}`, { info: { x: 'y'.repeat(100_000) } })]));
    const both = await timed(() => Promise.all([0, 1].map((index) => stored(of, big(index), { compress: false }))));
    // 500 ms, less the tenth of a second that an idle link gives at once, and the last piece.
    expect(both.spanMs).toBeGreaterThan(300);
    const raw = await timed(() => call(of, { target: '/traces/t0?raw=true' }));
    expect(raw.value.bytes.length).toBeGreaterThan(100_000);
    expect(raw.spanMs).toBeGreaterThan(100);
  });

  test('errors: about that share, retryable each, nothing stored by those, the same again for the same seed', async () => {
    const trial = async (): Promise<number[]> => {
      const of = await faulty({ errorsRatio: 0.3 }, 7);
      const statuses: number[] = [];
      for (let index = 0; index < 100; index += 1) statuses.push((await upload(of, lines(index))).status);
      const good = statuses.filter((status) => status === 201).length;
      let listed = await call(of, { target: '/traces?limit=100' });
      while (listed.status !== 200) listed = await call(of, { target: '/traces?limit=100' });
      expect((listed.json().items as unknown[]).length).toBe(good);
      return statuses;
    };
    const statuses = await trial();
    expect(new Set(statuses)).toEqual(new Set([201, 429, 502, 503]));
    const declined = statuses.filter((status) => status !== 201).length;
    expect(declined).toBeGreaterThan(15);
    expect(declined).toBeLessThan(45);
    expect(await trial()).toEqual(statuses);
  });

  test('stall: the first upload waits it out and is stored; it does not come back by itself', async () => {
    const of = await faulty({ stallMs: 300 });
    expect((await timed(() => getJson(of, '/traces'))).spanMs).toBeLessThan(200);
    expect((await timed(() => stored(of, lines(0)))).spanMs).toBeGreaterThanOrEqual(295);
    expect((await timed(() => stored(of, lines(1)))).spanMs).toBeLessThan(200);
    of.restartFaults();
    expect((await timed(() => getJson(of, '/traces'))).spanMs).toBeGreaterThanOrEqual(250);
  });

  test('lost-response: the connection breaks without a byte, the batch is stored, a retry gets its receipt', async () => {
    const of = await faulty({ lostResponseRatio: 1 });
    await expect(upload(of, lines(0))).rejects.toMatchObject({ code: 'ECONNRESET' });
    expect((await getJson(of, '/traces')).items).toHaveLength(1);
    const half = await faulty({ lostResponseRatio: 0.5 }, 3);
    const outcomes: (number | 'lost')[] = [];
    for (let attempt = 0; attempt < 20; attempt += 1) {
      outcomes.push(
        await upload(half, lines(0)).then(
          ({ status }) => status,
          () => 'lost' as const,
        ),
      );
    }
    expect(new Set(outcomes)).toEqual(new Set(outcomes[0] === 'lost' ? ['lost', 200] : [201, 'lost', 200]));
    expect((await getJson(half, '/traces')).items).toHaveLength(1);
  });

  test('storm: 503 with the rest of the storm as Retry-After, from the first upload on, for everybody', async () => {
    const of = await faulty({ stormMs: 1200 });
    expect((await call(of, { target: '/traces' })).status).toBe(200);
    const first = await upload(of, lines(0));
    const read = await call(of, { target: '/traces' });
    for (const answer of [first, read]) {
      expect(answer.status).toBe(503);
      expect(answer.json()).toMatchObject({ error: { code: 'ingest_unavailable' } });
      expect(['1', '2']).toContain(answer.headers['retry-after']);
    }
    await expect.poll(async () => (await upload(of, lines(0))).status, { timeout: 5000, interval: 50 }).toBe(201);
    of.restartFaults();
    expect((await upload(of, lines(1))).status).toBe(503);
  });
});
