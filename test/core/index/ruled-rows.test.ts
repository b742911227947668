/**
 * Rows of episodes in memory whose encoder writes whole numbers as floats where the model declares one, and leaves out
 * nulls of models: equal to the row of that text (R-IDX-2).
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { indexRecord } from '../../../src/core/index/index-record.js';
import { episode } from '../../helpers/episode-arbitrary.js';
import { render, SHORTEST } from '../../helpers/json-tree.js';
import { oracleRow } from '../../helpers/row-oracle.js';
import { largeEpisode } from './large-episodes.js';

const SEED = 20261202;
const PLACE = { line: 1, offset: 0, chunk: 0 } as const;

function declaredRow(value: unknown): string {
  return Buffer.from(indexRecord(value, { ...PLACE, rules: 'record' })).toString();
}

/** The row of the text in which declared floats have their point and nulls of models are not there. */
function rowOfText(value: unknown): string {
  return `${oracleRow(Buffer.from(declaredText(value)), { ...PLACE, tokens: 'auto', mode: 'compat' })}\n`;
}

/** As `JSON.stringify`, but for whole numbers where the model declares a float, and nulls that rows would read. */
function declaredText(value: unknown): string {
  const record = structuredClone(value) as { traces?: unknown };
  for (const trace of Array.isArray(record?.traces) ? record.traces : []) {
    for (const reward of membersOf(trace?.rewards)) markFloats(reward, 'score', 'weight');
    for (const call of Array.isArray(trace?.calls) ? trace.calls : []) markFloats(call?.usage, 'cost');
    markTiming(trace?.timing);
    leaveOutNull(trace, 'stop_condition');
    for (const node of Array.isArray(trace?.nodes) ? trace.nodes : []) leaveOutNull(node, 'parent');
  }
  return JSON.stringify(record);
}

function leaveOutNull(owner: unknown, name: string): void {
  if (typeof owner === 'object' && owner !== null && (owner as Record<string, unknown>)[name] === null) {
    delete (owner as Record<string, unknown>)[name];
  }
}

function markTiming(timing: unknown): void {
  markFloats(timing, 'start', 'end', 'duration');
  for (const member of membersOf(timing)) markTiming(member);
}

function membersOf(value: unknown): unknown[] {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.values(value) : [];
}

function markFloats(owner: unknown, ...names: readonly string[]): void {
  if (typeof owner !== 'object' || owner === null || Array.isArray(owner)) return;
  const members = owner as Record<string, unknown>;
  for (const name of names) {
    const value = members[name];
    if (Number.isInteger(value)) members[name] = rawJson(floatText(value as number));
  }
}

function floatText(value: number): string {
  if (Object.is(value, -0)) return '-0.0';
  return Math.abs(value) >= 1e21 ? String(value) : `${value}.0`;
}

/** Node's types do not know raw literals yet. */
function rawJson(text: string): unknown {
  return (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(text);
}

describe('declared floats', () => {
  const usage = { prompt_tokens: 3, cost: 2 };
  test.each<[string, object, string]>([
    ['cost', { calls: [{ usage }] }, '"cost":2.0,'],
    ['cost, -0', { calls: [{ usage: { cost: -0 } }] }, '"cost":0.0,'],
    ['cost beyond 2^53', { calls: [{ usage: { cost: 2 ** 60 } }] }, '"cost":1.152921504606847e+18,'],
    ['cost, a bigint', { calls: [{ usage: { cost: 2n } }] }, '"cost":2,'],
    ['cost, a literal', { calls: [{ usage: { cost: rawJson('2') } }] }, '"cost":2,'],
    ['cost, NaN', { calls: [{ usage: { cost: Number.NaN } }] }, '"cost":null,'],
    // As integers, the outer two would be added without making up for what rounding loses of the middle one.
    ['scores', { rewards: { a: { score: 1e16 }, b: { score: 0.1 }, c: { score: -1e16 } } }, '"reward":0.1,'],
    [
      'weights',
      { rewards: { a: { score: rawJson('1'), weight: 1e16 }, b: { score: 0.1 }, c: { score: -1e16 } } },
      ':0.1,',
    ],
    ['tokens are integers', { nodes: [{}], calls: [{ node: 0, usage }] }, '"input_tokens":3,'],
    ['times of info are what they are', { info: { dispatch: { time: 4 }, arrival: { time: 9 } } }, ':4,"arrival":9,'],
    ['so is their span', { info: { dispatch: { time: 4 }, arrival: { time: 9 } } }, '"duration":5,'],
    ['phases', { timing: { start: 1, end: 4, agent: { duration: 2 }, '': { x: { duration: 7 } } } }, ':12.0,'],
  ])('%s', (_, trace, expected) => {
    expect(declaredRow({ traces: [trace] })).toContain(expected);
  });

  test('plain rows stay as they are', () => {
    const row = indexRecord({ traces: [{ calls: [{ usage }] }] }, { ...PLACE, rules: 'plain' });
    expect(Buffer.from(row).toString()).toContain('"cost":2,');
  });

  test('rows of 1,000 random episodes are those of their text', () => {
    fc.assert(
      fc.property(episode, (tree) => {
        const object: unknown = JSON.parse(render(tree, SHORTEST));
        expect(declaredRow(object)).toBe(rowOfText(object));
      }),
      { seed: SEED, numRuns: 1000 },
    );
  });

  test('rows of 40 large ones too', () => {
    fc.assert(
      fc.property(largeEpisode, (object) => {
        expect(declaredRow(object)).toBe(rowOfText(object));
      }),
      { seed: SEED, numRuns: 40 },
    );
  });
});
