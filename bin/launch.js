// Runs the command line: oclif parses and dispatches; everything written reaches its reader before the process ends.
import { enableCompileCache } from 'node:module';
import { Socket } from 'node:net';

/** Ends this process as SIGTERM does when the one that started it is gone (bin/relaunch.js), so that state is saved. */
function followParent() {
  const lifelineFd = process.env.PRL_LIFELINE_FD;
  if (lifelineFd === undefined) return;
  // Children of this process have no such pipe.
  delete process.env.PRL_LIFELINE_FD;
  const lifeline = new Socket({ fd: Number(lifelineFd), readable: true, writable: false });
  lifeline.on('close', () => process.kill(process.pid, 'SIGTERM'));
  // A broken pipe closes as well; that is what is listened for.
  lifeline.on('error', () => {});
  lifeline.resume();
  lifeline.unref();
}

/** A signal before the command listens, or after it stopped to, ends the process with the status of the contract. */
function keepSignalStatus() {
  for (const [signal, status] of Object.entries({ SIGINT: 130, SIGTERM: 143, SIGHUP: 143 })) {
    process.on(signal, () => {
      if (process.listenerCount(signal) === 1) process.exit(status);
    });
  }
}

/** Remembers a full disk under stdout. A reader that left (`prl … | head -1`) is no failure, nor is a deaf stderr. */
function watchStreams() {
  const watch = { failure: null };
  process.stdout.on('error', (error) => {
    if (error.code !== 'EPIPE' && error.code !== 'EIO') watch.failure = error;
  });
  process.stderr.on('error', () => {});
  return watch;
}

/** Resolves when everything written to the stream is out, or when nobody reads it any more. */
function drained(stream) {
  return new Promise((resolve) => {
    for (const event of ['close', 'error']) stream.once(event, resolve);
    stream.write('', () => resolve());
  });
}

/** Runs `prl` with this process's arguments and ends the process with the status of the contract. */
export async function launch() {
  enableCompileCache?.();
  // React picks its build by this; the one for development takes several times the processor time per frame.
  process.env.NODE_ENV ??= 'production';
  followParent();
  keepSignalStatus();
  const { run } = await import('@oclif/core/run');
  await import('@oclif/core/command');
  // Loading oclif's Command adds a listener that throws from the stream, past every catch; a full disk is to end in 8.
  process.stdout.removeAllListeners('error');
  const watch = watchStreams();
  try {
    await run(process.argv.slice(2), import.meta.url);
  } catch (error) {
    // Only what happens before or outside a command gets here; a command reports its own failures.
    const { handle } = await import('@oclif/core/handle');
    await handle(error);
  }
  await Promise.all([drained(process.stdout), drained(process.stderr)]);
  if (watch.failure !== null && !process.exitCode) {
    process.stderr.write(`prl: cannot write to stdout: ${watch.failure.message}\n`);
    process.exitCode = 8;
  }
  // A handle that a command forgot must not keep a finished process.
  process.exit();
}
