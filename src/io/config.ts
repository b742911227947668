/**
 * Finds the service, the key and the team: flags, environment, a named context, `~/.prime/config.json`, defaults, in
 * that order and field by field (spec 06 section 8). Only reads; nothing is ever written or created under `~/.prime`.
 */
import { readdir, readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Environment } from '../core/environment.js';
import { PrlError } from '../core/errors.js';
import { normalizeBaseUrl } from '../core/upload/base-url.js';
import { systemErrorCode } from './run-fault.js';

/** A value and where it came from, as a person would say it: `--url`, `PRIME_TEAM_ID`, a file's path, `default`. */
export type Setting<T> = { readonly value: T; readonly origin: string };

export type ServiceConfig = {
  /** Base URL of the traces service, normalised. */
  readonly url: Setting<string>;
  /** Empty when there is none. Never to be printed. */
  readonly apiKey: Setting<string>;
  /** Null is personal. */
  readonly teamId: Setting<string | null>;
  /** Name of the context in force, null without one. */
  readonly contextName: string | null;
  /** What was wrong and worked around, one line each; to be shown once. */
  readonly notices: readonly string[];
};

export type ConfigSources = {
  readonly environment: Environment;
  /** `--url` */
  readonly url?: string | undefined;
  /** An explicit team, empty for personal. */
  readonly teamId?: string | undefined;
  /** Home directory; default `$HOME`, else the system's. */
  readonly home?: string;
};

export const DEFAULT_BASE_URL = 'https://api.primeintellect.ai';

const CONTEXT_NAME = /^[A-Za-z0-9_-]+$/;

/** Fields of a config file or context that an upload needs, with the file as their origin. */
type Layer = { readonly origin: string; readonly fields: Readonly<Record<string, string>> };

/**
 * @throws PrlError `PRL_ERR_USAGE` for a context that does not exist or cannot be read, and for an unusable URL
 */
export async function resolveConfig(sources: ConfigSources): Promise<ServiceConfig> {
  const notices: string[] = [];
  const directory = join(sources.home ?? (sources.environment.HOME || homedir()), '.prime');
  const file = await readLayer(join(directory, 'config.json'), notices);
  const contextName = sources.environment.PRIME_CONTEXT || null;
  const layer = contextName === null ? file : await applyContext(contextName, directory, file);
  return {
    url: resolveUrl(sources, layer),
    apiKey: resolveKey(sources.environment, layer),
    teamId: resolveTeam(sources, layer, notices),
    contextName,
    notices,
  };
}

function resolveUrl({ environment, url }: ConfigSources, layer: Layer): Setting<string> {
  const found = given(url, '--url') ??
    given(environment.PRIME_TRACES_URL, 'PRIME_TRACES_URL') ??
    field(layer, 'traces_url') ??
    given(environment.PRIME_API_BASE_URL, 'PRIME_API_BASE_URL') ??
    given(environment.PRIME_BASE_URL, 'PRIME_BASE_URL') ??
    field(layer, 'base_url') ?? { value: DEFAULT_BASE_URL, origin: 'default' };
  return { value: normalizeBaseUrl(found.value), origin: found.origin };
}

function resolveKey(environment: Environment, layer: Layer): Setting<string> {
  const found = given(environment.PRIME_API_KEY, 'PRIME_API_KEY') ?? field(layer, 'api_key');
  // A key pasted or read from a file often ends in a newline, which no header can carry.
  return found === null ? { value: '', origin: 'none' } : { value: found.value.trim(), origin: found.origin };
}

/** Set but empty means personal, and wins over the file (as the SDK has it; B29). */
function resolveTeam({ environment, teamId }: ConfigSources, layer: Layer, notices: string[]): Setting<string | null> {
  if (teamId !== undefined) return { value: teamId.trim() || null, origin: 'argument' };
  const fromEnvironment = environment.PRIME_TEAM_ID;
  if (fromEnvironment === undefined) return field(layer, 'team_id') ?? { value: null, origin: 'default' };
  const team = fromEnvironment.trim();
  if (team === '' && fromEnvironment !== '') notices.push('PRIME_TEAM_ID holds only white space; taken as personal');
  return { value: team || null, origin: 'PRIME_TEAM_ID' };
}

function given(value: string | undefined, origin: string): Setting<string> | null {
  return value === undefined || value === '' ? null : { value, origin };
}

function field(layer: Layer, name: string): Setting<string> | null {
  const value = layer.fields[name];
  return value === undefined || value === '' ? null : { value, origin: layer.origin };
}

/** A context replaces team and URLs as a whole, absent ones by their defaults; the key only if it has one. */
async function applyContext(name: string, directory: string, file: Layer): Promise<Layer> {
  const rootKey = file.fields.api_key === undefined ? {} : { api_key: file.fields.api_key };
  if (name.toLowerCase() === 'production') return { origin: 'context production', fields: rootKey };
  const contexts = join(directory, 'environments');
  const path = join(contexts, `${name}.json`);
  const text = CONTEXT_NAME.test(name) ? await readText(path) : null;
  if (text === null) throw await unknownContext(name, contexts);
  const fields = parseFields(text);
  if (fields === null) {
    throw new PrlError('PRL_ERR_USAGE', `PRIME_CONTEXT names ${name}, and ${path} is not a JSON object`);
  }
  return { origin: `context ${name}`, fields: { ...rootKey, ...withoutEmpty(fields) } };
}

async function unknownContext(name: string, contexts: string): Promise<PrlError> {
  const files = await readdir(contexts).catch(() => []); // no such directory: no saved contexts
  const saved = files.filter((file) => file.endsWith('.json')).map((file) => file.slice(0, -'.json'.length));
  const known = ['production', ...saved.sort()].join(', ');
  return new PrlError('PRL_ERR_USAGE', `PRIME_CONTEXT names ${JSON.stringify(name)}, available are: ${known}`);
}

async function readLayer(path: string, notices: string[]): Promise<Layer> {
  let text: string | null;
  try {
    text = await readText(path);
  } catch (error) {
    notices.push(`${path} cannot be read (${systemErrorCode(error) ?? 'invalid UTF-8'}); it is passed over`);
    return { origin: path, fields: {} };
  }
  if (text === null) return { origin: path, fields: {} };
  const fields = parseFields(text);
  if (fields === null) notices.push(`${path} is not a JSON object; it is passed over`);
  return { origin: path, fields: fields ?? {} };
}

/** Null when there is no such file. Throws when it cannot be read or is not UTF-8. */
async function readText(path: string): Promise<string | null> {
  const bytes = await readFile(path).catch((error: unknown) => {
    const code = systemErrorCode(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    throw error;
  });
  return bytes === null ? null : new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes);
}

/** The members that are strings; null when the text is not a JSON object. */
function parseFields(text: string): Record<string, string> | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null; // broken: the caller says so
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
  return Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}

function withoutEmpty(fields: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== ''));
}
