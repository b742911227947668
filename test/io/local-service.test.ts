/** What `prl upload --local` says when its service does not come up: one next step, and one that it has (demand C9). */
import { expect, test } from 'vitest';
import type { PrlError } from '../../src/core/errors.js';
import { startError } from '../../src/io/local-service.js';

test.each([
  ['PRL_ERR_USAGE', 'name a directory that this user can write with --data or PRL_DATA_DIR'],
  ['PRL_ERR_LIMIT', 'make room on that disk, or use another one with --data'],
  ['PRL_ERR_INTEGRITY', 'restore the directory from a copy, or start over an empty one with --data'],
  ['PRL_ERR_LOCKED', 'stop that process, or give this one a directory of its own with --data'],
  ['PRL_ERR_BUG', null],
] as const)('%s: %s', (code, hint) => {
  const error: PrlError = startError(code, '/data', 'why', hint);
  expect(error).toMatchObject({ code, message: 'the embedded service over /data did not start: why' });
  expect(error.hint).toMatch(/PRL_DATA_DIR/);
  expect(error.hint).not.toMatch(/--data|PRL_DATA_DIR.*PRL_DATA_DIR/);
});
