/** Where state and data go, by the variables in their order. */
import { describe, expect, test } from 'vitest';
import { dataDirectory, type Environment, stateDirectory } from '../../src/core/environment.js';

describe.each([
  { of: stateDirectory, own: 'PRL_STATE_DIR', base: 'XDG_STATE_HOME', usual: '.local/state/prl' },
  { of: dataDirectory, own: 'PRL_DATA_DIR', base: 'XDG_DATA_HOME', usual: '.local/share/prl' },
])('$own', ({ of, own, base, usual }) => {
  test.each<[Environment, string]>([
    [{ [own]: '/a', [base]: '/b', HOME: '/c' }, '/a'],
    [{ [own]: 'relative', [base]: '/b' }, 'relative'],
    [{ [own]: '', [base]: '/b', HOME: '/c' }, '/b/prl'],
    [{ [base]: 'relative', HOME: '/c' }, `/c/${usual}`],
    [{ [base]: '', HOME: '/c' }, `/c/${usual}`],
    [{ HOME: '' }, `/home/of/system/${usual}`],
    [{}, `/home/of/system/${usual}`],
  ])('%j gives %s', (environment, directory) => {
    expect(of(environment, '/home/of/system')).toBe(directory);
  });
});
