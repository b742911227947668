/** Uploads of a run while it grows, in the background of a test: how far they are, and what becomes of them. */
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { UploadSnapshot } from '../../src/core/snapshot.js';
import type { UploadOutcome } from '../../src/core/upload/outcome.js';
import { openRun } from '../../src/io/run.js';
import { RunUpload } from '../../src/io/run-upload.js';
import type { RunUploadOptions } from '../../src/io/run-upload-options.js';
import { accessTo } from './access.js';

/** Longest wait for something to happen; only a failing test takes so long. */
const PATIENCE_MS = 20_000;

/** A service of a test; without a token, one that asks for none. */
export type UploadService = { readonly url: string; readonly token?: string };

export type FollowedOptions = Partial<RunUploadOptions> & { readonly root: string; readonly service: UploadService };

export class FollowedUpload {
  readonly notices: string[] = [];
  /** Resolves at the end of the upload; rejects with its error. */
  readonly ended: Promise<UploadOutcome>;
  readonly #upload: RunUpload;
  readonly #abort = new AbortController();
  #isOver = false;

  private constructor(options: RunUploadOptions) {
    this.#upload = new RunUpload({ ...options, onNotice: (notice) => void this.notices.push(notice) });
    this.ended = this.#upload.run(this.#abort.signal).finally(() => {
      this.#isOver = true;
    });
    this.ended.catch(() => {}); // whoever waits for it sees it
    onTestFinished(async () => void (await this.stop().catch(() => {})));
  }

  /** `root`: a run directory, or a file. State is kept beside it. */
  static async start({ root, service, ...change }: FollowedOptions): Promise<FollowedUpload> {
    const { url, token } = service;
    return new FollowedUpload({
      run: await openRun(root),
      path: root,
      name: 'followed',
      access: token === undefined ? accessTo(url) : { ...accessTo(url), apiKey: token },
      serviceName: url,
      runId: null,
      environmentRunId: null,
      stamps: false,
      context: {},
      concurrency: 2,
      targetBytes: 1_000_000,
      compress: 'none',
      maxAttempts: 3,
      retriesRejected: false,
      verifies: false,
      follows: true,
      lingerMs: 20,
      environment: { PRL_STATE_DIR: join(root, '../state') },
      onNotice: () => {},
      ...change,
    });
  }

  get snapshot(): UploadSnapshot {
    return this.#upload.snapshot();
  }

  /** Waits until the condition holds, while the upload goes on. */
  async until(condition: (upload: this) => boolean): Promise<void> {
    const deadline = performance.now() + PATIENCE_MS;
    while (!condition(this)) {
      if (this.#isOver) throw new Error(`ended before ${condition}: ${JSON.stringify(await this.ended)}`);
      if (performance.now() > deadline) throw new Error(`in vain: ${condition}; ${JSON.stringify(this.snapshot)}`);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  /** Waits until so many episodes are stored by this upload. */
  untilSent(episodes: number): Promise<void> {
    return this.until(({ snapshot }) => snapshot.sent.episodes >= episodes);
  }

  drain(): Promise<UploadOutcome> {
    this.#upload.drain();
    return this.ended;
  }

  /** As a signal does. */
  stop(): Promise<UploadOutcome> {
    this.#abort.abort();
    return this.ended;
  }
}
