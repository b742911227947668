/** What a prime monitor does before its first call: the engine has compiled the call by then, and nothing else remains of it. */
import { execFile } from 'node:child_process';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../service/service-fixture.js';

const LIBRARY = pathToFileURL(resolve('dist/index.js')).href;
/** Of `%GetOptimizationStatus`: compiled by more than the first compiler. */
const IS_OPTIMIZED = 16;

const program = (state: string): string => `
  const { PrimeMonitor } = await import(${JSON.stringify(LIBRARY)});
  const isCompiled = () => (%GetOptimizationStatus(PrimeMonitor.prototype.log) & ${IS_OPTIMIZED}) !== 0;
  const before = isCompiled();
  const notices = [];
  const monitor = await PrimeMonitor.open({
    access: { url: 'http://127.0.0.1:9', apiKey: 'key' },
    run: { id: 'r1' },
    environment: { PRL_STATE_DIR: ${JSON.stringify(state)} },
    maxQueuedRecords: 1,
    budgetBytes: 1,
    onNotice: (notice) => notices.push(notice),
  });
  const { submitted, dropped, logged, queuedRecords, spoolBytes } = monitor.snapshot();
  console.log(JSON.stringify({ before, after: isCompiled(), notices, submitted, dropped, logged, queuedRecords, spoolBytes }));
  await monitor.finish(0);
`;

test('R-Q-1: the first call finds itself compiled, and the calls of the rehearsal are in no count, no notice and on no disk', async () => {
  const state = join(temporaryFolder(), 'state');
  const { stdout } = await promisify(execFile)(process.execPath, [
    ...['--allow-natives-syntax', '--input-type=module', '--eval'],
    program(state),
  ]);
  const nothing = { notices: [], submitted: 0, dropped: 0, logged: 0, queuedRecords: 0, spoolBytes: 0 };
  expect(JSON.parse(stdout)).toEqual({ before: false, after: true, ...nothing });
});
