/** Notices episode ids that one upload sends more than once. A few bytes an id, however long it is. */
import { createHash } from 'node:crypto';

/** 52 bits of a digest, which a number holds exactly. */
const HEX_DIGITS = 13;

export class EpisodeIds {
  readonly #seen = new Set<number>();
  #repeats = 0;
  #example = '';

  /** @param id null for a line that is no episode */
  add(id: string | null): void {
    if (id === null) return;
    const key = Number.parseInt(createHash('sha256').update(id).digest('hex').slice(0, HEX_DIGITS), 16);
    if (!this.#seen.has(key)) {
      this.#seen.add(key);
      return;
    }
    this.#repeats += 1;
    this.#example ||= id;
  }

  /** One line for the user; null when every id came once. */
  notice(): string | null {
    if (this.#repeats === 0) return null;
    const [verb, many] = this.#repeats === 1 ? ['line repeats', 'it is'] : ['lines repeat', 'each is'];
    return `${this.#repeats} ${verb} the id of an earlier episode of the run (${this.#example}); ${many} stored as a copy of its own, and the service shows the newest copy`;
  }
}
