/**
 * The built package in a folder of its own, with the probe command among its commands: what is installed, where tests can change
 * it. Packages are linked; sources are copied, because Node resolves a link to where it points.
 */
import { execFileSync, spawn } from 'node:child_process';
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type Ended, type Running, watchChild } from './child.js';

export type RunOptions = {
  readonly node?: string;
  readonly environment?: Record<string, string>;
  readonly nodeFlags?: string[];
};

export class CommandRoot {
  readonly folder = mkdtempSync(path.join(tmpdir(), 'prl-command-root-'));
  readonly launcher = path.join(this.folder, 'bin', 'run.js');

  /** An environment without CI, colour or terminal settings, with all state in this folder. */
  readonly environment = {
    PATH: process.env.PATH ?? '',
    HOME: this.folder,
    PRL_STATE_DIR: path.join(this.folder, 'state'),
    PRL_DATA_DIR: path.join(this.folder, 'data'),
  };

  constructor() {
    for (const name of ['bin', 'dist', 'assembly', 'scripts', 'package.json'])
      cpSync(name, path.join(this.folder, name), { recursive: true });
    copyFileSync('test/e2e/probe-command.js', path.join(this.folder, 'dist', 'commands', 'probe.js'));
    const packages = path.join(this.folder, 'node_modules');
    mkdirSync(path.join(packages, '.bin'), { recursive: true });
    for (const name of readdirSync('node_modules')) {
      if (!name.startsWith('.')) symlinkSync(path.resolve('node_modules', name), path.join(packages, name));
    }
    // The Node that `npm ci` would bring.
    symlinkSync(process.execPath, path.join(packages, '.bin', 'node'));
    execFileSync(process.execPath, [path.join(this.folder, 'scripts', 'write-manifest.mjs')]);
  }

  /** Starts `prl`. */
  start(args: readonly string[], options: RunOptions = {}): Running {
    const child = spawn(options.node ?? process.execPath, [...(options.nodeFlags ?? []), this.launcher, ...args], {
      env: { ...this.environment, ...options.environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    return watchChild(child);
  }

  /** Runs `prl` to its end. */
  run(args: readonly string[], options: RunOptions = {}): Promise<Ended> {
    return this.start(args, options).ended;
  }

  remove(): void {
    rmSync(this.folder, { recursive: true });
  }
}
