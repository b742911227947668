/** The short form of the campaign of docs/campaigns.md: it runs, judges, and leaves nothing behind. */
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { tempFolder } from '../helpers/temp-folder.js';

function campaign(args: readonly string[]): { status: number | null; stdout: string; stderr: string } {
  const { status, stdout, stderr } = spawnSync('bash', ['scripts/campaign-index.sh', ...args], { encoding: 'utf8' });
  return { status, stdout, stderr };
}

test.each(['A', 'C'])('shape %s, killed twice, has the rows of undisturbed passes', (shape) => {
  const folder = tempFolder();
  const { status, stdout, stderr } = campaign([
    folder,
    ...['--shape', shape, '--bytes', '300MB', '--kills', '2', '--passes', '2'],
  ]);
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  for (const line of ['pass 2', 'kill 2', 'finished']) expect(stdout).toContain(`${line} |`);
  expect(stdout).toMatch(/rows: \d+, the same in every pass and after every kill; sha256 [0-9a-f]{64}\n$/);
  expect(readdirSync(folder)).toEqual([]);
});

test('without room for the run it ends at once, and leaves nothing', () => {
  const folder = tempFolder();
  const { status, stderr } = campaign([folder, '--bytes', '900000GB']);
  expect(status).toBe(1);
  expect(stderr).toMatch(/^failed: .* are needed\n$/);
  expect(readdirSync(folder)).toEqual([]);
});

test('without a folder it says how it is used', () => {
  expect(campaign([])).toMatchObject({ status: 2, stderr: expect.stringMatching(/^usage: campaign-index\.sh FOLDER/) });
});
