// The thread of src/io/pack-worker.ts from the sources, for tests that run without a build.
import './typescript-hooks.mjs';

await import('../../src/io/pack-worker.ts');
