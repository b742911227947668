/** The report says what the document says, for any outcome, and its schema describes it (demands P2, P3, C18, D8). */
import { describe, expect, test } from 'vitest';
import { LISTED_ENTRIES } from '../../src/cli/damage-lines.js';
import { terminalFormat } from '../../src/cli/format.js';
import { planReport } from '../../src/cli/plan-report.js';
import type { RejectedEntry, UploadDocument } from '../../src/cli/upload-document.js';
import { type UploadReportOptions, uploadReport } from '../../src/cli/upload-report.js';
import type { Damage } from '../../src/core/scan/types.js';
import { schemaComplaints } from '../helpers/json-schema.js';

const rejected: RejectedEntry = {
  chunk: 0,
  offset: 941_233_120,
  line: 412,
  id: '3c1e',
  code: 'duplicate_trace_id',
  message: 'trace 88ab appears twice',
};

const damaged: Damage = {
  file: 'traces.jsonl',
  chunk: 0,
  offset: 1_000_000,
  bytes: 2048,
  kind: 'torn',
  recovered: true,
  message: 'the line ends inside a string',
};

const finished: UploadDocument = {
  schema: 'prl.upload/1',
  run: './run',
  url: 'http://127.0.0.1:8787',
  run_id: 'rl-7f3a',
  plan: { episodes: 1000, bytes: 2_480_343_613 },
  sent: { episodes: 998, bytes: 2_469_606_195, wire_bytes: 537_919_488, requests: 80 },
  already: { episodes: 1, bytes: 2_480_343 },
  rejected: [rejected],
  damaged: [],
  retries: 3,
  seconds: 56.24,
  peak_rss_bytes: 314_572_800,
  verified: null,
  complete: true,
  partial: false,
};

type ReportOptions = Partial<Omit<UploadReportOptions, 'document' | 'format'>> & { ascii?: boolean };

function report(document: UploadDocument, options: ReportOptions = {}): string {
  const { ascii = false, journal = 'run/monitors/prl/journal', ...more } = options;
  return uploadReport({
    document,
    format: terminalFormat({ ascii }),
    columns: null,
    journal,
    words: ['prl', 'upload', './run'],
    ...more,
  }).join('\n');
}

