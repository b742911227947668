import { execFileSync } from 'node:child_process';
import { existsSync, globSync, statSync } from 'node:fs';

/** Builds `dist` when a source is newer than it, so that end-to-end tests never run yesterday's command. */
export default function buildOnce(): void {
  const builtAtMs = existsSync('dist/index.js') ? statSync('dist/index.js').mtimeMs : 0;
  const newestSourceMs = Math.max(...globSync('src/**/*.{ts,tsx}').map((file) => statSync(file).mtimeMs));
  if (newestSourceMs > builtAtMs) execFileSync('npm', ['run', 'build'], { stdio: 'inherit' });
}
