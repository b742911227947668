/** The command that shows a damaged place with what every system has: `tail -c +OFFSET FILE | head -c BYTES`. */
import type { Damage } from '../core/scan/types.js';
import { shellWord } from './shell-words.js';

export type LookedAtFile = {
  /** As damage names it. */
  readonly relativePath: string;
  /** Absolute. */
  readonly path: string;
  readonly form: 'plain' | 'sealed' | 'document' | 'stdin';
};

/** Bytes that are worth looking at. */
const MOST_BYTES = 4096;

/** Shows the first place that has bytes to show; null when none has, of standard input for instance. */
export function lookCommand(damaged: readonly Damage[], files: readonly LookedAtFile[]): string | null {
  const known = new Map(files.map((file) => [file.relativePath, file]));
  for (const { file: name, kind, offset, bytes } of damaged) {
    const file = known.get(name);
    // Bytes of a frame that does not decompress are not to be had; a document's offsets are those of no file.
    if (file === undefined || bytes === 0 || kind === 'corrupt_frame' || kind === 'unreadable') continue;
    const cut = `head -c ${Math.min(bytes, MOST_BYTES)}`;
    if (file.form === 'plain') return `tail -c +${offset + 1} ${shellWord(file.path)} | ${cut}`;
    if (file.form === 'sealed') return `zstd -dc ${shellWord(file.path)} | tail -c +${offset + 1} | ${cut}`;
  }
  return null;
}
