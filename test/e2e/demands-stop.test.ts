/**
 * Demands U24 and C8 at the built command, where the disk of its state hangs: a pipe that nobody writes stands in the place
 * of the journal, so that a thread of the process waits for ever, as it does for a file server that is gone.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Running } from '../helpers/child.js';
import { tempFolder } from '../helpers/temp-folder.js';
import { copyOfRun, startPrl } from '../helpers/upload-command.js';

/** Longer than what counts as one signal from several senders. */
const BETWEEN_SIGNALS_MS = 150;
const NOTICE = /saving the journal of what is stored; a second signal leaves at once/;

let home = '';
let run = '';

beforeEach(() => {
  home = tempFolder();
  run = copyOfRun('verifiers-eval', home);
  mkdirSync(join(run, 'monitors/prl'), { recursive: true });
  execFileSync('mkfifo', [join(run, 'monitors/prl/journal')]);
});

/** An upload that has come to its journal, and no further. */
async function startHung(): Promise<Running> {
  const upload = startPrl(['upload', run, '--url', 'http://127.0.0.1:9', '--run-id', 'r', '--no-tui'], { home });
  onTestFinished(() => void upload.child.kill('SIGKILL'));
  await vi.waitFor(() => expect(upload.stderr()).toContain('uploading '), 20_000);
  await new Promise((done) => setTimeout(done, 500));
  return upload;
}

/** What a shell shows: a process that ends by a signal has 128 and its number. */
async function shownStatus({ ended }: Running): Promise<number> {
  const { status, signal } = await ended;
  return signal === null ? (status ?? -1) : 128 + constants.signals[signal];
}

describe.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)('%s while the disk hangs', (signal, status) => {
  test('says so at once, and is out after the time that saving may take', async () => {
    const upload = await startHung();
    const startedMs = performance.now();
    upload.child.kill(signal);
    await vi.waitFor(() => expect(upload.stderr()).toMatch(NOTICE), { timeout: 2000, interval: 5 });
    expect(await shownStatus(upload)).toBe(status);
    // Two seconds are the demand; the rest is this machine's.
    expect(performance.now() - startedMs).toBeLessThan(4000);
  });

  test('a second one is out at once, with the status of the first', async () => {
    const upload = await startHung();
    upload.child.kill(signal);
    await vi.waitFor(() => expect(upload.stderr()).toMatch(NOTICE), { timeout: 2000, interval: 5 });
    await new Promise((done) => setTimeout(done, BETWEEN_SIGNALS_MS));
    const startedMs = performance.now();
    upload.child.kill('SIGINT');
    expect(await shownStatus(upload)).toBe(status);
    // 200 ms are the demand; waiting for the end of the grace time would take 1,850.
    expect(performance.now() - startedMs).toBeLessThan(1000);
  });
});
