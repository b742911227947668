/** The file of metrics rows, as two processes share it, one of them dead in the middle of a row. */
import { spawnSync } from 'node:child_process';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { MetricsFile } from '../../src/monitor/metrics-file.js';
import { tempFolder } from '../helpers/temp-folder.js';

const row = (text: string): string => `{"m": ${JSON.stringify(text)}}\n`;

describe('rows of metrics', () => {
  test('are appended in the order they were given, to what is there', async () => {
    const path = join(tempFolder(), 'monitors/file/metrics.jsonl');
    const rows = Array.from({ length: 100 }, (_, index) => row(`r${index}`));
    const file = await MetricsFile.open(path);
    await Promise.all(rows.slice(0, 50).map((text) => file.append(text)));
    await file.close();
    const again = await MetricsFile.open(path);
    for (const text of rows.slice(50)) void again.append(text);
    await again.close();
    expect(readFileSync(path, 'utf8')).toBe(rows.join(''));
    expect(again.counts).toEqual({ rows: 50, failed: 0 });
  });

  test('of two processes stay whole, and the torn row of a dead one is shut off', async () => {
    const path = join(tempFolder(), 'metrics.jsonl');
    writeFileSync(path, `${row('a')}{"step": 3, "ti`);
    const file = await MetricsFile.open(path);
    await file.append(row('b'));
    appendFileSync(path, row('theirs'));
    await file.append(row('c'));
    appendFileSync(path, '{"torn');
    await file.append(row('d'));
    await file.append(row('e'));
    await file.close();
    const expected = `${row('a')}{"step": 3, "ti\n${row('b')}${row('theirs')}${row('c')}{"torn\n${row('d')}${row('e')}`;
    expect(readFileSync(path, 'utf8')).toBe(expected);
  });

  test('that find no room fail alone', () => {
    const path = join(tempFolder(), 'metrics.jsonl');
    // In a child under a limit of the file size: 1 KiB, which the second row goes beyond and the third finds full.
    const script = `
      import { MetricsFile } from ${JSON.stringify(new URL('../../src/monitor/metrics-file.ts', import.meta.url).href)};
      process.on('SIGXFSZ', () => {});
      const file = await MetricsFile.open(${JSON.stringify(path)});
      const results = [];
      for (const bytes of [600, 600, 10, 600]) {
        results.push(await file.append('x'.repeat(bytes - 1) + '\\n').then(() => 'written', (error) => error.code));
      }
      console.log(JSON.stringify({ results, counts: file.counts }));`;
    const hooks = new URL('../helpers/typescript-hooks.mjs', import.meta.url).href;
    const node = [process.execPath, '--import', hooks, '--input-type=module', '--eval', script];
    const { stdout, stderr } = spawnSync('bash', ['-c', 'ulimit -f 1; "$@"', 'bash', ...node], { encoding: 'utf8' });
    expect(stderr).toBe('');
    const { results, counts } = JSON.parse(stdout);
    expect(results).toEqual(['written', 'PRL_ERR_LIMIT', 'PRL_ERR_LIMIT', 'PRL_ERR_LIMIT']);
    expect(counts).toEqual({ rows: 1, failed: 3 });
    expect(readFileSync(path, 'utf8')).toMatch(/^x{599}\nx{424}$/);
  });

  test.each([
    ['a directory', 'PRL_ERR_USAGE'],
    ['/dev/full', 'PRL_ERR_LIMIT'],
  ])('into %s say so: %s', async (kind, code) => {
    const path = kind === 'a directory' ? tempFolder() : kind;
    const written = MetricsFile.open(path).then((file) => file.append(row('a')));
    await expect(written).rejects.toMatchObject({ code, message: expect.stringContaining(path) });
  });
});
