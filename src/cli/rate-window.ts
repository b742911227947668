/** Growth of counts over the last 60 s (demand P1): the same rates for whoever asks ten times a second or once in 30 s. */

/** The span that rates are taken over, in milliseconds. */
export const RATE_WINDOW_MS = 60_000;

/** Least time between two samples that are kept, so that a window holds at most 61 of them. */
const SAMPLE_INTERVAL_MS = 1000;

type Sample<Count extends string> = { readonly atMs: number; readonly counts: Readonly<Record<Count, number>> };

export class RateWindow<Count extends string> {
  /** Oldest first, at least `SAMPLE_INTERVAL_MS` apart; the first may be older than the window, never the second. */
  readonly #samples: Sample<Count>[] = [];
  #now: Sample<Count> | null = null;

  /** Takes the counts of now, in monotonic milliseconds; true when they are the first in a second. */
  add(atMs: number, counts: Readonly<Record<Count, number>>): boolean {
    const now = { atMs, counts };
    this.#now = now;
    const last = this.#samples.at(-1);
    const isKept = last === undefined || atMs - last.atMs >= SAMPLE_INTERVAL_MS;
    if (isKept) this.#samples.push(now);
    while (atMs - (this.#samples[1]?.atMs ?? atMs) >= RATE_WINDOW_MS) this.#samples.shift();
    return isKept;
  }

  /** Growth of a count per second up to what was added last; null when no time passed or nothing grew. */
  perSecond(count: Count): number | null {
    const [first] = this.#samples;
    if (first === undefined || this.#now === null) return null;
    const spanMs = this.#now.atMs - first.atMs;
    const grown = this.#now.counts[count] - first.counts[count];
    return spanMs > 0 && grown > 0 ? (grown * 1000) / spanMs : null;
  }
}
