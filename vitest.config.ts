import { defineConfig } from 'vitest/config';

/** Two projects: what runs in milliseconds against the sources, and what needs the built command as a child process. */
export default defineConfig({
  test: {
    disableConsoleIntercept: true,
    // Most of the time is waiting for processes and for what a demand makes us wait: a worker for each core, and not one less.
    maxWorkers: '100%',
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['test/**/*.test.{ts,tsx}'],
          exclude: ['test/e2e/**', 'test/conformance/**'],
          testTimeout: 30_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          globalSetup: ['test/helpers/build-once.ts'],
        },
      },
    ],
    coverage: {
      provider: 'v8',
      include: ['src/core/**', 'src/io/**'],
      thresholds: { lines: 90, branches: 90 },
    },
  },
});
