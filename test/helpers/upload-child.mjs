// The process of src/io/upload-child.ts from the sources, for tests that run without a build.
import './typescript-hooks.mjs';

await import('../../src/io/upload-child.ts');
