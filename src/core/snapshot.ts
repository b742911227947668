/**
 * What a view or a progress line may know of work under way: plain numbers and words, taken as a fresh copy about ten
 * times a second. No logic, no colour, no width. Bytes are uncompressed unless `wire` says otherwise.
 */

/**
 * Where an upload stands. `plan` reads the run, `send` hands it over, `following` waits for what a growing run still gets,
 * and hands it over; `verify` reads it back.
 */
export type UploadPhase = 'plan' | 'send' | 'following' | 'verify' | 'done';

/** Whether somebody writes a run, as far as can be told (spec 05 section 6). */
export type WriterState = 'live' | 'idle' | 'finished' | 'unknown';

/** Episodes (lines; of a run of bare traces, those) and the uncompressed bytes of them as they travel. */
export type EpisodeTotals = { readonly episodes: number; readonly bytes: number };

/** One moment of an upload. All counts start at 0 and never fall, except `queued` and `inFlight`. */
export type UploadSnapshot = {
  /** Name of the run directory or file, as a person would call it. Raw text: not safe for a terminal. */
  readonly run: string;
  /** Base URL of the service, without credentials. */
  readonly url: string;
  readonly runId: string | null;
  readonly team: string | null;
  readonly phase: UploadPhase;
  /** `episodes` is null until all that there was has been counted; with `growing` chunks it is a lower bound. */
  readonly plan: {
    readonly episodes: number | null;
    /** Until then: what the index of the run says; null without one. */
    readonly estimatedEpisodes: number | null;
    readonly bytes: number;
    readonly chunks: number;
    readonly growing: number;
  };
  /** Episodes that a filter has left out so far, of which the plan knows nothing; null without a filter. */
  readonly leftOut: number | null;
  /** Stored by this command; `wireBytes` counts request bodies as sent, every attempt. */
  readonly sent: EpisodeTotals & { readonly wireBytes: number; readonly requests: number };
  /** Stored by an earlier command, as the journal knows. */
  readonly already: EpisodeTotals;
  /** Read and not yet in a request. */
  readonly queued: EpisodeTotals;
  readonly inFlight: {
    readonly requests: number;
    readonly bytes: number;
    /** Requests that may be in flight at the moment; null before the first. */
    readonly limit: number | null;
  };
  /** With a run that is followed: what was read of it and is not settled yet, in lines and bytes as they travel. Null else. */
  readonly backlog: {
    readonly rows: number;
    readonly bytes: number;
    /** How long the oldest of it has been known; 0 when there is none. */
    readonly ageMs: number;
    /** Bytes on disk behind what was read, as of a moment ago. */
    readonly unreadBytes: number;
    /** Null until it was looked for. */
    readonly writer: WriterState | null;
  } | null;
  /** Memory held against the cap of `--budget`; null where no cap is kept. */
  readonly budget: { readonly usedBytes: number; readonly budgetBytes: number } | null;
  readonly retries: number;
  /** Set while no request may start: until when (epoch), whether the service named the time, and what it said. */
  readonly waiting: { readonly untilAtMs: number; readonly asked: boolean; readonly code: string | null } | null;
  /** Episodes read back and compared; null before the phase and without `--verify`. */
  readonly verify: { readonly done: number; readonly total: number } | null;
  readonly rejected: { readonly count: number; readonly lastCode: string | null };
  readonly damaged: number;
};

/** A snapshot with what only a series of them can tell. */
export type UploadProgress = UploadSnapshot & {
  /** Epoch milliseconds at which the snapshot was taken. */
  readonly takenAtMs: number;
  /** Milliseconds since the upload began. */
  readonly elapsedMs: number;
  /** Over the last 60 s at most; null while nothing was sent. */
  readonly bytesPerSecond: number | null;
  readonly wireBytesPerSecond: number | null;
  /** Time to the end of the phase at that rate; null when it cannot be told. */
  readonly remainingMs: number | null;
  /** Queued bytes, one figure a second, oldest first, at most 30. */
  readonly queueHistory: readonly number[];
};

/** One moment of an indexing. Bytes are uncompressed. */
export type IndexSnapshot = {
  /** Name of the run, as a person would call it. Raw text: not safe for a terminal. */
  readonly run: string;
  /** What happens to the rows. */
  readonly work: 'index' | 'check' | 'rows';
  /** Read so far. */
  readonly bytes: number;
  /** To be read, without what an earlier command has settled; null when only reading tells, of standard input for instance. */
  readonly totalBytes: number | null;
  readonly chunks: number;
  readonly sealed: number;
  readonly episodes: number;
  readonly damaged: number;
  readonly threads: number;
};

/** A snapshot with what only a series of them can tell. */
export type IndexProgress = IndexSnapshot & {
  /** Epoch milliseconds at which the snapshot was taken. */
  readonly takenAtMs: number;
  /** Milliseconds since the work began. */
  readonly elapsedMs: number;
  /** Over the last 60 s at most; null before the first second. */
  readonly bytesPerSecond: number | null;
  /** Time to the end at that rate; null when it cannot be told. */
  readonly remainingMs: number | null;
};
