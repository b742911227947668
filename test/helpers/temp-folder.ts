/** A folder of its own for each test, removed at its end whatever happens. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';

/** Absolute path, links resolved. */
export function tempFolder(): string {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'prl-test-')));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** Writes files under a folder, directories included, and returns the folder. A key that ends in / makes a directory. */
export function writeTree(root: string, files: Readonly<Record<string, string | Buffer>>): string {
  mkdirSync(root, { recursive: true });
  for (const [name, content] of Object.entries(files)) {
    const path = join(root, name);
    if (name.endsWith('/')) {
      mkdirSync(path, { recursive: true });
    } else {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, content);
    }
  }
  return root;
}