describe('uploadReport', () => {
  test('a finished upload with one rejected line', () => {
    expect(report(finished)).toBe(
      [
        ' uploaded 998 episodes, 2.30 GiB (513 MiB on the wire) in 56.2 s; 1 already there, 1 rejected',
        ' rejected  line 412 (chunk 0, offset 941,233,120) episode 3c1e  duplicate_trace_id: "trace 88ab appears twice"',
        ' took      80 requests, 3 retries, 300 MiB of memory at most',
        ' journal   run/monitors/prl/journal   nothing left to send',
        ' next      keep or fix what was rejected, then: prl upload ./run --retry-rejected',
      ].join('\n'),
    );
  });

  test('a filter says how many it selected of how many, and nothing is said of the run (P5)', () => {
    const filter = {
      text: "--where 'reward > 0.5'",
      selected: { episodes: 1000, bytes: 2_480_343_613 },
      left_out: { episodes: 1234, bytes: 99 },
    };
    const lines = report({ ...finished, rejected: [], filter, complete: false }).split('\n');
    expect(lines[1]).toBe(" filter    1,000 of 2,234 episodes selected, 1,234 left out   --where 'reward > 0.5'");
    expect(lines.at(-1)).toBe(' journal   run/monitors/prl/journal   1 episode left to send');
    const sent = { ...finished.sent, episodes: 999 };
    const done = report({ ...finished, sent, rejected: [], filter, complete: false }).split('\n');
    expect(done.at(-1)).toBe(' journal   run/monitors/prl/journal   nothing left to send of what was selected');
    const partial = { ...finished, rejected: [], filter, complete: false, partial: true };
    expect(report(partial)).toMatch(/at least 1 episode left to send\n next {6}prl upload/);
    expect(schemaComplaints(partial, 'schemas/prl.upload-1.json')).toEqual([]);
    const plan = { ...partial, dry_run: { episodes: 5, bytes: 10, requests: 1 } };
    expect(planReport(plan, terminalFormat({ ascii: false })).slice(2, 5)).toEqual([
      ' holds     2,234 episodes, 2.31 GiB',
      " selected  1,000 episodes, 2.31 GiB   --where 'reward > 0.5'",
      ' left out  1,234 episodes, 99 B',
    ]);
  });

  test('an interrupted one is marked, says what is left, and ends with how to go on', () => {
    const sent = { episodes: 1, bytes: 1024, wire_bytes: 512, requests: 1 };
    const text = report({ ...finished, sent, rejected: [], complete: false, partial: true }, { journal: null });
    expect(text.split('\n')).toEqual([
      ' partial: uploaded 1 episode, 1 KiB (512 B on the wire) in 56.2 s; 1 already there',
      ' took      1 request, 3 retries, 300 MiB of memory at most',
      ' journal   none kept   at least 998 episodes left to send',
      ' next      prl upload ./run   (what is stored is not stored twice)',
    ]);
  });

  test('one that was stopped when all that there was is sent, as following mostly is, says so', () => {
    const sent = { ...finished.sent, episodes: 999 };
    const lines = report({ ...finished, sent, rejected: [], complete: false, partial: true }).split('\n');
    expect(lines.slice(-2)).toEqual([
      ' journal   run/monitors/prl/journal   nothing that was read is left to send',
      ' next      prl upload ./run   (continues where this stopped)',
    ]);
  });

  test('what to type next is what was typed, flags and quotes included', () => {
    const words = ['prl', 'upload', 'my run', '--url', 'https://traces.example'];
    const stopped = { ...finished, sent: { episodes: 0, bytes: 0, wire_bytes: 0, requests: 1 }, complete: false };
    expect(report(stopped, { words }).split('\n').slice(-2)).toEqual([
      " next      keep or fix what was rejected, then: prl upload 'my run' --url https://traces.example --retry-rejected",
      " next      prl upload 'my run' --url https://traces.example   (continues where this stopped)",
    ]);
    expect(report(finished, { words: [...words, '--retry-rejected'] })).toMatch(/example --retry-rejected$/);
    // A retry follows nothing.
    for (const follow of ['-f', '--follow']) {
      const text = report(finished, { words: ['prl', 'upload', follow, './run', '--local'] });
      expect(text).toMatch(/then: prl upload \.\/run --local --retry-rejected$/);
    }
  });

  test('an error that follows has the last word', () => {
    const stopped = { ...finished, rejected: [], complete: false, partial: true };
    expect(report(stopped, { endsWithFailure: true })).toMatch(/at least 1 episode left to send$/);
  });

  test('lines without a receipt are neither settled nor rejected: the same command asks again', () => {
    const lines = report({ ...finished, rejected: [{ ...rejected, code: 'bad_receipt' }] }).split('\n');
    expect(lines.slice(-2)).toEqual([
      ' journal   run/monitors/prl/journal   1 episode left to send',
      ' next      check the URL of the service, then: prl upload ./run',
    ]);
  });

  test('a file that could not be read is something to do', () => {
    expect(report({ ...finished, rejected: [], damaged: [{ ...damaged, kind: 'unreadable' }] })).toMatch(
      /next {6}make the unreadable files readable, then: prl upload \.\/run$/,
    );
  });

  test('receipts that name other uploads are a warning', () => {
    expect(report(finished, { mismatches: ['it names \u001b[2J'] })).toContain(
      ' warning   1 receipt does not match what was sent; the first: it names \\u001b[2J\n',
    );
  });

  test.each([
    [0, '0 retries'],
    [1, '1 retry,'],
    [2, '2 retries'],
  ])('%d retries', (retries, text) => {
    expect(report({ ...finished, retries })).toContain(text);
  });

  test.each([
    [true, 'verified  998 episodes read back: all the same'],
    [false, 'verified  998 episodes read back: NOT the same as sent'],
  ])('verified %s', (ok, line) => {
    expect(report({ ...finished, verified: { episodes: 998, ok } })).toContain(line);
  });

  test('damage is listed with its file, place, kind and whether the rest of the line was saved', () => {
    expect(report({ ...finished, damaged: [damaged, { ...damaged, recovered: false, kind: 'nul' }] })).toContain(
      [
        ' damaged   torn: 1 place, 2,048 bytes',
        '   file          chunk     offset  bytes',
        '   traces.jsonl      0  1,000,000  2,048  recovered  "the line ends inside a string"',
        ' damaged   nul: 1 place, 2,048 bytes',
        '   file          chunk     offset  bytes',
        '   traces.jsonl      0  1,000,000  2,048  lost  "the line ends inside a string"',
      ].join('\n'),
    );
  });

  test('many of one kind are listed up to a bound and counted beyond it, by reason', () => {
    const many = Array.from({ length: LISTED_ENTRIES + 7 }, (_, index) => ({ ...rejected, line: index + 1 }));
    const lines = report({ ...finished, rejected: [...many, { ...rejected, code: 'line_too_large' }] }).split('\n');
    expect(lines.filter((line) => line.includes('duplicate_trace_id: "'))).toHaveLength(LISTED_ENTRIES);
    expect(lines.filter((line) => line.includes('and 7 more with duplicate_trace_id'))).toHaveLength(1);
    expect(lines.filter((line) => line.includes('line_too_large: "'))).toHaveLength(1);
  });

  test('hostile text of a record or a service stays text', () => {
    const hostile = { ...rejected, id: 'x\u001b[2Jy', message: 'first\nsecond \u202egnp' };
    const text = report({ ...finished, rejected: [hostile] });
    expect(text).toContain('episode x\\u001b[2Jy ');
    expect(text).toContain('"first\\nsecond \\u202egnp"');
    expect(text).not.toMatch(/\p{Cc}(?<!\n)/u);
  });

  test('without UTF-8 every byte is ASCII', () => {
    const text = report({ ...finished, rejected: [{ ...rejected, message: 'Größe 日本' }] }, { ascii: true });
    expect(text).toMatch(/^[\x20-\x7e\n]*$/);
    expect(text).toContain('Gr\\u{f6}\\u{df}e \\u{65e5}\\u{672c}');
  });
});

