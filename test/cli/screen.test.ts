/** When there is colour and when there is a view (demands C4, C5, D8). */
import { describe, expect, test } from 'vitest';
import { wantsColour } from '../../src/cli/colour.js';
import { decideScreen, isUtf8Locale } from '../../src/cli/screen.js';

describe('wantsColour', () => {
  test.each([
    ['a terminal', { isTerminal: true }, true],
    ['a pipe', { isTerminal: false }, false],
    ['the flag beats everything', { isTerminal: true, noColourFlag: true, environment: { FORCE_COLOR: '1' } }, false],
    ['NO_COLOR', { isTerminal: true, environment: { NO_COLOR: '1' } }, false],
    ['an empty NO_COLOR says nothing', { isTerminal: true, environment: { NO_COLOR: '' } }, true],
    ['NO_COLOR before FORCE_COLOR', { isTerminal: true, environment: { NO_COLOR: '1', FORCE_COLOR: '1' } }, false],
    ['FORCE_COLOR into a pipe', { isTerminal: false, environment: { FORCE_COLOR: '1' } }, true],
    ['an empty FORCE_COLOR forces', { isTerminal: false, environment: { FORCE_COLOR: '' } }, true],
    ['FORCE_COLOR=0', { isTerminal: true, environment: { FORCE_COLOR: '0' } }, false],
    ['FORCE_COLOR before TERM', { isTerminal: true, environment: { FORCE_COLOR: '2', TERM: 'dumb' } }, true],
    ['TERM=dumb', { isTerminal: true, environment: { TERM: 'dumb' } }, false],
    ['CI alone leaves a terminal its colour', { isTerminal: true, environment: { CI: '1' } }, true],
  ])('%s', (_name, options, coloured) => {
    expect(wantsColour({ noColourFlag: false, environment: {}, ...options })).toBe(coloured);
  });
});

describe('decideScreen', () => {
  const terminal = { tui: undefined, json: false, isTerminal: true, environment: { TERM: 'xterm' } };

  test.each([
    ['a terminal', {}, 'live'],
    ['a pipe', { isTerminal: false }, 'lines'],
    ['--no-tui', { tui: false }, 'lines'],
    ['--tui on a pipe goes linear, it does not fail', { tui: true, isTerminal: false }, 'lines'],
    ['CI', { environment: { CI: 'true' } }, 'lines'],
    ['CI=false is no CI', { environment: { CI: 'false' } }, 'live'],
    ['--tui in CI', { tui: true, environment: { CI: '1' } }, 'live'],
    ['TERM=dumb', { environment: { TERM: 'dumb' } }, 'lines'],
    ['a screen reader', { environment: { INK_SCREEN_READER: 'true' } }, 'lines'],
    ['--json', { json: true }, 'silent'],
    ['--json --tui', { json: true, tui: true }, 'silent'],
  ])('%s', (_name, options, screen) => {
    expect(decideScreen({ ...terminal, ...options })).toBe(screen);
  });
});

describe('isUtf8Locale', () => {
  test.each([
    [{ LANG: 'en_US.UTF-8' }, true],
    [{ LANG: 'C.utf8' }, true],
    [{ LANG: 'C' }, false],
    [{}, false],
    [{ LC_ALL: 'C', LANG: 'en_US.UTF-8' }, false],
    [{ LC_ALL: '', LC_CTYPE: 'C.UTF-8', LANG: 'C' }, true],
  ])('%j', (environment, isUtf8) => {
    expect(isUtf8Locale(environment)).toBe(isUtf8);
  });
});
