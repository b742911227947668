/** Calls into code of the producer. */
import { messageOf } from '../core/errors.js';

/** What whoever listens throws is theirs, and stops neither the writing nor their training (spec 07 section 3): a warning. */
export function guarded<N>(onNotice: (notice: N) => void): (notice: N) => void {
  return (notice) => {
    try {
      onNotice(notice);
    } catch (error) {
      process.emitWarning(`a handler of notices threw: ${messageOf(error)}`, 'PrlWarning');
    }
  };
}
