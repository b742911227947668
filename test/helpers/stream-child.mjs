// Logs records through the built stream writer and index, as a monitor does, for tests that kill it or fail its calls.
// Arguments: the run, when to wait for the disk (flush or never), then the ids. Says on its standard output, each in a line, what it was told: `stored ID` when the
// record is on the disk, `refused ID CODE`, `indexed ID`, `notice TEXT`, `closed`, or `closed CODE` for an end that failed.
import { mkdirSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { indexRecord } from '../../dist/core/index/index-record.js';
import { IndexAppender } from '../../dist/io/index-appender.js';
import { catchUpIndex } from '../../dist/io/index-catch-up.js';
import { StreamWriter } from '../../dist/io/stream-writer.js';

const [run, fsync, ...ids] = process.argv.slice(2);
const traces = join(run, 'monitors/file/traces');
const directory = join(traces, 'stream');
const ATTEMPTS = 3;

// At once, so that whoever is killed has said all that it knew.
const say = (text) => writeSync(1, `${text}\n`);
const onNotice = ({ message }) => say(`notice ${message}`);

mkdirSync(traces, { recursive: true });
const stream = await StreamWriter.open(directory, { chunkBytes: 2000, frameBytes: 900, fsync, onNotice });
const index = await IndexAppender.open(`${directory}.index.jsonl`, { fsync, onNotice });
await catchUpIndex(index, { directory, holds: 'episodes', onNotice });
for (const id of ids) await log(id);
await index.close();
try {
  await stream.close();
  say('closed');
} catch ({ code }) {
  say(`closed ${code}`);
}

/** Every second record is long, and comes in two parts, so that it moves on to the next chunk. */
async function log(id) {
  const isLong = ids.indexOf(id) % 2 === 1;
  const data = { text: 'x'.repeat(isLong ? 1700 : 500) };
  const episode = { id, env: { id: 'e' }, task: { type: 'T', data }, ok: true, errors: [], traces: [] };
  const place = await attempt(id, () => store(Buffer.from(JSON.stringify(episode)), isLong ? 300 : 0));
  if (place === null) return;
  await attempt(id, () => stream.flush());
  say(`stored ${id}`);
  const { chunk, offset } = place;
  const row = indexRecord(episode, { line: index.rows + 1, chunk, offset });
  await attempt(id, () => index.append(row).then(() => index.flush()));
  say(`indexed ${id}`);
}

async function store(bytes, firstBytes) {
  const line = stream.openLine();
  await new Promise((release) => {
    line.write({ bytes: bytes.subarray(0, firstBytes), release });
  });
  line.write(bytes.subarray(firstBytes));
  return line.commit();
}

async function attempt(id, action) {
  for (let count = 0; count < ATTEMPTS; count += 1) {
    try {
      return await action();
    } catch ({ code }) {
      say(`refused ${id} ${code}`);
    }
  }
  return null;
}
