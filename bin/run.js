#!/usr/bin/env node
// Launcher only: finds a Node new enough, guards the pipes, then hands over to oclif.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const NEEDS = [22, 19];
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

if (major > NEEDS[0] || (major === NEEDS[0] && minor >= NEEDS[1])) {
  const { launch } = await import('./launch.js');
  await launch();
} else {
  // `npm ci` brings a newer Node as a package; npm puts it on PATH, a direct call does not.
  const bundled = fileURLToPath(new URL('../node_modules/.bin/node', import.meta.url));
  if (!existsSync(bundled) || process.env.PRL_RELAUNCHED === '1') {
    process.stderr.write(
      `prl needs Node ${NEEDS.join('.')} or newer; this is ${process.versions.node} (${process.execPath}).\n` +
        'Install a newer Node, or run "npm ci" in the folder of prl, which brings one.\n',
    );
    process.exitCode = 2;
  } else {
    // A signal reaches the whole foreground group, so the child gets its own; this process only waits for the answer.
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {});
    const { status, signal } = spawnSync(bundled, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
      stdio: 'inherit',
      env: { ...process.env, PRL_RELAUNCHED: '1' },
    });
    process.exitCode = signal ? ({ SIGINT: 130, SIGTERM: 143 }[signal] ?? 1) : (status ?? 1);
  }
}
