/** An index row as a value (spec 04 section 2), and what else is known of its record when somebody selects by it. */

/** A row as JSON.parse gives it. Rows of files may come from any writer: a reader takes no type for granted. */
export type EpisodeRow = {
  readonly cost: number | null;
  readonly line: number;
  readonly offset: number;
  readonly id: string | null;
  readonly kind: string;
  readonly trace_ids: readonly string[];
  readonly env: string | null;
  readonly group: string | null;
  readonly ok: boolean | null;
  readonly num_errors: number;
  readonly reward: number | null;
  readonly advantage: number | null;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly turns: number;
  readonly branches: number;
  readonly stop_condition: string | null;
  readonly truncated: boolean;
  /** Epoch seconds. */
  readonly dispatch: number | null;
  /** Epoch seconds. */
  readonly arrival: number | null;
  /** Seconds. */
  readonly duration: number | null;
  /** Left out in the layout before chunks (R2). */
  readonly chunk?: number;
};

/** What an episode is selected by. */
export type RowFacts = {
  readonly row: EpisodeRow;
  /** `info.arrival.step` of the first trace, which no row has; null where the record says none. */
  readonly arrivalStep: number | null;
};

/** True for an episode that is asked for. */
export type RowSelector = (facts: RowFacts) => boolean;
