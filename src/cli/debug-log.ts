/** The file a bug leaves behind: everything needed to report it, and no secret (demand C16). */
import { mkdirSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { type Environment, stateDirectory } from '../core/environment.js';

/** Names of variables whose values are secrets; a value under four characters would blank out ordinary text. */
const SECRET_NAME = /KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL/i;
const LEAST_SECRET_CHARACTERS = 4;

/** Blanks out secrets: the given ones, the environment's, and whatever follows `Bearer` or sits in a URL's user part. */
export function withoutSecrets(text: string, environment: Environment, secrets: Iterable<string> = []): string {
  const known = Object.entries(environment).flatMap(([name, value]) =>
    value && SECRET_NAME.test(name) ? [value] : [],
  );
  let clean = text;
  for (const secret of [...known, ...secrets]) {
    if (secret.length >= LEAST_SECRET_CHARACTERS) clean = clean.replaceAll(secret, '[secret]');
  }
  return clean.replace(/\b(Bearer\s+)[^\s"',]+/gi, '$1[secret]').replace(/(\/\/)[^/\s@"']+@/g, '$1[secret]@');
}

export type DebugLogOptions = {
  readonly error: unknown;
  readonly commandLine: readonly string[];
  readonly version: string;
  readonly environment: Environment;
  readonly secrets: Iterable<string>;
  readonly at: Date;
};

/**
 * Writes the log, readable by its owner only, and returns its path; null when the state folder cannot be written, because
 * a second failure must not hide the first.
 */
export function writeDebugLog(options: DebugLogOptions): string | null {
  const { error, commandLine, version, environment, secrets, at } = options;
  const text = [
    `prl ${version}, node ${process.version}, ${process.platform} ${process.arch}`,
    `at ${at.toISOString()}`,
    `command line: ${commandLine.join(' ')}`,
    '',
    inspect(error, { depth: 6 }),
    '',
  ].join('\n');
  try {
    const folder = join(stateDirectory(environment, homedir()), 'debug');
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const path = join(folder, `${at.toISOString().replace(/[:.]/g, '-')}-${process.pid}.log`);
    writeFileSync(path, withoutSecrets(text, environment, secrets), { mode: 0o600 });
    return path;
  } catch {
    return null; // Reported by the caller as "could not be written".
  }
}
