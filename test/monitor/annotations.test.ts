/** Annotation updates (spec 05 section 4): their lines, and rows that are those of the lines (spec 04 section 7). */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { annotationRow } from '../../src/core/index/annotation-row.js';
import { ANNOTATIONS } from '../../src/core/scan/classify.js';
import { openRun } from '../../src/io/run.js';
import { readFileRecords } from '../../src/io/run-records.js';
import { listStreams } from '../../src/io/run-streams.js';
import type { AnnotationUpdate } from '../../src/monitor/monitor-types.js';
import { openMonitor, tracesOf } from '../helpers/monitored-run.js';

/** The lines of a producer's stream with the rows that they should have. */
async function annotationsOf(run: string, producer = 'orch'): Promise<{ line: string; row: string }[]> {
  const streams = await listStreams(await openRun(run));
  const stream = streams.find(({ name }) => name.endsWith(`annotations/${producer}`));
  const found: { line: string; row: string }[] = [];
  for (const file of stream?.files ?? []) {
    for await (const event of readFileRecords(file, { units: ANNOTATIONS })) {
      if (event.type === 'damage') throw new Error(event.damage.message);
      if (event.type !== 'record') continue;
      const { bytes, chunk, offset } = event.record;
      const row = annotationRow(bytes, { chunk, offset });
      if (!(row instanceof Uint8Array)) throw new Error(row.reason);
      found.push({ line: bytes.toString(), row: Buffer.from(row).toString() });
    }
  }
  return found;
}

async function written(updates: readonly AnnotationUpdate[], floatDecimals: number | null = 4): Promise<string[]> {
  const { monitor, run } = await openMonitor({ run: { id: 'r1' }, floatDecimals });
  await monitor.logAnnotations(updates);
  await monitor.finalize();
  return (await annotationsOf(run)).map(({ line }) => line);
}

const STREAMS = {
  advantages: [null, 1, 0.03125, -0],
  trainer_logprobs: Float32Array.of(-0.03125),
  entropies: [1e-5],
  is_masked: [null, true, false],
  mismatch_kl: [null, 1.23456789e-4, 1e-9, 2],
  theirs: [1, 0.123456789],
};

describe('an update', () => {
  test.each<[string, AnnotationUpdate, string]>([
    ['of nothing', { trace_id: 't' }, '"info":{},"branches":[]}'],
    [
      'with info: nulls and all digits stay',
      { trace_id: 't', info: { effective: true, ship: { step: 5, time: 110.5 }, gone: null, x: 1 / 3 } },
      '"info":{"effective":true,"ship":{"step":5,"time":110.5},"gone":null,"x":0.3333333333333333},"branches":[]}',
    ],
    [
      'with streams: rounded like those of nodes, the divergence to 6 decimals, others as they are',
      { trace_id: 't', branches: [{ index: 0, ...STREAMS }, { index: 1 }] },
      '"info":{},"branches":[{"index":0,"advantages":[null,1.0,0.0312,-0.0],"trainer_logprobs":[-0.0312],' +
        '"entropies":[0.0],"is_masked":[null,true,false],"mismatch_kl":[null,0.000123,0.0,2.0],' +
        '"theirs":[1,0.123456789]},{"index":1}]}',
    ],
  ])('%s', async (_, update, text) => {
    expect(await written([update])).toEqual([`{"version":1,"trace_id":"t",${text}\n`]);
  });

  test('keeps every digit when nothing is rounded', async () => {
    const branches = [{ index: 0, entropies: [1e-5, 1 / 3], mismatch_kl: [1.23456789e-4, 1] }];
    expect(await written([{ trace_id: 't', branches }], null)).toEqual([
      '{"version":1,"trace_id":"t","info":{},"branches":[{"index":0,' +
        '"entropies":[0.00001,0.3333333333333333],"mismatch_kl":[0.000123456789,1.0]}]}\n',
    ]);
  });

  test('is left as it was by its rounding', async () => {
    const update = { trace_id: 't', branches: [{ index: 0, mismatch_kl: [1.23456789e-4] }] };
    await written([update]);
    expect(update).toEqual({ trace_id: 't', branches: [{ index: 0, mismatch_kl: [1.23456789e-4] }] });
  });
});

test('each producer has a stream, and each row is that of its line, over chunks', async () => {
  const { monitor, run } = await openMonitor({ chunkBytes: 500 });
  const updatesOf = (producer: string) =>
    Array.from({ length: 30 }, (_, index) => ({
      trace_id: `${producer}-${index}-"é"`,
      ...(index % 3 === 0 ? {} : { info: { step: index, producer, text: 'ü\n\u0001', n: 2n ** 63n } }),
      branches: [{ index: 0, advantages: [0.5] }],
    }));
  void monitor.logAnnotations(updatesOf('orch'));
  void monitor.logAnnotations(updatesOf('trainer'), { producer: 'trainer' });
  await monitor.flush();
  for (const moment of ['live', 'sealed']) {
    for (const producer of ['orch', 'trainer']) {
      const lines = await annotationsOf(run, producer);
      expect(lines.map(({ line }) => JSON.parse(line).trace_id)).toEqual(
        updatesOf(producer).map((one) => one.trace_id),
      );
      const index = readFileSync(join(tracesOf(run), `annotations/${producer}.index.jsonl`), 'utf8');
      expect(index, moment).toBe(lines.map(({ row }) => row).join(''));
    }
    await monitor.finalize();
  }
});