describe('schemas/prl.upload-1.json', () => {
  const complaints = (document: unknown): string[] => schemaComplaints(document, 'schemas/prl.upload-1.json');

  test('describes every field of a document', () => {
    const dry = { episodes: 1, bytes: 2, requests: 1 };
    expect(
      complaints({ ...finished, damaged: [damaged], verified: { episodes: 998, ok: true }, dry_run: dry }),
    ).toEqual([]);
  });

  test.each([
    ['a missing field', { retries: undefined }, '$.retries'],
    ['another schema', { schema: 'prl.upload/2' }, '$.schema'],
    ['a fraction of an episode', { plan: { episodes: 1.5, bytes: 0 } }, '$.plan.episodes'],
    ['a negative count', { retries: -1 }, '$.retries'],
    ['a line 0', { rejected: [{ ...rejected, line: 0 }] }, '$.rejected[0].line'],
    ['an unknown kind of damage', { damaged: [{ ...damaged, kind: 'rust' }] }, '$.damaged[0].kind'],
    ['a field nobody described', { extra: 1 }, '$.extra'],
  ])('finds %s', (_name, change, path) => {
    const document = JSON.parse(JSON.stringify({ ...finished, ...change }));
    expect(complaints(document)).toEqual([expect.stringContaining(path)]);
  });
});
