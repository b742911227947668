/** What the encoder, a stream writer and whoever drives them agree on. No logic. */

/** A run of encoded bytes in a pooled buffer. Its bytes stay until `release`, which must be called once. */
export type EncodedPart = {
  readonly bytes: Uint8Array;
  release(): void;
};

/**
 * How an encoding shares the thread. Handed in, since core has no clock.
 *
 * `sliceMs`: longest work at a stretch, in ms. `nowMs`: monotonic ms. `giveBack`: resolves after the event loop has had
 * its turn (setImmediate; a MessageChannel does not give it, design/event-loop.md section 2).
 */
export type Pace = {
  readonly sliceMs: number;
  nowMs(): number;
  giveBack(): Promise<void>;
};
