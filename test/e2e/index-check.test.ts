/** `prl index --check` as built: whatever is done to an index is found, named and repaired (demands I6, X3). */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { IndexComparison } from '../../src/core/index/compare.js';
import { agedCopy, indexDocumentOf } from '../helpers/index-command.js';
import { schemaComplaints } from '../helpers/json-schema.js';
import { tempFolder } from '../helpers/temp-folder.js';
import { runPrl } from '../helpers/upload-command.js';

const INDEX = 'monitors/file/traces/stream.index.jsonl';
const ANNOTATIONS = 'monitors/file/traces/annotations/orch.index.jsonl';

type Lines = readonly string[];

/** What is done to the lines of an index, each with its LF, and what a check must call it. */
const TAMPERINGS: Readonly<Record<string, { change(lines: Lines): Lines; found: Partial<IndexComparison> }>> = {
  'one bit of a number is flipped': {
    change: (lines) => lines.with(6, flipBit(lines[6] as string, '"input_tokens":')),
    found: { counts: { field_diff: 1 } },
  },
  'one bit of a name is flipped': {
    change: (lines) => lines.with(3, flipBit(lines[3] as string, '"kind":"')),
    found: { counts: { field_diff: 1 } },
  },
  'one bit of an address is flipped': {
    change: (lines) => lines.with(4, flipBit(lines[4] as string, '"offset":')),
    found: { counts: { stale_row: 1, missing_row: 1 } },
  },
  'one bit of a bracket is flipped': {
    change: (lines) => lines.with(4, `[${(lines[4] as string).slice(1)}`),
    found: { counts: { unreadable_row: 1, missing_row: 1 } },
  },
  'two rows are swapped': {
    change: (lines) => lines.with(7, lines[8] as string).with(8, lines[7] as string),
    found: { counts: { misplaced_row: 1 } },
  },
  'a row is dropped': { change: (lines) => lines.toSpliced(5, 1), found: { counts: { missing_row: 1 }, rows: 15 } },
  'the first row is dropped': { change: (lines) => lines.slice(1), found: { counts: { missing_row: 1 } } },
  'the last row is dropped': { change: (lines) => lines.slice(0, -1), found: { counts: { missing_row: 1 } } },
  'a row is there twice': {
    change: (lines) => lines.toSpliced(5, 0, lines[5] as string),
    found: { counts: { duplicate_row: 1 }, rows: 17 },
  },
  'a row points behind the end': {
    change: (lines) => [...lines, (lines[15] as string).replace(/"offset":\d+/, '"offset":999999')],
    found: { counts: { extra_row: 1 } },
  },
  'a row points into a chunk that is not there': {
    change: (lines) => [...lines, (lines[15] as string).replace(/"chunk":\d+/, '"chunk":7')],
    found: { counts: { extra_row: 1 } },
  },
  'a row has the id of another': {
    change: (lines) => lines.with(2, (lines[2] as string).replace(/"id":"[^"]+"/, '"id":"other"')),
    found: { counts: { stale_row: 1 } },
  },
  'the tail is torn': {
    change: (lines) => lines.with(15, (lines[15] as string).slice(0, 40)),
    found: { counts: { torn_index_tail: 1, missing_row: 1 } },
  },
  'a row is glued to a torn one': {
    change: (lines) => lines.with(9, (lines[9] as string).slice(0, 40)),
    found: { counts: { glued_index_row: 1, missing_row: 1 } },
  },
  'a line is blank': { change: (lines) => lines.toSpliced(5, 0, '\n'), found: { counts: { unreadable_row: 1 } } },
  'a header is put before it': {
    change: (lines) => ['{"prl_index":1,"synthetic":true}\n', ...lines],
    found: { counts: { unreadable_row: 1 } },
  },
  'it is empty': { change: () => [], found: { counts: { missing_row: 16 }, rows: 0 } },
};

function flipBit(line: string, after: string): string {
  const at = line.indexOf(after) + after.length;
  return line.slice(0, at) + String.fromCharCode(line.charCodeAt(at) ^ 1) + line.slice(at + 1);
}

function setUp() {
  const home = tempFolder();
  const run = agedCopy('fixtures/runs/prime-rl-stream', join(home, 'run'));
  const path = join(run, INDEX);
  const lines = readFileSync(path, 'utf8').split(/(?<=\n)/);
  return { home, run, path, lines };
}

describe.each(Object.keys(TAMPERINGS))('%s', (name) => {
  test('is found in its row, told in words and repaired by the command that is named', async () => {
    const { home, run, path, lines } = setUp();
    const { change, found } = TAMPERINGS[name] as (typeof TAMPERINGS)[string];
    const tampered = change(lines).join('');
    expect(tampered).not.toBe(lines.join(''));
    writeFileSync(path, tampered);
    const checked = await runPrl(['index', run, '--check', '--json'], { home });
    expect(checked.status).toBe(7);
    const document = indexDocumentOf(checked);
    expect(schemaComplaints(document, 'schemas/prl.index-1.json')).toEqual([]);
    const [stream, ...others] = document.streams;
    expect(stream?.check).toMatchObject({ ok: false, rebuilt: 16, ...found });
    expect(stream?.check?.counts).toEqual(found.counts);
    expect(others.map(({ check }) => check?.ok)).toEqual([true, true]);
    // Nothing was changed, and the failure is one line of JSON beside the document.
    expect(readFileSync(path, 'utf8')).toBe(tampered);
    const { error } = JSON.parse(checked.stderr);
    expect(error).toMatchObject({ code: 'PRL_ERR_INTEGRITY', hint: `rebuild it: prl index ${run}` });
    const repaired = await runPrl(['index', run, '--json', '--force'], { home });
    expect(repaired.status).toBe(0);
    expect(readFileSync(path, 'utf8')).toBe(lines.join(''));
  });
});

test('a gap in the numbers of lines is legal: a remark, and status 0', async () => {
  const { home, run, path, lines } = setUp();
  const gapped = lines.map((line) => line.replace(/"line":(\d+)/, (_all, number) => `"line":${Number(number) + 1}`));
  writeFileSync(path, gapped.join(''));
  const checked = await runPrl(['index', run, '--check', '--json'], { home });
  expect(checked).toMatchObject({ status: 0, stderr: '' });
  expect(indexDocumentOf(checked).streams[0]?.check).toMatchObject({ ok: true, counts: { line_gap: 16 } });
  const told = await runPrl(['index', run, '--check'], { home });
  expect(told.stderr).toContain(' remark    ');
});

test('a person sees the row, the field, both values and last how to repair it', async () => {
  const { home, run, path, lines } = setUp();
  writeFileSync(path, lines.with(0, (lines[0] as string).replace('"reward":1.07', '"reward":2.07')).join(''));
  const { status, stdout, stderr } = await runPrl(['index', run, '--check', '--tokens', 'auto'], { home });
  expect({ status, stdout }).toEqual({ status: 7, stdout: '' });
  expect(stderr).toContain(
    ' differs   monitors/file/traces/stream.index.jsonl: 1 difference (1 field_diff)\n' +
      '   field_diff  line 1 of the index, chunk 0, offset 0, episode 2edb368490b24508afa43b8cf5d1d516\n' +
      '     reward: 2.07 on disk, 1.07 rebuilt\n',
  );
  expect(stderr).toMatch(/\n {2}next: rebuild it: prl index \S+ --tokens auto\n$/);
});

test('an annotation index is checked as well, and no index at all is one without rows', async () => {
  const { home, run, path } = setUp();
  const annotations = readFileSync(join(run, ANNOTATIONS), 'utf8');
  writeFileSync(join(run, ANNOTATIONS), annotations.replace('"effective":true', '"effective":false'));
  rmSync(path);
  const checked = await runPrl(['index', run, '--check', '--json'], { home });
  expect(checked.status).toBe(7);
  expect(indexDocumentOf(checked).streams.map(({ check }) => check?.counts)).toEqual([
    { missing_row: 16 },
    { field_diff: 1 },
    {},
  ]);
});

test('a synthetic index of another run, or cut at its end, is found', async () => {
  const home = tempFolder();
  const out = join(home, 'rows.jsonl');
  const rollouts = ['fixtures/runs/prime-rl-rollouts-r1b', '--subset', 'both', '--out', out];
  expect((await runPrl(['index', ...rollouts], { home })).status).toBe(0);
  const lines = readFileSync(out, 'utf8').split(/(?<=\n)/);
  const countsOf = async (tampered: Lines) => {
    writeFileSync(out, tampered.join(''));
    return indexDocumentOf(await runPrl(['index', ...rollouts, '--check', '--json'], { home })).streams[0]?.check
      ?.counts;
  };
  expect(await countsOf(lines)).toEqual({});
  expect(await countsOf(lines.with(0, (lines[0] as string).replace('R1b', 'R1a')))).toEqual({
    unreadable_row: 1,
    missing_row: 1,
  });
  expect(await countsOf(lines.slice(0, -1))).toEqual({ missing_row: 1 });
  expect(await countsOf(lines.slice(1))).toEqual({ missing_row: 1 });
});
