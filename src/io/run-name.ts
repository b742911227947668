/** What a run is called, and the path that stands for it. */
import { basename } from 'node:path';
import type { Run } from './run-types.js';

/** What a person calls a run: the name of its directory, of its one file, or standard input. Raw text. */
export function nameRun({ layout, files, root }: Run): string {
  const [file] = files;
  if (layout !== 'B' || file === undefined) return basename(root);
  return file.form === 'stdin' ? 'standard input' : basename(file.path);
}

/** The path that names the state kept for a run: its directory, or the one file; null for standard input, which has none. */
export function pathOfRun({ layout, files, root }: Run): string | null {
  const [file] = files;
  if (layout !== 'B' || file === undefined) return root;
  return file.form === 'stdin' ? null : file.path;
}
