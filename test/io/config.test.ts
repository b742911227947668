/** Precedence of every field (spec 06 section 8), contexts, and files that are broken. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type ConfigSources, resolveConfig, type ServiceConfig } from '../../src/io/config.js';

let home = '';
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'prl-home-'));
});
afterEach(() => rmSync(home, { recursive: true }));

type Setup = Partial<Omit<ConfigSources, 'home'>> & {
  readonly file?: unknown;
  readonly contexts?: Record<string, unknown>;
};

function resolve({ file, contexts, ...sources }: Setup): Promise<ServiceConfig> {
  if (file !== undefined || contexts !== undefined)
    mkdirSync(join(home, '.prime', 'environments'), { recursive: true });
  if (file !== undefined) writeFileSync(join(home, '.prime', 'config.json'), textOf(file));
  for (const [name, context] of Object.entries(contexts ?? {})) {
    writeFileSync(join(home, '.prime', 'environments', `${name}.json`), textOf(context));
  }
  return resolveConfig({ environment: {}, home, ...sources });
}

function textOf(value: unknown): string | Buffer {
  return typeof value === 'string' || Buffer.isBuffer(value) ? value : JSON.stringify(value);
}

const FILE = {
  api_key: 'file-key',
  team_id: 'file-team',
  base_url: 'https://base.file',
  traces_url: 'https://traces.file',
};
const CONTEXT = {
  api_key: 'ctx-key',
  team_id: 'ctx-team',
  base_url: 'https://base.ctx',
  traces_url: 'https://traces.ctx',
};
const ENVIRONMENT = {
  PRIME_API_KEY: 'env-key',
  PRIME_TEAM_ID: 'env-team',
  PRIME_TRACES_URL: 'https://traces.env',
  PRIME_API_BASE_URL: 'https://api-base.env',
  PRIME_BASE_URL: 'https://base.env',
};
const saved = { contexts: { lab: CONTEXT } };
const lab = { PRIME_CONTEXT: 'lab' };

describe('URL', () => {
  test.each<[string, Setup, string, string]>([
    [
      '--url',
      { url: 'https://flag', environment: { ...ENVIRONMENT, ...lab }, file: FILE, ...saved },
      'https://flag',
      '--url',
    ],
    [
      'environment',
      { environment: { ...ENVIRONMENT, ...lab }, file: FILE, ...saved },
      'https://traces.env',
      'PRIME_TRACES_URL',
    ],
    ['context', { environment: lab, file: FILE, ...saved }, 'https://traces.ctx', 'context lab'],
    ['file', { file: FILE }, 'https://traces.file', 'config.json'],
    [
      'an empty variable is none',
      { environment: { PRIME_TRACES_URL: '' }, file: FILE },
      'https://traces.file',
      'config.json',
    ],
    [
      'traces_url of a file before a base from the environment',
      { environment: { PRIME_BASE_URL: 'https://b' }, file: FILE },
      'https://traces.file',
      'config.json',
    ],
    [
      'PRIME_API_BASE_URL',
      { environment: { PRIME_API_BASE_URL: 'https://a', PRIME_BASE_URL: 'https://b' } },
      'https://a',
      'PRIME_API_BASE_URL',
    ],
    [
      'PRIME_BASE_URL',
      { environment: { PRIME_BASE_URL: 'https://b' }, file: { base_url: 'https://c' } },
      'https://b',
      'PRIME_BASE_URL',
    ],
    ['base_url of the file', { file: { base_url: 'https://c' } }, 'https://c', 'config.json'],
    ['default', {}, 'https://api.primeintellect.ai', 'default'],
  ])('%s', async (_name, setup, value, origin) => {
    const { url } = await resolve(setup);
    expect(url.value).toBe(value);
    expect(url.origin).toContain(origin);
  });

  test.each([
    ['https://h/api/v1/', 'https://h'],
    ['https://h/api/v1', 'https://h'],
    ['https://h///', 'https://h'],
    ['https://h/api/v1/api/v1', 'https://h/api/v1'],
    ['https://h/proxy/api/v1/', 'https://h/proxy'],
    ['http://127.0.0.1:1/api/v1/', 'http://127.0.0.1:1'],
  ])('%s is %s (A37, A40)', async (url, value) => {
    expect((await resolve({ url })).url.value).toBe(value);
  });

  test.each(['ftp://h', 'h', '/path', 'https://h?x=1', 'https://h#x', 'https://u:p@h'])(
    '%s is refused',
    async (url) => {
      await expect(resolve({ url })).rejects.toMatchObject({ code: 'PRL_ERR_USAGE' });
    },
  );
});

describe('key', () => {
  test.each<[string, Setup, string]>([
    ['environment', { environment: { ...ENVIRONMENT, ...lab }, file: FILE, ...saved }, 'env-key'],
    ['context', { environment: lab, file: FILE, ...saved }, 'ctx-key'],
    [
      'root key, where the context has none',
      { environment: lab, file: FILE, contexts: { lab: { team_id: 't' } } },
      'file-key',
    ],
    [
      'root key, where the context has an empty one',
      { environment: lab, file: FILE, contexts: { lab: { api_key: '' } } },
      'file-key',
    ],
    ['root key in production', { environment: { PRIME_CONTEXT: 'Production' }, file: FILE }, 'file-key'],
    ['file', { file: FILE }, 'file-key'],
    ['an empty variable is none', { environment: { PRIME_API_KEY: '' }, file: FILE }, 'file-key'],
    ['a newline at its end is not part of it', { environment: { PRIME_API_KEY: 'k\n' } }, 'k'],
    ['none', {}, ''],
  ])('%s', async (_name, setup, value) => {
    expect((await resolve(setup)).apiKey.value).toBe(value);
  });
});

describe('team', () => {
  test.each<[string, Setup, string | null]>([
    ['argument', { teamId: 'arg', environment: ENVIRONMENT }, 'arg'],
    ['empty argument is personal', { teamId: '', environment: ENVIRONMENT, file: FILE }, null],
    ['environment', { environment: ENVIRONMENT, file: FILE }, 'env-team'],
    ['empty variable is personal (B29)', { environment: { PRIME_TEAM_ID: '' }, file: FILE }, null],
    ['context', { environment: lab, file: FILE, ...saved }, 'ctx-team'],
    ['a context without a team is personal', { environment: lab, file: FILE, contexts: { lab: {} } }, null],
    ['production has none', { environment: { PRIME_CONTEXT: 'production' }, file: FILE }, null],
    ['file', { file: FILE }, 'file-team'],
    ['none', {}, null],
  ])('%s', async (_name, setup, value) => {
    expect((await resolve(setup)).teamId.value).toBe(value);
  });

  test('white space alone is personal, with a notice', async () => {
    const { teamId, notices } = await resolve({ environment: { PRIME_TEAM_ID: '  ' }, file: FILE });
    expect([teamId.value, notices.length]).toEqual([null, 1]);
  });
});

describe('contexts', () => {
  test('absent URLs of a context are the defaults, not those of the file', async () => {
    const { url, contextName } = await resolve({ environment: lab, file: FILE, contexts: { lab: {} } });
    expect([url.value, contextName]).toEqual(['https://api.primeintellect.ai', 'lab']);
  });

  test.each(['nope', '../config', 'a/b', 'lab.json'])('%s is unknown: exit 2 with the list (B30)', async (name) => {
    await expect(resolve({ environment: { PRIME_CONTEXT: name }, ...saved })).rejects.toMatchObject({
      code: 'PRL_ERR_USAGE',
      message: expect.stringContaining('production, lab'),
    });
  });

  test('a broken context is an error that names the file', async () => {
    await expect(resolve({ environment: lab, contexts: { lab: '{' } })).rejects.toMatchObject({
      code: 'PRL_ERR_USAGE',
      message: expect.stringContaining('lab.json'),
    });
  });
});

describe('a broken file is passed over with one notice (A42)', () => {
  test.each<[string, string | Buffer]>([
    ['not JSON', '{"api_key":'],
    ['a list', '[]'],
    ['null', 'null'],
    ['a string', '"x"'],
    ['not UTF-8', Buffer.from([0x7b, 0xff, 0x7d])],
  ])('%s', async (_name, file) => {
    const { notices, apiKey, url } = await resolve({ file });
    expect(notices).toHaveLength(1);
    expect(notices[0]).toContain('config.json');
    expect([apiKey.value, url.value]).toEqual(['', 'https://api.primeintellect.ai']);
  });

  test('so is a directory of that name', async () => {
    mkdirSync(join(home, '.prime', 'config.json'), { recursive: true });
    expect((await resolveConfig({ environment: {}, home })).notices).toHaveLength(1);
  });

  test('values of another type are not values', async () => {
    expect((await resolve({ file: { api_key: 7, team_id: null, traces_url: ['x'] } })).apiKey.value).toBe('');
  });
});

test('nothing is created under the home directory', async () => {
  await resolve({});
  expect(readdirSync(home)).toEqual([]);
});
