/** A source that may have to wait for more input for ever, as standard input may, read only until a signal. */

/** Ends with the signal, even while the source is waiting. */
export async function* untilAborted<T>(source: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  const iterator = source[Symbol.asyncIterator]();
  let isWaiting = false;
  try {
    for (;;) {
      if (signal.aborted) return;
      const reading = iterator.next();
      isWaiting = true;
      const next = await orAborted(reading, signal);
      if (next === 'aborted') {
        reading.catch(() => {}); // its source is being abandoned
        return;
      }
      isWaiting = false;
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    // Returning from a source that is still reading would wait for that read.
    const returning = iterator.return?.();
    if (isWaiting) returning?.catch(() => {});
    else await returning;
  }
}

/**
 * Not Promise.race with one promise for the abort: each race would leave its winner, a whole batch, reachable from that
 * promise for the length of the upload.
 */
function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T | 'aborted'> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => resolve('aborted');
    signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
