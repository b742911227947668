import { defineConfig } from 'vitest/config';

/** Measurements only, never part of `npm test`: one question a file, its answer in the file's header. */
export default defineConfig({
  test: { include: [], benchmark: { include: ['bench/**/*.bench.ts'] }, testTimeout: 600_000 },
});
