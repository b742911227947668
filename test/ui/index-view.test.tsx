/** The view of an indexing at several widths and heights, and its keys (demands X1, C19, D4, D8). */
import { renderToString } from 'ink';
import { render } from 'ink-testing-library';
import { describe, expect, test, vi } from 'vitest';
import { terminalFormat } from '../../src/cli/format.js';
import { textWidth } from '../../src/cli/width.js';
import type { IndexProgress } from '../../src/core/snapshot.js';
import { IndexView, indexSignature } from '../../src/ui/index-view.js';
import { indexProgressWith } from '../helpers/index-outcome.js';

type Options = { readonly columns?: number; readonly rows?: number; readonly ascii?: boolean };

function propsOf(change: Partial<IndexProgress>, { columns = 120, rows = 24, ascii = false }: Options = {}) {
  const nothing = (): void => {};
  const format = terminalFormat({ ascii });
  return {
    progress: indexProgressWith(change),
    format,
    version: '0.1.0',
    columns,
    rows,
    onStop: nothing,
    onReady: nothing,
  };
}

function lines(change: Partial<IndexProgress>, options: Options = {}): string[] {
  const view = <IndexView {...propsOf(change, options)} />;
  return renderToString(view, { columns: options.columns ?? 120 }).split('\n');
}

describe('widths', () => {
  test('120 columns: everything', () => {
    expect(lines({}, { columns: 120 })).toEqual([
      ` reverse-text-rl  index  ${'█'.repeat(23)}▉${' '.repeat(15)}  1.42 GiB / 2.31 GiB   612 MiB/s   eta 0:02  prl 0.1.0`,
      ` 789 records in 3 chunks (2 sealed)   damaged 0   2 threads${' '.repeat(49)}Ctrl-C stop`,
    ]);
  });

  test('80 columns: what matters less is gone', () => {
    expect(lines({}, { columns: 80 })).toEqual([
      ' reverse-text-rl  index  ██████▏     1.42 GiB / 2.31 GiB   612 MiB/s   eta 0:02',
      ' 789 records in 3 chunks (2 sealed)   damaged 0   2 threads         Ctrl-C stop',
    ]);
  });

  test('60 columns: the name is cut, numbers are not', () => {
    expect(lines({}, { columns: 60 })).toEqual([
      ' reverse-text-…  1.42 GiB / 2.31 GiB   612 MiB/s   eta 0:02',
      ' 789 records in 3 chunks (2 sealed)   damaged 0   2 threads',
    ]);
  });

  test('no width draws a line past the window or half a number', () => {
    const wide = lines({}, { columns: 200 }).join('\n');
    for (let columns = 1; columns <= 130; columns += 1) {
      for (const line of lines({}, { columns })) {
        expect(textWidth(line)).toBeLessThan(Math.max(2, columns));
        for (const [figure] of line.matchAll(/\d[\d,.:]*(?![^ ]*…)/g)) expect(wide).toContain(figure);
      }
    }
  });
});

describe('what is told', () => {
  test.each([
    [24, 2],
    [3, 2],
    [2, 1],
    [1, 1],
  ])('%i rows hold %i lines, the work before the counts', (rows, count) => {
    const shown = lines({}, { rows });
    expect(shown).toHaveLength(count);
    expect(shown[0]).toContain('1.42 GiB / 2.31 GiB');
  });

  test('without a total there is neither a bar nor a remaining time', () => {
    const [work] = lines({ totalBytes: null, remainingMs: null });
    expect(work).toMatch(/^ reverse-text-rl {2}index {3}1\.42 GiB {3}612 MiB\/s +prl 0\.1\.0$/);
  });

  test('what grew while it was read is never more than all of it', () => {
    expect(lines({ bytes: 3_000_000_000 })[0]).toContain('2.31 GiB / 2.31 GiB');
  });

  test('one of each is one, and what there is none of is not named', () => {
    const [, counts] = lines({ episodes: 1, chunks: 1, sealed: 0, threads: 1, damaged: 2 });
    expect(counts).toMatch(/^ 1 record in 1 chunk {3}damaged 2 {3}1 thread /);
  });

  test('hostile names cannot act on the terminal, and keep the columns', () => {
    const shown = lines({ run: 'x\u001b[2J\u202e日本語' }, { columns: 100 });
    expect(shown[0]).toContain(' x\\u001b[2J\\u202e日本語  index');
    expect(shown.join('')).not.toMatch(/[\p{Cc}\u202e]/u);
    expect(textWidth(shown[0] ?? '')).toBeLessThan(100);
  });

  test('without UTF-8 every character is ASCII', () => {
    for (const line of lines({ run: 'Größe' }, { ascii: true })) expect(line).toMatch(/^[\x20-\x7e]*$/);
  });

  test('a state that looks the same has the same signature, another one has not', () => {
    const signature = (change: Partial<IndexProgress>) => indexSignature(propsOf(change));
    expect(signature({ elapsedMs: 9 })).toBe(signature({}));
    expect(signature({ damaged: 1 })).not.toBe(signature({}));
  });
});

describe('keys', () => {
  test.each([
    ['index', 'the index on disk stays as it was'],
    ['check', 'nothing is changed in any case'],
    ['rows', 'the rows that were written stay'],
  ] as const)('q and Ctrl-C ask to stop, ? says what stands then (%s)', async (work, help) => {
    const onStop = vi.fn();
    const props = { ...propsOf({ work }, { columns: 100 }), onStop };
    const { stdin, lastFrame, unmount } = render(<IndexView {...props} />);
    await vi.waitFor(() => expect(lastFrame()).toContain('q stop   ? help'));
    stdin.write('q');
    await vi.waitFor(() => expect(onStop).toHaveBeenCalledTimes(1));
    stdin.write('\u0003');
    await vi.waitFor(() => expect(onStop).toHaveBeenCalledTimes(2));
    stdin.write('?');
    await vi.waitFor(() => expect(lastFrame()).toContain(help));
    stdin.write('?');
    await vi.waitFor(() => expect(lastFrame()).not.toContain(help));
    unmount();
  });
});
