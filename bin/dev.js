#!/usr/bin/env node
// For development: builds, then runs the command. Node cannot run the .tsx sources as they are.
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

// The build's output goes to stderr: stdout belongs to the command.
execFileSync('npm', ['run', '--silent', 'build'], {
  cwd: fileURLToPath(new URL('..', import.meta.url)),
  stdio: ['ignore', 2, 2],
});
await import('./run.js');
