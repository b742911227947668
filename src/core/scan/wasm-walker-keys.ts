/** The paths of record-tape.ts as the key tables of assembly/walker/keys.ts: one table for each object that is walked. */
import { FIELD, UNIT_KEYS } from './record-tape.js';

/** What is done with the value of a key; as in assembly/walker/keys.ts. */
const ACTION = { SKIP: 0, VALUE: 1, OBJECT: 2, LIST: 3, COUNT: 4, RAW: 5 } as const;

/** Objects that are walked, the outer one first. */
const CONTEXT = {
  RECORD: 0,
  ENV: 1,
  GROUP: 2,
  RUN: 3,
  WORK: 4,
  TRACE: 5,
  NODE: 6,
  MESSAGE: 7,
  CALL: 8,
  USAGE: 9,
  INFO: 10,
  DISPATCH: 11,
  ARRIVAL: 12,
} as const;

/** Place among the unit keys of a key that is none of them. */
const NO_UNIT = -1;

/** One key of one object. */
export type WalkedKey = {
  readonly context: number;
  /** 1 to 29 ASCII characters. */
  readonly name: string;
  readonly field: number;
  readonly action: number;
  /** Of the object there, or of the elements. */
  readonly child: number;
  /** Field of the elements of a LIST. */
  readonly element: number;
  /** Field of the entry behind a LIST; 0 for none. */
  readonly last: number;
  /** Place in UNIT_KEYS, or -1. */
  readonly unit: number;
};

type Row = readonly [name: string, field: number, action: number, child?: number, element?: number, last?: number];

const TRACE_ROWS: readonly Row[] = [
  ['nodes', FIELD.NODES, ACTION.LIST, CONTEXT.NODE, FIELD.NODE],
  ['calls', FIELD.CALLS, ACTION.LIST, CONTEXT.CALL, FIELD.CALL],
  ['rewards', FIELD.REWARDS, ACTION.RAW],
  ['info', FIELD.INFO, ACTION.OBJECT, CONTEXT.INFO],
  ['stop_condition', FIELD.STOP_CONDITION, ACTION.VALUE],
  ['timing', FIELD.TIMING, ACTION.RAW],
];

const RECORD_ROWS: readonly Row[] = [
  ['id', FIELD.ID, ACTION.VALUE],
  ['env', FIELD.ENV, ACTION.OBJECT, CONTEXT.ENV],
  ['group', FIELD.GROUP, ACTION.OBJECT, CONTEXT.GROUP],
  ['run', FIELD.RUN, ACTION.OBJECT, CONTEXT.RUN],
  ['ok', FIELD.OK, ACTION.VALUE],
  ['errors', FIELD.ERRORS, ACTION.COUNT],
  ['traces', FIELD.TRACES, ACTION.LIST, CONTEXT.TRACE, FIELD.TRACE, FIELD.TRACES_END],
  ['num_input_tokens', FIELD.INPUT_TOKENS, ACTION.VALUE],
  ['num_output_tokens', FIELD.OUTPUT_TOKENS, ACTION.VALUE],
  ...TRACE_ROWS,
];

const INNER_ROWS: readonly (readonly [context: number, rows: readonly Row[]])[] = [
  [
    CONTEXT.ENV,
    [
      ['id', FIELD.ENV_ID, ACTION.VALUE],
      ['name', FIELD.ENV_NAME, ACTION.VALUE],
    ],
  ],
  [CONTEXT.GROUP, [['id', FIELD.GROUP_ID, ACTION.VALUE]]],
  [
    CONTEXT.RUN,
    [
      ['type', FIELD.RUN_TYPE, ACTION.VALUE],
      ['work', FIELD.WORK, ACTION.OBJECT, CONTEXT.WORK],
    ],
  ],
  [CONTEXT.WORK, [['type', FIELD.WORK_TYPE, ACTION.VALUE]]],
  [CONTEXT.TRACE, [['id', FIELD.TRACE_ID, ACTION.VALUE], ...TRACE_ROWS]],
  [
    CONTEXT.NODE,
    [
      ['parent', FIELD.PARENT, ACTION.VALUE],
      ['message', FIELD.MESSAGE, ACTION.OBJECT, CONTEXT.MESSAGE],
    ],
  ],
  [CONTEXT.MESSAGE, [['role', FIELD.ROLE, ACTION.VALUE]]],
  [
    CONTEXT.CALL,
    [
      ['node', FIELD.CALL_NODE, ACTION.VALUE],
      ['finish_reason', FIELD.FINISH_REASON, ACTION.VALUE],
      ['error', FIELD.CALL_ERROR, ACTION.VALUE],
      ['usage', FIELD.USAGE, ACTION.OBJECT, CONTEXT.USAGE],
    ],
  ],
  [
    CONTEXT.USAGE,
    [
      ['prompt_tokens', FIELD.PROMPT_TOKENS, ACTION.VALUE],
      ['completion_tokens', FIELD.COMPLETION_TOKENS, ACTION.VALUE],
      ['cached_input_tokens', FIELD.CACHED_INPUT_TOKENS, ACTION.VALUE],
      ['cost', FIELD.COST, ACTION.VALUE],
    ],
  ],
  [
    CONTEXT.INFO,
    [
      ['kind', FIELD.INFO_KIND, ACTION.VALUE],
      ['dispatch', FIELD.DISPATCH, ACTION.OBJECT, CONTEXT.DISPATCH],
      ['arrival', FIELD.ARRIVAL, ACTION.OBJECT, CONTEXT.ARRIVAL],
      ['advantage', FIELD.ADVANTAGE, ACTION.VALUE],
      ['env_name', FIELD.INFO_ENV_NAME, ACTION.VALUE],
      ['group_id', FIELD.INFO_GROUP_ID, ACTION.VALUE],
    ],
  ],
  [CONTEXT.DISPATCH, [['time', FIELD.DISPATCH_TIME, ACTION.VALUE]]],
  [
    CONTEXT.ARRIVAL,
    [
      ['step', FIELD.ARRIVAL_STEP, ACTION.VALUE],
      ['time', FIELD.ARRIVAL_TIME, ACTION.VALUE],
    ],
  ],
];

/** Every key, those first that are not only there to tell the unit. */
export const WALKED_KEYS: readonly WalkedKey[] = listKeys();

function listKeys(): WalkedKey[] {
  const units = new Map<string, number>(UNIT_KEYS.map((name, index) => [name, index]));
  const keys = RECORD_ROWS.map((row) => walkedKey(CONTEXT.RECORD, row, units.get(row[0])));
  const known = new Set(keys.map((key) => key.name));
  for (const [name, unit] of units) {
    if (!known.has(name)) keys.push(walkedKey(CONTEXT.RECORD, [name, 0, ACTION.SKIP], unit));
  }
  for (const [context, rows] of INNER_ROWS) {
    for (const row of rows) keys.push(walkedKey(context, row, undefined));
  }
  return keys;
}

function walkedKey(context: number, row: Row, unit: number | undefined): WalkedKey {
  const [name, field, action, child = 0, element = 0, last = 0] = row;
  return { context, name, field, action, child, element, last, unit: unit ?? NO_UNIT };
}
