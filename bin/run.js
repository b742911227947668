#!/usr/bin/env node
// Launcher only: runs the command line on this Node when it is new enough, else on the one `npm ci` brings.
const NEEDS = [22, 19];
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

if (major > NEEDS[0] || (major === NEEDS[0] && minor >= NEEDS[1])) {
  const { launch } = await import('./launch.js');
  await launch();
} else {
  const { relaunch } = await import('./relaunch.js');
  relaunch(NEEDS.join('.'));
}
