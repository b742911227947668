/**
 * SIGINT, SIGTERM and SIGHUP as one AbortSignal (demand C8). The first one asks the command to stop and says so at once;
 * the second leaves on the spot; so does the end of the grace time. The status is 130 or 143 in every case.
 */
import { type InterruptSignal, SIGNAL_STATUS } from './exit-codes.js';

/** A terminal signals its whole process group and a launcher passes its copy on: within this time they are one. */
export const SAME_SIGNAL_MS = 100;

/** How long a command may take to save its state after the first signal, in milliseconds. */
export const SAVE_GRACE_MS = 2000;

const INTERRUPT_SIGNALS: readonly InterruptSignal[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/** What an interrupt needs of its surroundings; a command line passes the process, a test passes its own. */
export type InterruptEdges = {
  /** Called once, synchronously, at the first signal: tell the user what is being saved. */
  readonly announce: (signal: InterruptSignal) => void;
  /** Leaves the process with this status, at once. */
  readonly leave: (status: number) => void;
  /** Monotonic milliseconds. */
  readonly nowMs: () => number;
  /** Where the signals come from. */
  readonly emitter: {
    on(signal: InterruptSignal, listener: (signal: InterruptSignal) => void): unknown;
    off(signal: InterruptSignal, listener: (signal: InterruptSignal) => void): unknown;
  };
};

/** One command's view of the signals: created when it starts, disposed when it ends. */
export class Interrupt {
  readonly #edges: InterruptEdges;
  readonly #controller = new AbortController();
  readonly #listener = (signal: InterruptSignal): void => this.raise(signal);
  #received: InterruptSignal | null = null;
  #firstAtMs = 0;
  #grace: NodeJS.Timeout | null = null;

  constructor(edges: InterruptEdges) {
    this.#edges = edges;
    for (const signal of INTERRUPT_SIGNALS) edges.emitter.on(signal, this.#listener);
  }

  /** Aborted at the first signal, or by `abort`; pass it to everything that waits. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The first signal received, null as long as there was none. */
  get received(): InterruptSignal | null {
    return this.#received;
  }

  /** 130 or 143 once a signal came, else null. */
  get status(): number | null {
    return this.#received === null ? null : SIGNAL_STATUS[this.#received];
  }

  /** A signal arrived, or a key that stands for one (raw mode turns Ctrl-C into a byte). */
  raise(signal: InterruptSignal): void {
    const nowMs = this.#edges.nowMs();
    if (this.#received === null) {
      this.#received = signal;
      this.#firstAtMs = nowMs;
      this.#edges.announce(signal);
      const status = SIGNAL_STATUS[signal];
      this.#grace = setTimeout(() => this.#edges.leave(status), SAVE_GRACE_MS);
      // Whoever has nothing left to save ends earlier; the timer must not keep the process.
      this.#grace.unref();
      this.#controller.abort(new DOMException(`stopped by ${signal}`, 'AbortError'));
      return;
    }
    if (nowMs - this.#firstAtMs < SAME_SIGNAL_MS) return;
    this.#edges.leave(SIGNAL_STATUS[this.#received]);
  }

  /** Stops the command without a signal, e.g. because the reader of stdout left. */
  abort(reason: string): void {
    this.#controller.abort(new DOMException(reason, 'AbortError'));
  }

  /** Takes the listeners and the grace timer away. A signal after this has the system's default effect. */
  dispose(): void {
    for (const signal of INTERRUPT_SIGNALS) this.#edges.emitter.off(signal, this.#listener);
    if (this.#grace !== null) clearTimeout(this.#grace);
  }
}
