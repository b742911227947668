/** When a document says that an upload is complete, and when that it is partial. */
import { expect, test } from 'vitest';
import { uploadDocument } from '../../src/cli/upload-document.js';
import type { UploadOutcome } from '../../src/core/upload/outcome.js';
import { schemaComplaints } from '../helpers/json-schema.js';

const OUTCOME: UploadOutcome = {
  runId: 'r',
  plan: { episodes: 1, bytes: 10 },
  sent: { episodes: 1, bytes: 10, wireBytes: 12, requests: 1 },
  already: { episodes: 0, bytes: 0 },
  rejected: [],
  damaged: [],
  retries: 0,
  mismatches: [],
  verified: null,
  stopped: null,
  interrupted: false,
  filter: null,
  journal: null,
};

const rejectedAs = (code: string): UploadOutcome['rejected'] => [
  { chunk: 0, offset: 0, length: 10, byteLength: 10, lineNumber: 1, id: 'e', code, message: 'why', digest: null },
];

test.each<[string, Partial<UploadOutcome>, { complete: boolean; partial: boolean }]>([
  ['everything stored', {}, { complete: true, partial: false }],
  ['a line that is rejected for good', { rejected: rejectedAs('invalid_trace') }, { complete: true, partial: false }],
  ['a line without a usable receipt', { rejected: rejectedAs('bad_receipt') }, { complete: false, partial: false }],
  [
    'a filter, whatever it left out (P5)',
    { filter: { selected: { episodes: 1, bytes: 10 }, leftOut: { episodes: 0, bytes: 0 }, unjudged: 0 } },
    { complete: false, partial: false },
  ],
  ['a signal', { interrupted: true }, { complete: false, partial: true }],
  [
    'a service that stays away',
    { stopped: { errorCode: 'PRL_ERR_TEMPORARY', message: 'gone', hint: 'again' } },
    { complete: false, partial: true },
  ],
])('%s', (_what, change, said) => {
  const surroundings = {
    run: './run',
    url: 'http://127.0.0.1:1',
    filter: '--errors',
    seconds: 1.23456,
    peakRssBytes: 1,
  };
  const document = uploadDocument({ ...OUTCOME, ...change }, surroundings);
  expect(document).toMatchObject({ ...said, seconds: 1.235 });
  expect(schemaComplaints(document, 'schemas/prl.upload-1.json')).toEqual([]);
});
