/** A Sender without a network: answers by script, takes virtual time, and remembers when it was asked. */
import type { Attempt, Clock, PackedBatch, Sender } from '../../src/core/upload/types.js';

export const STORED: Attempt = { outcome: 'stored', receipt: { uploadId: 'u', status: 'committed', mismatch: null } };

export function retryLater(retryAfterMs: number | null, code = 'http_503'): Attempt {
  return { outcome: 'retry', status: 503, code, message: 'later', retryAfterMs };
}

export function refused(status: number, code: string): Attempt {
  return { outcome: 'refused', status, code, message: `about ${code}` };
}

export type Sent = {
  readonly text: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly attempt: Attempt;
};

/** The text of a batch packed by `packText`. */
export type Script = (text: string, attemptOfText: number, index: number) => Attempt;

export class ScriptedSender implements Sender {
  readonly sent: Sent[] = [];
  inFlight = 0;
  peakInFlight = 0;
  readonly #clock: Clock;
  readonly #script: Script;
  readonly #latencyMs: (text: string) => number;
  readonly #attempts = new Map<string, number>();
  #index = 0;

  constructor(clock: Clock, script: Script, latencyMs: (text: string) => number = () => 10) {
    this.#clock = clock;
    this.#script = script;
    this.#latencyMs = latencyMs;
  }

  async send(batch: PackedBatch, signal: AbortSignal): Promise<Attempt> {
    const text = batch.digest;
    const count = (this.#attempts.get(text) ?? 0) + 1;
    this.#attempts.set(text, count);
    this.inFlight += 1;
    this.peakInFlight = Math.max(this.peakInFlight, this.inFlight);
    const startMs = this.#clock.nowMs();
    let attempt = this.#script(text, count, this.#index++);
    try {
      await this.#clock.sleep(this.#latencyMs(text), signal);
    } catch {
      attempt = { outcome: 'retry', status: null, code: 'aborted', message: 'aborted', retryAfterMs: null };
    }
    this.inFlight -= 1;
    this.sent.push({ text, startMs, endMs: this.#clock.nowMs(), attempt });
    return attempt;
  }
}
