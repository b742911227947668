/** Where state goes, by the variables in their order. */
import { homedir } from 'node:os';
import { expect, test } from 'vitest';
import { stateFolder } from '../../src/cli/state-folder.js';

test.each([
  [{ PRL_STATE_DIR: '/a', XDG_STATE_HOME: '/b' }, '/a'],
  [{ PRL_STATE_DIR: '', XDG_STATE_HOME: '/b' }, '/b/prl'],
  [{}, `${homedir()}/.local/state/prl`],
])('%j gives %s', (environment, folder) => {
  expect(stateFolder(environment)).toBe(folder);
});
