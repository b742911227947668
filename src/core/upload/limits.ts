/** Every number of the upload wire, in one place (spec 06 sections 2, 3 and 6; reliability.md U10 and U13). */

const MIB = 1024 * 1024;

/** Uncompressed bytes a request aims at; chosen upstream to stay under a 32 MiB gateway cap. */
export const DEFAULT_TARGET_BATCH_BYTES = 30 * MIB;
/** Hard cap of the service on uncompressed bytes a request; a target must lie in 1 to this. */
export const MAX_BATCH_BYTES = 256 * MIB;
/** Cap of the service on one line, without trailing LFs but with CR. */
export const MAX_LINE_BYTES = 64 * MIB;
/** Cap of the service on lines a request. */
export const MAX_BATCH_LINES = 1_000_000;
/** Cap of the gateway on one request body; a body above it may be refused before the service sees it. */
export const GATEWAY_REQUEST_BYTES = 32 * MIB;

/** Requests in flight, of the 2 to 8 that the contract allows a producer, where nothing adapts their number. */
export const DEFAULT_CONCURRENCY = 4;
/** The most that adapting leads to. */
export const MAX_ADAPTIVE_CONCURRENCY = 8;
/** The most that `--concurrency` takes: whoever asks for more than the contract allows knows the service. */
export const MAX_CONCURRENCY = 64;

/** Bytes that an upload holds in memory (`--budget`, U7). */
export const DEFAULT_BUDGET_BYTES = 256 * MIB;

/**
 * Bytes of lines that a packing thread is handed at once: about 10 ms of its work. A batch that is smaller is not worth the
 * way to another thread.
 */
export const PACK_WINDOW_BYTES = MIB;
/** Windows of one batch: one is compressed, one waits, so that the thread need not wait for anybody, and one is filled. */
export const PACK_WINDOWS = 3;

/**
 * Attempts for one batch, the first included, at a service that has answered nothing yet: it may not be there at all. One
 * that has is waited for, however long it is away (U12).
 */
export const FIRST_ATTEMPTS = 5;
/** Longest wait that the service may ask for with Retry-After (`--max-wait`). */
export const DEFAULT_MAX_WAIT_MS = 15 * 60_000;
/** Longest own back-off, before jitter. */
export const MAX_BACKOFF_MS = 30_000;
/** First own back-off; doubles with each attempt. */
export const FIRST_BACKOFF_MS = 1_000;
/** Attempts for one read. */
export const READ_ATTEMPTS = 3;

/** Establishing a connection, TLS included. */
export const CONNECT_TIMEOUT_MS = 10_000;
/** Longest time without a byte accepted by the peer or received from it. Total time has no limit (U13). */
export const PROGRESS_TIMEOUT_MS = 60_000;
/** Redirects followed for one attempt. */
export const MAX_REDIRECTS = 5;
/** Most bytes read of an answer to an upload; receipts and error bodies are a few hundred. */
export const MAX_ANSWER_BYTES = MIB;
