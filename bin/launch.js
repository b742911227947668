import { enableCompileCache } from 'node:module';

/** Runs the command line: oclif parses and dispatches, `flush` drains stdout, `handle` prints what failed. */
export async function launch() {
  enableCompileCache?.();
  process.stdout.on('error', (error) => {
    // The reader left (`prl … | head -1`): not a failure, and nobody is there to be told.
    if (error.code === 'EPIPE') process.exit(0);
    throw error;
  });
  const { run } = await import('@oclif/core/run');
  try {
    await run(process.argv.slice(2), import.meta.url);
    const { flush } = await import('@oclif/core/flush');
    await flush();
  } catch (error) {
    const { handle } = await import('@oclif/core/handle');
    await handle(error);
  }
}
