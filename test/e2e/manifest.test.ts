/** The committed oclif manifest is the one that the commands give: a stale one hides a command or a flag at start-up. */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { Plugin } from '@oclif/core';
import { expect, test } from 'vitest';

test.skipIf(!existsSync('.git'))('oclif.manifest.json has no drift (skipped outside a git checkout)', async () => {
  const plugin = new Plugin({ root: process.cwd(), type: 'core', ignoreManifest: true, errorOnManifestCreate: true });
  await plugin.load();
  expect(plugin.manifest.commands).toHaveProperty('upload');
  // What git has, not what lies in the folder: the build before these tests has just written that.
  const committed: unknown = JSON.parse(execFileSync('git', ['show', ':oclif.manifest.json']).toString());
  expect(JSON.parse(JSON.stringify(plugin.manifest))).toEqual(committed);
});
