/** What a person and a script are told (demand C9), and that no secret is among it (demand C16). */
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CLIError } from '@oclif/core/errors';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { withoutSecrets, writeDebugLog } from '../../src/cli/debug-log.js';
import { EXIT_STATUS } from '../../src/cli/exit-codes.js';
import { describeFailure, failureDocument, failureLines } from '../../src/cli/failure.js';
import { editDistance, nearest } from '../../src/cli/suggest.js';
import { PrlError, type PrlErrorCode } from '../../src/core/errors.js';
import { schemaComplaints } from '../helpers/json-schema.js';

const context = { command: 'prl upload', flags: ['batch', 'concurrency', 'no-tui'] };

describe('describeFailure', () => {
  test.each(Object.entries(EXIT_STATUS))('%s ends in %i and its document conforms to the schema', (code, status) => {
    const error = new PrlError(code as PrlErrorCode, 'what and where', { hint: 'what to do' });
    const failure = describeFailure(error, context);
    expect(failure).toMatchObject({ code, status, message: 'what and where', hint: 'what to do' });
    expect(schemaComplaints(failureDocument(failure), 'schemas/prl.error-1.json')).toEqual([]);
  });

  test('an error nobody foresaw is a bug', () => {
    expect(describeFailure(new TypeError('x is undefined'), context)).toMatchObject({ code: 'PRL_ERR_BUG', status: 1 });
    expect(describeFailure('just text', context)).toMatchObject({
      code: 'PRL_ERR_BUG',
      message: 'unexpected: just text',
    });
  });

  test.each(['ENOSPC', 'EDQUOT'])('%s is a limit, not a bug', (code) => {
    expect(describeFailure(Object.assign(new Error('no space left'), { code }), context)).toMatchObject({
      code: 'PRL_ERR_LIMIT',
      status: 8,
    });
  });

  test("wrong usage found by oclif keeps the cause and loses oclif's own pointer", () => {
    const unknown = Object.assign(new CLIError('Nonexistent flag: --btach\nSee more help with --help', { exit: 2 }), {
      flags: ['--btach'],
    });
    expect(describeFailure(unknown, context)).toMatchObject({
      code: 'PRL_ERR_USAGE',
      status: 2,
      message: 'Nonexistent flag: --btach',
      hint: 'did you mean --batch?',
    });
    const missing = new CLIError('Missing 1 required arg', { exit: 2 });
    expect(describeFailure(missing, context).hint).toBe('see prl upload --help');
  });

  test('a value refused while parsing names its flag once', () => {
    const error = new PrlError('PRL_ERR_USAGE', 'Parsing --batch \n\t"3M" is not a size\nSee more help with --help');
    expect(describeFailure(error, context).message).toBe('--batch: "3M" is not a size');
  });
});

describe('failureLines', () => {
  test('cause and object, then what lies beneath, last the next step', () => {
    const cause = new Error('EACCES: permission denied', { cause: new Error('the disk said no') });
    const error = new PrlError('PRL_ERR_DAMAGED', 'cannot read chunk 3 of run (offset 1,024)', {
      hint: 'chmod it',
      cause,
    });
    expect(failureLines(describeFailure(error, context), 'prl upload')).toEqual([
      'prl upload: cannot read chunk 3 of run (offset 1,024)',
      '  because EACCES: permission denied',
      '  because the disk said no',
      '  next: chmod it',
    ]);
  });

  test('a cause that the message repeats is said once, and a loop of causes ends', () => {
    const loop = new Error('round and round');
    loop.cause = loop;
    const error = new PrlError('PRL_ERR_BUG', 'it went round and round', { cause: loop });
    expect(failureLines(describeFailure(error, context), 'prl')).toEqual(['prl: it went round and round']);
  });

  test('hostile text in a message stays text', () => {
    const error = new PrlError('PRL_ERR_NOT_FOUND', 'no file \u001b[2J\u202e');
    expect(failureLines(describeFailure(error, context), 'prl')).toEqual(['prl: no file \\u001b[2J\\u202e']);
  });
});

describe('nearest', () => {
  test.each([
    ['btach', 'batch'],
    ['concurency', 'concurrency'],
    ['NO-TUI', 'no-tui'],
    ['verbose', null],
    ['x', null],
  ])('%s gives %s', (typed, expected) => {
    expect(nearest(typed, ['batch', 'concurrency', 'no-tui'])).toBe(expected);
  });

  test('the distance is symmetric, zero for itself only, and never more than the longer word', () => {
    const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c', '-'), maxLength: 8 });
    fc.assert(
      fc.property(word, word, (one, other) => {
        const distance = editDistance(one, other);
        expect(editDistance(other, one)).toBe(distance);
        expect(distance === 0).toBe(one === other);
        expect(distance).toBeLessThanOrEqual(Math.max(one.length, other.length));
        expect(distance).toBeGreaterThanOrEqual(Math.abs(one.length - other.length));
      }),
      { seed: 20_261_129, numRuns: 500 },
    );
    expect(editDistance('ab', 'ba')).toBe(1);
  });
});

describe('the debug log', () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'prl-debug-log-'));
  });

  afterEach(() => {
    rmSync(folder, { recursive: true });
  });

  const written = (environment: Record<string, string>) =>
    writeDebugLog({
      error: new Error('cannot reach https://me:hunter22@example.com with key-from-config', {
        cause: new Error('Bearer abc.def'),
      }),
      commandLine: ['prl upload', './run', 'pk-secret-1'],
      version: '0.1.0',
      environment,
      secrets: ['key-from-config'],
      at: new Date('2026-01-02T03:04:05.678Z'),
    });

  test('holds version, command line, stack and causes, for its owner only, and no secret', () => {
    const path = written({ PRL_STATE_DIR: folder, PRIME_API_KEY: 'pk-secret-1' });
    expect(path).toBe(join(folder, 'debug', `2026-01-02T03-04-05-678Z-${process.pid}.log`));
    const text = readFileSync(path ?? '', 'utf8');
    expect(text).toContain('prl 0.1.0, node v');
    expect(text).toContain('command line: prl upload ./run [secret]');
    expect(text).toMatch(/Error: cannot reach [\s\S]*failure\.test\.ts[\s\S]*cause/);
    expect(text).not.toMatch(/pk-secret-1|key-from-config|hunter22|abc\.def/);
    expect(statSync(path ?? '').mode & 0o777).toBe(0o600);
  });

  test('a state folder that cannot be made is no second failure', () => {
    writeFileSync(join(folder, 'file'), '');
    expect(written({ PRL_STATE_DIR: join(folder, 'file') })).toBeNull();
  });

  test('short values of the environment are no secrets', () => {
    expect(withoutSecrets('a key of 1', { SOME_KEY: '1' })).toBe('a key of 1');
  });
});
