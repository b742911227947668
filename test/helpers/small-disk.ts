/** A disk of a given size, for what a full one does: short writes and no room, from the kernel itself. Needs the right to mount. */
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { tempFolder } from './temp-folder.js';

export const CAN_MOUNT = process.platform === 'linux' && process.getuid?.() === 0 && canMount();

export type SmallDisk = { readonly path: string; grow(bytes: number): void };

/** A file system in memory, unmounted at the end of the test. Files take whole pages of 4 KiB. */
export function smallDisk(bytes: number): SmallDisk {
  const path = join(tempFolder(), 'disk');
  mkdirSync(path);
  run('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', path]);
  onTestFinished(() => run('umount', ['-l', path]));
  return { path, grow: (more) => run('mount', ['-o', `remount,size=${more}`, path]) };
}

function canMount(): boolean {
  // In a mount namespace of its own, so that nothing is left behind.
  return spawnSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0;
}

function run(command: string, args: readonly string[]): void {
  const { status, stderr } = spawnSync(command, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${stderr}`);
}
