/** Calls into code of the producer. */

/** What whoever listens throws is theirs, and must not stop the writing. */
export function guarded<N>(onNotice: (notice: N) => void): (notice: N) => void {
  return (notice) => {
    try {
      onNotice(notice);
    } catch (error) {
      process.nextTick(() => {
        throw error;
      });
    }
  };
}
