/**
 * The way out that waits for nothing (demands C8, U24). `process.exit` lets threads end what they are at, and one that is
 * stuck in a disk or a name server that hangs ends when those do: minutes later, or never. A signal waits for no thread.
 */
import { SIGNAL_STATUS } from './exit-codes.js';

/** What runs in threads and can hang, as `process.getActiveResourcesInfo` calls it: files, directories, name look-ups. */
const THREAD_WORK = /^(?:FSReq|FileHandleCloseReq|CloseReq|GetAddrInfoReq|GetNameInfoReq|DirHandle)/;
/** Work that is under way mostly ends within this; what has not by then is taken for stuck. Of the 200 ms of demand C8. */
const PATIENCE_MS = 100;
const LOOK_MS = 5;

/** Ends the process with 130 or 143, as an exit status or, where that would hang, by the signal that a shell shows so. */
export function leaveNow(status: number): void {
  const deadlineMs = performance.now() + PATIENCE_MS;
  const look = (): void => {
    const isBusy = process.getActiveResourcesInfo().some((name) => THREAD_WORK.test(name));
    if (isBusy && performance.now() < deadlineMs) {
      setTimeout(look, LOOK_MS);
      return;
    }
    // Last of all, so that whoever has the terminal gives it back before.
    if (isBusy) process.once('exit', () => dieBySignal(status));
    process.exit(status);
  };
  look();
}

function dieBySignal(status: number): void {
  const signal = status === SIGNAL_STATUS.SIGINT ? 'SIGINT' : 'SIGTERM';
  // Without a listener it has the effect that the system gives it.
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
}
