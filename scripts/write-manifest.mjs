// Writes oclif.manifest.json from the built commands, so that start-up loads one file and not every command.
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Plugin } from '@oclif/core';

const root = fileURLToPath(new URL('..', import.meta.url));
const plugin = new Plugin({ root, type: 'core', ignoreManifest: true, errorOnManifestCreate: true });
await plugin.load();
writeFileSync(`${root}oclif.manifest.json`, `${JSON.stringify(plugin.manifest, null, 2)}\n`);
