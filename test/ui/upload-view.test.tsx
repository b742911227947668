/** The upload view at several widths and heights, and its keys (demands C19, D4, D8, P1). */
import { renderToString } from 'ink';
import { render } from 'ink-testing-library';
import { describe, expect, test, vi } from 'vitest';
import { terminalFormat } from '../../src/cli/format.js';
import { textWidth } from '../../src/cli/width.js';
import type { UploadProgress } from '../../src/core/snapshot.js';
import { UploadView } from '../../src/ui/upload-view.js';
import { progressWith } from '../helpers/upload-snapshot.js';

type Options = { readonly columns?: number; readonly rows?: number; readonly ascii?: boolean };

function view(change: Partial<UploadProgress>, options: Options = {}) {
  const { columns = 120, rows = 24, ascii = false } = options;
  const nothing = (): void => {};
  return (
    <UploadView
      progress={progressWith(change)}
      format={terminalFormat({ ascii })}
      version="0.1.0"
      columns={columns}
      rows={rows}
      onStop={nothing}
      onReady={nothing}
    />
  );
}

function lines(change: Partial<UploadProgress>, options: Options = {}): string[] {
  return renderToString(view(change, options), { columns: options.columns ?? 120 }).split('\n');
}

describe('widths', () => {
  test('120 columns: everything', () => {
    expect(lines({}, { columns: 120 })).toEqual([
      ` reverse-text-rl  →  http://127.0.0.1:8787  run rl-7f3a (team none)${' '.repeat(43)}prl 0.1.0`,
      ' plan    1,000 episodes   2.31 GiB in 1 chunk, 1 still growing',
      ` send    ${'█'.repeat(24)}▌${' '.repeat(15)}  614 / 1,000   1.42 GiB   41.8 MiB/s   eta 0:22`,
      '         queue 38 episodes  87 MiB  ▂▃▄▆▇█▇▆▄▃   in flight 4 × 30 MiB  limit 6   budget 212 MiB / 256 MiB',
      '         wire 9.10 MiB/s (4.6× smaller)   retries 3',
      ' verify  –',
      ` rejected 1 (duplicate_trace_id)   damaged 0${' '.repeat(64)}Ctrl-C stop`,
    ]);
  });

  test('what a filter leaves out stands with the plan (P5)', () => {
    expect(lines({ leftOut: 1234 })[1]).toBe(
      ' plan    1,000 episodes   2.31 GiB in 1 chunk, 1 still growing   left out 1,234',
    );
  });

  test('80 columns: what matters less is gone', () => {
    expect(lines({}, { columns: 80 })).toEqual([
      ' reverse-text-rl  →  http://127.0.0.1:8787  run rl-7f3a (team none)   prl 0.1.0',
      ' plan    1,000 episodes   2.31 GiB in 1 chunk, 1 still growing',
      ` send    ${'█'.repeat(13)}▌${' '.repeat(8)}  614 / 1,000   1.42 GiB   41.8 MiB/s   eta 0:22`,
      '         queue 38 episodes  87 MiB   in flight 4 × 30 MiB',
      '         wire 9.10 MiB/s (4.6× smaller)   retries 3',
      ' verify  –',
      ` rejected 1 (duplicate_trace_id)   damaged 0${' '.repeat(24)}Ctrl-C stop`,
    ]);
  });

  test('60 columns: names are cut, numbers are not', () => {
    expect(lines({}, { columns: 60 })).toEqual([
      ' reverse-tex…  →  http://127.0.0.…  run rl-7f3a (team none)',
      ' plan    1,000 episodes   2.31 GiB',
      ' send     614 / 1,000   1.42 GiB   41.8 MiB/s   eta 0:22',
      '         queue 38 episodes  87 MiB   in flight 4 × 30 MiB',
      '         wire 9.10 MiB/s (4.6× smaller)   retries 3',
      ' verify  –',
      ' rejected 1 (duplicate_trace_id)   damaged 0    Ctrl-C stop',
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

describe('heights', () => {
  test.each([
    [24, ['prl', 'plan', 'send', 'queue', 'wire', 'verify', 'rejected']],
    [6, ['prl', 'plan', 'send', 'wire', 'rejected']],
    [3, ['send', 'rejected']],
    [2, ['send']],
    [1, ['send']],
  ])('%i rows: one less than the window, the send row to the last', (rows, words) => {
    const shown = lines({}, { rows });
    expect(shown).toHaveLength(words.length);
    words.forEach((word, index) => {
      expect(shown[index]).toContain(word);
    });
  });
});

describe('what is told', () => {
  test('counting, waiting, verifying', () => {
    const counting = {
      phase: 'plan',
      plan: { episodes: null, estimatedEpisodes: null, bytes: 0, chunks: 3, growing: 0 },
      remainingMs: null,
    } as const;
    expect(lines(counting).join('\n')).toContain('counting episodes   0 B in 3 chunks\n');
    const estimated = { ...counting.plan, estimatedEpisodes: 2000 };
    expect(lines({ plan: estimated }).join('\n')).toContain('about 2,000 episodes');
    expect(lines({ plan: estimated }).join('\n')).toContain('  614 / ~2,000');
    expect(lines({ plan: { ...estimated, estimatedEpisodes: 600 } }).join('\n')).toContain('  614 / ~614');
    // Without any total nothing looks like one.
    expect(lines({ plan: counting.plan }).join('\n')).toContain('  614 episodes');
    const asked = { untilAtMs: new Date(2026, 0, 2, 12, 4, 31).getTime(), asked: true, code: null };
    expect(lines({ waiting: asked }, { columns: 80 }).join('\n')).toContain('until 12:04:31');
    expect(lines({ waiting: asked }, { columns: 40 }).join('\n')).toContain('waiting until 12:04:31');
    expect(lines({ waiting: { ...asked, asked: false, code: '503' } }).join('\n')).toContain(
      'waiting for the service until 12:04:31 (503)',
    );
    expect(lines({ phase: 'verify', verify: { done: 250, total: 1000 } }).join('\n')).toContain(
      '250 / 1,000   eta 0:22',
    );
  });

  test('a run that is followed: waiting for more, or how far behind, and whether somebody writes (P6)', () => {
    const backlog = { rows: 0, bytes: 0, ageMs: 0, unreadBytes: 0, writer: 'idle' } as const;
    const followed = (change: object, columns = 120): string[] =>
      lines({ phase: 'following', remainingMs: null, backlog: { ...backlog, ...change } }, { columns });
    expect(followed({})[5]).toBe(' follow  waiting for new episodes   writer idle');
    const behind = { rows: 12, bytes: 3 * 2 ** 20, ageMs: 61_000, unreadBytes: 2 ** 31, writer: 'live' };
    expect(followed(behind)[5]).toBe(
      ' follow  backlog 12 episodes  3 MiB   oldest 1:01   2 GiB not read   writer live',
    );
    expect(followed(behind, 40)[5]).toBe(' follow  backlog 12 episodes  3 MiB');
    expect(followed({ rows: 1 })[5]).toContain('backlog 1 episode  ');
    expect(lines({ backlog }).join('\n')).toContain('backlog 0 episodes');
    expect(lines({}).join('\n')).not.toContain('follow');
  });

  test.each([0, 10, 104])('%d of 100 bytes on the wire stored: nothing is called smaller', (bytes) => {
    const text = lines({ sent: { episodes: 0, bytes, wireBytes: 100, requests: 1 } }).join('\n');
    expect(text).not.toContain('smaller');
  });

  test('hostile names cannot act on the terminal, and keep the columns', () => {
    const shown = lines(
      { run: 'x\u001b[2J\u202e日本語', rejected: { count: 1, lastCode: 'a\u0007b' } },
      { columns: 100 },
    );
    expect(shown[0]).toContain(' x\\u001b[2J\\u202e日本語  →');
    expect(shown.at(-1)).toContain('(a\\u0007b)');
    expect(shown.join('')).not.toMatch(/[\p{Cc}\u202e]/u);
    expect(textWidth(shown[0] ?? '')).toBe(99);
  });

  test('without UTF-8 every character is ASCII', () => {
    for (const line of lines({ run: 'Größe' }, { ascii: true })) expect(line).toMatch(/^[\x20-\x7e]*$/);
  });
});

describe('keys', () => {
  test('q and Ctrl-C ask to stop, ? shows the help and takes it away', async () => {
    const onStop = vi.fn();
    const { stdin, lastFrame, unmount } = render(
      <UploadView
        progress={progressWith({})}
        format={terminalFormat({ ascii: false })}
        version="0.1.0"
        columns={100}
        rows={24}
        onStop={onStop}
        onReady={() => {}}
      />,
    );
    await vi.waitFor(() => expect(lastFrame()).toContain('q stop   ? help'));
    stdin.write('q');
    await vi.waitFor(() => expect(onStop).toHaveBeenCalledTimes(1));
    stdin.write('\u0003');
    await vi.waitFor(() => expect(onStop).toHaveBeenCalledTimes(2));
    stdin.write('?');
    await vi.waitFor(() => expect(lastFrame()).toContain('the same command continues later'));
    stdin.write('?');
    await vi.waitFor(() => expect(lastFrame()).not.toContain('the same command continues later'));
    stdin.write('x');
    expect(onStop).toHaveBeenCalledTimes(2);
    unmount();
  });
});
