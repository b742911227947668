/** Episodes in memory that are too large for a row: refused where the line of the record would have no row either. */
import { describe, expect, test } from 'vitest';
import { PrlError } from '../../../src/core/errors.js';
import { indexRecord, RecordIndexer } from '../../../src/core/index/index-record.js';
import { MAX_CALLS, MAX_NODES } from '../../../src/core/index/trace-facts.js';
import { buildRows } from './built-rows.js';

const PLACE = { line: 1, offset: 0, chunk: 0 } as const;
const MIB = 1_048_576;

/** What an episode in memory gives: its row, or the code and message of the error. */
function objectRow(episode: unknown): string | readonly string[] {
  try {
    return Buffer.from(indexRecord(episode, PLACE)).toString();
  } catch (error) {
    if (!(error instanceof PrlError)) throw error;
    return [error.code, error.message];
  }
}

describe('an episode that is too large for a row (R-IDX-1)', () => {
  test.each<[string, number, (count: number) => unknown]>([
    ['a trace has more than 4194304 nodes', MAX_NODES, (count) => ({ nodes: new Array(count).fill(0) })],
    ['nodes or 2097152 calls', MAX_CALLS, (count) => ({ calls: new Array(count).fill({}) })],
    ['the id of a trace has more than 1048576 bytes', MIB, (count) => ({ id: 'x'.repeat(count) })],
    ['the stop_condition of a trace has more than', MIB / 2, (count) => ({ stop_condition: 'é'.repeat(count) })],
    ['the id of a trace has more than 1048576 bytes', MIB / 2, (count) => ({ id: '"'.repeat(count) })],
  ])('%s: PRL_ERR_REJECTED beyond %i, and no row as a line', (reason, most, traceOf) => {
    const largest = { traces: [traceOf(most)] };
    const tooLarge = { traces: [traceOf(most + 1), {}] };
    const [line, tooLargeLine] = buildRows(`${JSON.stringify(largest)}\n${JSON.stringify(tooLarge)}`);
    expect(objectRow(largest)).toBe(line?.row);
    expect(objectRow(tooLarge)).toEqual(['PRL_ERR_REJECTED', expect.stringContaining(reason)]);
    expect(tooLargeLine?.fault?.kind).toBe('line_too_large');
  });

  test('ids have more than 64 MiB in all: PRL_ERR_REJECTED, and no row as a line', () => {
    const id = 'i'.repeat(MIB);
    const episode = (count: number) => ({ traces: new Array(count).fill({ id }) });
    const [line, tooLargeLine] = buildRows(`${JSON.stringify(episode(64))}\n${JSON.stringify(episode(65))}`);
    expect(objectRow(episode(64)) === line?.row).toBe(true);
    expect(objectRow(episode(65))).toEqual([
      'PRL_ERR_REJECTED',
      expect.stringContaining('more than 67108864 bytes in all'),
    ]);
    expect(tooLargeLine?.fault?.kind).toBe('line_too_large');
  });

  test('the name of a phase for which ids leave no room: PRL_ERR_REJECTED', () => {
    const traces: object[] = new Array(64).fill({ id: 'i'.repeat(MIB) });
    const episode = { traces: [...traces, { timing: { agent: { duration: 1 } } }] };
    expect(objectRow(episode)).toEqual([
      'PRL_ERR_REJECTED',
      expect.stringContaining('more than 67108864 bytes in all'),
    ]);
  });

  test('leaves nothing behind for the next one', () => {
    const indexer = new RecordIndexer();
    const tooLarge = { traces: [{ calls: [{ usage: { cost: 1 } }] }, { id: 'x'.repeat(MIB + 1) }] };
    const next = { id: 'next', traces: [{ nodes: [{}] }] };
    expect(() => [...indexer.steps(tooLarge, PLACE)]).toThrow(PrlError);
    const step = indexer.steps(next, PLACE);
    step.next();
    expect(Buffer.from(step.next().value ?? []).toString()).toBe(objectRow(next));
  });
});
