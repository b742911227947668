/** What a person calls a run: the name of its directory, of its one file, or standard input. Raw text. */
import { basename } from 'node:path';
import type { Run } from './run-types.js';

export function nameRun({ layout, files, root }: Run): string {
  const [file] = files;
  if (layout !== 'B' || file === undefined) return basename(root);
  return file.form === 'stdin' ? 'standard input' : basename(file.path);
}
