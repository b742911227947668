import { defineConfig } from 'vitest/config';

/** The official Python libraries as judges; see test/conformance/python.ts for what is needed. */
export default defineConfig({
  test: {
    disableConsoleIntercept: true,
    include: ['test/conformance/**/*.test.ts'],
    testTimeout: 300_000,
    hookTimeout: 300_000,
    fileParallelism: false,
    globalSetup: ['test/helpers/build-once.ts'],
  },
});
