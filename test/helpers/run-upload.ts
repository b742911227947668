/** One upload of a run in this process, with the settings that most tests want, and the loss of everything it remembers. */
import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { UploadOutcome } from '../../src/core/upload/outcome.js';
import { openRun } from '../../src/io/run.js';
import { RunUpload } from '../../src/io/run-upload.js';
import type { RunUploadOptions } from '../../src/io/run-upload-options.js';
import { accessTo } from './access.js';

export type UploadRunOptions = Partial<RunUploadOptions> & {
  /** The run directory, or a file. State that has no place there is kept beside it. */
  readonly root: string;
  readonly service: { readonly url: string; readonly token: string };
  readonly signal?: AbortSignal;
};

export async function uploadRun({ root, service, signal, ...change }: UploadRunOptions): Promise<UploadOutcome> {
  const session = new RunUpload({
    run: await openRun(root),
    path: root,
    name: 'run',
    access: { ...accessTo(service.url), apiKey: service.token },
    serviceName: 'the service',
    runId: null,
    environmentRunId: 'of-the-environment',
    stamps: true,
    context: {},
    concurrency: 2,
    targetBytes: 4_000,
    compress: 'none',
    maxAttempts: 2,
    retriesRejected: false,
    verifies: false,
    environment: { PRL_STATE_DIR: join(dirname(root), 'state') },
    onNotice: (message) => {
      throw new Error(message);
    },
    ...change,
  });
  return session.run(signal ?? new AbortController().signal);
}

/** Takes away the journal of a run, wherever it is. */
export function loseJournal(root: string): void {
  rmSync(join(root, 'monitors/prl'), { recursive: true, force: true });
  rmSync(join(dirname(root), 'state'), { recursive: true, force: true });
}
