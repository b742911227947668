/** Follows a run in the background of a test: what was told so far, and waits for what is to be told. */
import { readdirSync, readlinkSync } from 'node:fs';
import { onTestFinished } from 'vitest';
import type { Clock } from '../../src/core/upload/types.js';
import { followRecords } from '../../src/io/follow-run.js';
import type { FollowEvent, FollowOptions } from '../../src/io/follow-types.js';
import type { Run } from '../../src/io/run-types.js';

type Told<Type extends FollowEvent['type']> = Extract<FollowEvent, { readonly type: Type }>;

/** Longest wait for something to be told; only a failing test takes so long. */
const PATIENCE_MS = 20_000;

export class Following {
  readonly events: FollowEvent[] = [];
  /** Resolves when following has ended; rejects with its error. */
  readonly ended: Promise<void>;
  readonly #abort = new AbortController();
  #wake: () => void = () => {};
  #isOver = false;

  constructor(target: Run | string, options: FollowOptions = {}) {
    this.ended = this.#follow(followRecords(target, { pollMs: 20, ...options, signal: this.#abort.signal }));
    this.ended.catch(() => {}); // whoever waits for it sees it
    onTestFinished(() => this.stop());
  }

  all<Type extends FollowEvent['type']>(type: Type): Told<Type>[] {
    return this.events.filter((event) => event.type === type) as Told<Type>[];
  }

  /** The ids of the records that were told, in order. */
  get ids(): string[] {
    return this.all('record').map(({ record }) => (JSON.parse(record.bytes.toString()) as { id: string }).id);
  }

  /** What is damaged: kind, chunk and offset of each place, in order. */
  get damage(): [string, number, number][] {
    return this.all('damage').map(({ damage: { kind, chunk, offset } }) => [kind, chunk, offset]);
  }

  /** The open line that was told last, as its offset and bytes. */
  get growing(): [number, number] | null {
    const last = this.all('growing').at(-1);
    return last === undefined ? null : [last.offset, last.bytes];
  }

  /** Waits until the condition holds; says what was told when it does not come to hold. */
  async until(condition: (following: this) => boolean): Promise<void> {
    const deadline = performance.now() + PATIENCE_MS;
    while (!condition(this)) {
      if (this.#isOver) await this.ended;
      if (this.#isOver || performance.now() > deadline) throw new Error(`in vain: ${condition}; ${this.#last()}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, 1_000);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }

  /** Waits until as many records were told; they must be these, in order. */
  async untilIds(...ids: readonly string[]): Promise<void> {
    await this.until((told) => told.all('record').length >= ids.length);
    if (this.ids.join() !== ids.join()) throw new Error(`told ${this.ids.join()} instead of ${ids.join()}`);
  }

  async stop(): Promise<void> {
    this.#abort.abort();
    await this.ended.catch((error: unknown) => {
      if (error !== this.#abort.signal.reason) throw error;
    });
  }

  async #follow(events: AsyncIterable<FollowEvent>): Promise<void> {
    try {
      for await (const event of events) {
        this.events.push(event);
        this.#wake();
      }
    } finally {
      this.#isOver = true;
      this.#wake();
    }
  }

  #last(): string {
    const shown = this.events.slice(-12).map((event) => {
      return event.type === 'record' ? `record at ${event.record.offset}` : JSON.stringify(event);
    });
    return shown.join('; ');
  }
}

/** Follows without watches, and looks at the files only when told to: what happens between two looks is certain. */
export class StepwiseFollowing extends Following {
  readonly #clock: StepClock;

  constructor(target: Run | string, options: FollowOptions = {}, clock = new StepClock()) {
    super(target, { watches: false, ...options, clock });
    this.#clock = clock;
  }

  /** Looks once, after this time; resolves when all that the look found was told. The first look comes by itself. */
  async look(afterMs = 500): Promise<void> {
    await Promise.race([this.#clock.step(afterMs), this.ended]);
  }
}

class StepClock implements Clock {
  #nowMs = 0;
  #wake: (() => void) | null = null;
  #asleep: () => void = () => {};

  nowMs(): number {
    return this.#nowMs;
  }

  sleep(_ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      this.#wake = resolve;
      this.#asleep();
    });
  }

  async step(ms: number): Promise<void> {
    await this.#sleeper();
    this.#nowMs += ms;
    const wake = this.#wake;
    this.#wake = null;
    wake?.();
    await this.#sleeper();
  }

  #sleeper(): Promise<void> {
    return new Promise((resolve) => {
      this.#asleep = resolve;
      if (this.#wake !== null) resolve();
    });
  }
}

/** Files and directories below a folder that this process has open. */
export function openBelow(folder: string): string[] {
  const targets = readdirSync('/proc/self/fd').map((file) => {
    try {
      return readlinkSync(`/proc/self/fd/${file}`);
    } catch {
      return ''; // the listing's own
    }
  });
  return targets.filter((target) => target.startsWith(folder));
}
