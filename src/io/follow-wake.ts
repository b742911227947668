/**
 * Waits between two looks at a run. Watches of the system make a look come sooner and are trusted for nothing else:
 * they can be missing, run out, overflow or stay silent on a network (T6, T7); a look comes in any case.
 */
import { type FSWatcher, watch } from 'node:fs';
import { messageOf } from '../core/errors.js';
import type { Clock } from '../core/upload/types.js';
import type { WatchedPlace } from './follow-types.js';

/** Changes that come close together are looked at once; also what limits the looks at a file that is always written. */
const GATHER_MS = 20;

export class Wake {
  readonly #clock: Clock;
  readonly #pollMs: number;
  #watched: string | null = null;
  #watcher: FSWatcher | null = null;
  #fault: string | null = null;
  #isDue = false;
  #wake: () => void = () => {};

  constructor(clock: Clock, pollMs: number) {
    this.#clock = clock;
    this.#pollMs = pollMs;
  }

  /** Watches a directory instead of the one before. Returns why it is not watched, once; null otherwise. */
  watch(place: WatchedPlace | null): string | null {
    const directory = place?.directory ?? null;
    if (directory !== this.#watched) {
      this.close();
      this.#watched = directory;
      if (place !== null) this.#start(place);
    }
    const fault = this.#fault;
    this.#fault = null;
    return fault;
  }

  #start({ directory, name }: WatchedPlace): void {
    const fail = (error: unknown): void => {
      this.close();
      this.#fault = messageOf(error);
    };
    try {
      this.#watcher = watch(directory, { persistent: false }, (_kind, changed) => {
        if (name === null || changed === null || changed === name) this.hurry();
      });
      this.#watcher.on('error', fail);
    } catch (error) {
      fail(error);
    }
  }

  /** Watches the same path anew, after another directory has taken it. */
  forget(): void {
    this.close();
    this.#watched = null;
  }

  /** Ends the wait at hand, or else the next one. */
  hurry(): void {
    this.#isDue = true;
    this.#wake();
  }

  /** Resolves after a change, at the latest after the poll time. @throws the signal's reason */
  async wait(signal: AbortSignal): Promise<void> {
    if (!this.#isDue) await this.#sleep(this.#pollMs, signal);
    if (this.#isDue) await this.#clock.sleep(GATHER_MS, signal).catch(() => {}); // the signal is asked below
    this.#isDue = false;
    signal.throwIfAborted();
  }

  close(): void {
    this.#watcher?.close();
    this.#watcher = null;
  }

  /** Ends early on a change or an abort. */
  async #sleep(ms: number, signal: AbortSignal): Promise<void> {
    const ending = new AbortController();
    const end = (): void => ending.abort();
    this.#wake = end;
    signal.addEventListener('abort', end, { once: true });
    if (!signal.aborted) await this.#clock.sleep(ms, ending.signal).catch(() => {}); // ended early
    signal.removeEventListener('abort', end);
    this.#wake = () => {};
  }
}
