/** What the service takes from a peer, in one object, so that a test can shrink each limit and meet it. */

/** Every limit has a unit in its name. Clocks start when the service begins to wait, not when a request arrives. */
export type ServiceLimits = {
  /** One request body on the wire; above it 413 without a code, as a gateway answers (spec 06 section 5). */
  readonly requestBytes: number;
  /** Uncompressed bytes of one upload (`upload_too_large`; spec 06 section 3). */
  readonly uploadBytes: number;
  /** One line without its LF, with its CR (`trace_too_large`; spec 06 section 3). */
  readonly lineBytes: number;
  /** Rows one upload may stage: a bare trace is one, an episode one and one for each trace in it. Also its lines. */
  readonly uploadRows: number;
  /** Traces of one episode. The real service's number is not public; its client speaks of hundreds as normal. */
  readonly episodeTraces: number;
  /** UTF-8 bytes of an episode id and of a trace id. */
  readonly idBytes: number;
  /** UTF-8 bytes of an environment id. */
  readonly environmentIdBytes: number;
  /** UTF-8 bytes of any other text that becomes a column, and of a context key or value. */
  readonly columnBytes: number;
  /** The `metadata` part. */
  readonly metadataBytes: number;
  /** The head of one multipart part, and what may precede the first boundary. */
  readonly partHeadBytes: number;
  /** How far in the future a `created_at` may lie: the producer's clock may be ahead, by this much. */
  readonly futureMs: number;
  /** Uploads whose bytes are being written at once; the next one is declined with 503. */
  readonly writers: number;
  /** A chunk that has reached this size takes no further upload. */
  readonly chunkBytes: number;
  /** The whole head of a request must have arrived by then. */
  readonly headersMs: number;
  /** Within each such span a sending peer must deliver at least `progressBytes`. */
  readonly progressMs: number;
  readonly progressBytes: number;
  /** After an answer that came before the end of the body, the rest is read and thrown away within these bounds. */
  readonly lingerMs: number;
  readonly lingerBytes: number;
  /** How long `close` waits for requests that are being served. */
  readonly shutdownMs: number;
};

const KIB = 1024;
const MIB = 1024 * KIB;

export const DEFAULT_LIMITS: ServiceLimits = {
  requestBytes: 256 * MIB + 128 * KIB,
  uploadBytes: 256 * MIB,
  lineBytes: 64 * MIB,
  uploadRows: 1_000_000,
  episodeTraces: 10_000,
  idBytes: KIB,
  environmentIdBytes: KIB,
  columnBytes: 64 * KIB,
  metadataBytes: 64 * KIB,
  partHeadBytes: 8 * KIB,
  futureMs: 24 * 3600 * 1000,
  writers: 32,
  chunkBytes: 1024 * MIB,
  headersMs: 20_000,
  progressMs: 30_000,
  progressBytes: 4 * KIB,
  lingerMs: 10_000,
  lingerBytes: 512 * MIB,
  shutdownMs: 5_000,
};
