/** Spec 07 section 3: whatever a producer's own handler of notices throws, it neither stops the uploads nor comes out of a call. */
import { spawn } from 'node:child_process';
import { expect, test } from 'vitest';
import { watchChild } from '../helpers/child.js';
import { serve, storedIds } from '../helpers/primed.js';
import { tempFolder } from '../helpers/temp-folder.js';

/** Two episodes with room for one, and a handler that fails each time; what it throws is a warning, and ends nobody. */
const PRODUCER = `
import { PrimeMonitor } from './dist/index.js';
process.on('warning', ({ name, message }) => console.log(name, message));
const [url, state] = process.argv.slice(1);
const monitor = await PrimeMonitor.open({
  access: { url, apiKey: 'key' },
  run: { id: 'r1' },
  environment: { PRL_STATE_DIR: state },
  maxQueuedRecords: 1,
  onNotice: ({ kind }) => { throw new Error(kind); },
});
const episodeOf = (id) => ({ id, env: { id: 'a' }, task: { type: 'T', data: {} }, ok: true, errors: [], traces: [] });
for (const id of ['one', 'two']) console.log('logged', monitor.log(episodeOf(id), { kind: 'train', step: 1 }));
const { counts } = await monitor.finish();
console.log('counts', counts.stored, counts.dropped);
`;

test('a handler of notices that throws', async () => {
  const server = await serve();
  const state = tempFolder();
  const child = spawn(process.execPath, ['--input-type=module', '--eval', PRODUCER, server.url, state], {
    env: { PATH: process.env.PATH ?? '', HOME: state },
  });
  const { status, stdout } = await watchChild(child).ended;
  expect({ status, lines: stdout.trim().split('\n') }).toEqual({
    status: 0,
    lines: ['logged true', 'logged false', 'PrlWarning a handler of notices threw: dropped', 'counts 1 1'],
  });
  expect(storedIds(server)).toEqual(['one']);
});
