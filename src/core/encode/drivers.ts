/** The two ways to drive an encoder to the end of a value: at a stretch, and in slices of the event loop. */
import type { RecordEncoder } from './record-encoder.js';
import type { ModelRule } from './record-rules.js';
import type { Slices } from './slices.js';
import type { EncodedPart } from './types.js';

const NEVER = (): boolean => false;

/**
 * Encodes a value at a stretch and hands its parts to `take` in order. Their bytes are written over once it returns.
 *
 * @throws EncodeError for what has no JSON text; parts may have been taken before it is met
 */
export function encodeTo(
  encoder: RecordEncoder,
  value: unknown,
  { model = null, take }: { readonly model?: ModelRule | null; readonly take: (bytes: Uint8Array) => void },
): void {
  encoder.begin(value, model);
  try {
    for (let step = encoder.step(NEVER); ; step = encoder.step(NEVER)) {
      for (const part of encoder.takeParts()) {
        take(part.bytes);
        part.release();
      }
      if (step === 'done') return;
      if (step === 'full' && !encoder.hasRoom) throw new Error('parts of an earlier value are still held');
    }
  } finally {
    encoder.abandon();
  }
}

/** The bytes of a value. @throws EncodeError for what has no JSON text */
export function encodeToBuffer(encoder: RecordEncoder, value: unknown, model: ModelRule | null = null): Buffer {
  const parts: Buffer[] = [];
  encodeTo(encoder, value, { model, take: (bytes) => parts.push(Buffer.from(bytes)) });
  return Buffer.concat(parts);
}

export type EncodePartsOptions = {
  /** Default null: plain JSON. */
  readonly model?: ModelRule | null;
  readonly slices: Slices;
  readonly signal?: AbortSignal | undefined;
};

/**
 * Encodes a value in slices. Parts come in order while it is encoded; each is to be released, and encoding waits when
 * no buffer is free. A consumer that stops early leaves the encoder ready for the next value.
 *
 * @throws EncodeError for what has no JSON text, and the signal's reason; parts may have come before
 */
export async function* encodeParts(
  encoder: RecordEncoder,
  value: unknown,
  { model = null, slices, signal }: EncodePartsOptions,
): AsyncGenerator<EncodedPart, void, void> {
  encoder.begin(value, model);
  let parts: EncodedPart[] = [];
  try {
    for (;;) {
      signal?.throwIfAborted();
      const step = encoder.step(slices.isOver);
      parts = encoder.takeParts();
      for (let part = parts.shift(); part !== undefined; part = parts.shift()) yield part;
      if (step === 'done') return;
      if (step === 'full' && !encoder.hasRoom) await encoder.released();
      if (slices.isOver()) await slices.giveBack();
    }
  } finally {
    for (const part of parts) part.release();
    encoder.abandon();
  }
}
