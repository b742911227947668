/**
 * The rooms of src and what each may import (architecture.md, style.md section 2). Biome checks most of it too, from a list of
 * what is forbidden; this walks the sources with a list of what is allowed, so that a new package or room is a decision.
 */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';

type Import = { readonly file: string; readonly target: string; readonly isType: boolean; readonly isDynamic: boolean };

/** The text without comments, which may hold examples; strings keep their place since specifiers are strings. */
function withoutComments(source: string): string {
  return source.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '$1');
}

/** Every import of a file: package names as written, relative ones as a path from the root of the repository. */
function importsOf(file: string): Import[] {
  const source = withoutComments(readFileSync(file, 'utf8'));
  const found: Import[] = [];
  const add = (specifier: string, isType: boolean, isDynamic: boolean): void => {
    const target = specifier.startsWith('.') ? path.join(path.dirname(file), specifier) : specifier;
    found.push({ file, target, isType, isDynamic });
  };
  for (const [, type, specifier = ''] of source.matchAll(
    /\b(?:import|export)\s+(type\s)?[^'"();]*?\bfrom\s*['"]([^'"]+)['"]/g,
  )) {
    add(specifier, type !== undefined, false);
  }
  for (const [, specifier = ''] of source.matchAll(/\bimport\s*['"]([^'"]+)['"]/g)) add(specifier, false, false);
  for (const [, specifier = ''] of source.matchAll(/\b(?:import|require)\s*\(\s*['"]([^'"]+)['"]/g))
    add(specifier, false, true);
  return found;
}

const sources = globSync('src/**/*.{ts,tsx}').toSorted();
const imports = sources.flatMap(importsOf);

function importsOfRoom(room: string): Import[] {
  return imports.filter(({ file }) => file.startsWith(`src/${room}/`));
}

function isIn(target: string, ...rooms: string[]): boolean {
  return rooms.some((room) => target.startsWith(`src/${room}/`));
}

/** What a room may import; everything else is a breach. */
const ALLOWED: Readonly<Record<string, (one: Import) => boolean>> = {
  core: ({ target }) =>
    isIn(target, 'core') || target === 'node:buffer' || /^stream-(?:json\/core\/|chain\/core)/.test(target),
  cli: ({ target, isType }) =>
    isIn(target, 'cli') ||
    target === 'src/core/errors.js' ||
    // One way to write a size, a duration or a rate, whoever parses it.
    target === 'src/core/units.js' ||
    // Where the user's directories are is one rule for the debug log, the journals and the service.
    target === 'src/core/environment.js' ||
    // The defaults that flags show are the ones that core works with.
    target === 'src/core/upload/limits.js' ||
    (isIn(target, 'core') && isType) ||
    target === 'chalk' ||
    target.startsWith('@oclif/core') ||
    target.startsWith('node:'),
  ui: ({ target, isType }) =>
    isIn(target, 'ui') || target === 'ink' || target === 'react' || (target === 'src/core/snapshot.js' && isType),
  io: ({ target }) =>
    isIn(target, 'io', 'core') || target.startsWith('node:') || /^(?:undici|stream-json|stream-chain)/.test(target),
  service: ({ target }) => isIn(target, 'service', 'io', 'core') || target.startsWith('node:'),
  monitor: ({ target }) => isIn(target, 'monitor', 'io', 'core') || target.startsWith('node:'),
  commands: ({ target, isDynamic }) =>
    isIn(target, 'cli', 'core', 'io', 'service', 'monitor') ||
    (target === 'src/ui/mount.js' && isDynamic) ||
    target.startsWith('@oclif/core') ||
    target.startsWith('node:'),
};

function described(breaches: readonly Import[]): string[] {
  return breaches.map(({ file, target, isType, isDynamic }) => {
    const how = [isType ? 'type' : '', isDynamic ? 'dynamic' : ''].filter(Boolean).join(' ');
    return `${file} imports ${target}${how === '' ? '' : ` (${how})`}`;
  });
}

describe('what a room may import', () => {
  test.each(Object.keys(ALLOWED))('%s', (room) => {
    expect(described(importsOfRoom(room).filter((one) => !ALLOWED[room]?.(one)))).toEqual([]);
  });

  test('there is no room without a rule, and src itself holds the public list only', () => {
    const rooms = new Set(sources.map((file) => file.split('/')[1] ?? ''));
    rooms.delete('index.ts');
    expect([...rooms].filter((room) => ALLOWED[room] === undefined)).toEqual([]);
    expect(
      described(imports.filter(({ file, target }) => file === 'src/index.ts' && isIn(target, 'cli', 'commands', 'ui'))),
    ).toEqual([]);
  });

  test('no commands/index.ts: oclif would take it for the only command', () => {
    expect(sources).not.toContain('src/commands/index.ts');
  });

  test('the walk sees imports of every form', () => {
    const forms = imports.filter(({ target }) => target.length > 0);
    expect(forms.some(({ isType }) => isType)).toBe(true);
    expect(forms.some(({ isDynamic }) => isDynamic)).toBe(true);
    expect(new Set(forms.map(({ file }) => file)).size).toBeGreaterThan(sources.length / 2);
  });
});

describe('core', () => {
  /** Rooms of core from the ground up: each knows itself and those before it (architecture.md, "knows"). */
  const ROOMS = ['scan', 'stream', 'upload'];

  test.each(ROOMS)('%s knows no room above it', (room) => {
    const above = ROOMS.slice(ROOMS.indexOf(room) + 1).map((name) => `core/${name}`);
    const own = importsOfRoom(`core/${room}`);
    expect(own).not.toEqual([]);
    expect(described(own.filter(({ target }) => isIn(target, ...above)))).toEqual([]);
  });

  /** Globals that are I/O, time, chance or the process. */
  const FORBIDDEN =
    /\b(?:process|console|performance|fetch|setTimeout|setInterval|setImmediate|queueMicrotask)\s*[.(]|\bDate\.now\b|\bnew Date\(\)|\bMath\.random\b|\bcrypto\./g;

  test.each(sources.filter((file) => file.startsWith('src/core/')))(
    '%s has no I/O, clock, chance or console',
    (file) => {
      const code = withoutComments(readFileSync(file, 'utf8')).replace(/'(?:[^'\\\n]|\\.)*'/g, "''");
      expect(code.match(FORBIDDEN) ?? []).toEqual([]);
    },
  );
});

test('every next step reads on from `next:`: lower case, no full stop', () => {
  const hints = sources.flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/\bhint: *(['`])((?:(?!\1).)*)\1/g)].map(([, , hint = '']) => hint),
  );
  expect(hints.length).toBeGreaterThan(20);
  expect(hints.filter((hint) => !/^[^A-Z].*[^.]$/.test(hint))).toEqual([]);
});

describe('packages', () => {
  const { dependencies, files }: { dependencies: Record<string, string>; files: string[] } = JSON.parse(
    readFileSync('package.json', 'utf8'),
  );

  test('every package imported is a dependency, pinned exactly', () => {
    const packages = imports
      .map(({ target }) => target)
      .filter((target) => !target.startsWith('src/') && !target.startsWith('node:'))
      .map((target) => /^(?:@[^/]+\/)?[^/]+/.exec(target)?.[0] ?? target);
    expect(Object.keys(dependencies)).toEqual(expect.arrayContaining([...new Set(packages)]));
    for (const version of Object.values(dependencies)) expect(version).toMatch(/^\d+\.\d+\.\d+$/);
  });

  test('the launcher knows oclif only, and all of it is shipped', () => {
    for (const file of globSync('bin/*.js')) {
      for (const { target } of importsOf(file)) {
        expect(target).toMatch(/^(?:node:|bin\/|@oclif\/core\/(?:run|handle|command)$)/);
        const isShipped = files.some((shipped) => shipped === 'bin' || shipped === target);
        if (target.startsWith('bin/') && file !== 'bin/dev.js') expect(isShipped, `${target} in "files"`).toBe(true);
      }
    }
  });
});
