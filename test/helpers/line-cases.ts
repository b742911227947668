/**
 * Lines that break walkers, each with what it is, where its fault is seen and, where it says something, its tape as
 * TapeReader shows it. After design/scanning.md sections 6 and 7 and the contract in core/scan/walker.ts.
 */
import { FAULT, MAX_DEPTH } from '../../src/core/scan/walker.js';
import { BAD_LINES } from './bad-lines.js';
import { LEGAL_LINES } from './legal-lines.js';
import { bad, type LineCase, record } from './line-case.js';

export type { LineCase } from './line-case.js';

/** All of a few kilobytes at most. */
export const LINE_CASES: readonly LineCase[] = [...LEGAL_LINES, ...BAD_LINES];

function nested(open: string, close: string, depth: number, inner = ''): string {
  return open.repeat(depth) + inner + close.repeat(depth);
}

/** Lines of 400 kB and more; sized so that a walker that recurses on its input falls. */
export const DEEP_CASES: readonly LineCase[] = [
  record('200,000 arrays', `{"x":${nested('[', ']', 200_000)},"id":1}`, ['ID INT 1', 'UNIT_KEYS']),
  record('200,000 objects', `{"x":${nested('{"a":', '}', 200_000, '1')},"id":1}`, ['ID INT 1', 'UNIT_KEYS']),
  record('200,000 of both', `{"x":${nested('[{"a":', '}]', 100_000, '"]"')},"id":1}`, ['ID INT 1', 'UNIT_KEYS']),
  record('deep inside a wanted object', `{"env":{"x":${nested('[', ']', 100_000)},"id":1}}`, [
    'ENV OBJECT',
    'ENV_ID INT 1',
    'UNIT_KEYS',
  ]),
  record('as deep as is followed', `{"x":${nested('[', ']', MAX_DEPTH - 1)},"id":1}`, ['ID INT 1', 'UNIT_KEYS']),
  bad('one deeper', FAULT.DEPTH, `{"x":${'['.repeat(MAX_DEPTH - 1)}¦[`),
  bad('one deeper further in', FAULT.DEPTH, `{"env":{"x":${'['.repeat(MAX_DEPTH - 2)}¦{"`),
  bad('crossed deep inside', FAULT.BRACKETS, `{"x":${'['.repeat(70_000)}${']'.repeat(69_999)}¦}]`),
  bad('torn deep inside', FAULT.TORN, `{"x":${'[{"a":'.repeat(50_000)}`),
];
