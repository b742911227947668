/**
 * Which values of a record a row wants, and where each goes on the tape: one table for each kind of object (spec 02).
 * The walkers have the same tables in their own ways; this one is for walks over tokens.
 */
import { FIELD } from '../core/scan/record-tape.js';

/** What is kept of a value: itself (of an object or list no more than its type), an object's text, or a list's length. */
export type Kept = 'value' | 'text' | 'count';

export type Place = {
  readonly field: number;
  readonly kept: Kept;
  readonly members?: ReadonlyMap<string, Place>;
  readonly elements?: Place;
};

function value(field: number): Place {
  return { field, kept: 'value' };
}

function objectOf(field: number, members: Readonly<Record<string, Place>>): Place {
  return { field, kept: 'value', members: new Map(Object.entries(members)) };
}

function listOf(field: number, elements: Place): Place {
  return { field, kept: 'value', elements };
}

const USAGE = objectOf(FIELD.USAGE, {
  prompt_tokens: value(FIELD.PROMPT_TOKENS),
  completion_tokens: value(FIELD.COMPLETION_TOKENS),
  cached_input_tokens: value(FIELD.CACHED_INPUT_TOKENS),
  cost: value(FIELD.COST),
});

const CALL = objectOf(FIELD.CALL, {
  node: value(FIELD.CALL_NODE),
  finish_reason: value(FIELD.FINISH_REASON),
  error: value(FIELD.CALL_ERROR),
  usage: USAGE,
});

const NODE = objectOf(FIELD.NODE, {
  parent: value(FIELD.PARENT),
  message: objectOf(FIELD.MESSAGE, { role: value(FIELD.ROLE) }),
});

const TRACE_MEMBERS = {
  nodes: listOf(FIELD.NODES, NODE),
  calls: listOf(FIELD.CALLS, CALL),
  rewards: { field: FIELD.REWARDS, kept: 'text' },
  info: objectOf(FIELD.INFO, {
    kind: value(FIELD.INFO_KIND),
    dispatch: objectOf(FIELD.DISPATCH, { time: value(FIELD.DISPATCH_TIME) }),
    arrival: objectOf(FIELD.ARRIVAL, { step: value(FIELD.ARRIVAL_STEP), time: value(FIELD.ARRIVAL_TIME) }),
    advantage: value(FIELD.ADVANTAGE),
    env_name: value(FIELD.INFO_ENV_NAME),
    group_id: value(FIELD.INFO_GROUP_ID),
  }),
  stop_condition: value(FIELD.STOP_CONDITION),
  timing: { field: FIELD.TIMING, kept: 'text' },
} as const satisfies Readonly<Record<string, Place>>;

/** Members of the record; those of a trace too, since it may be a bare one. */
export const RECORD_MEMBERS: ReadonlyMap<string, Place> = new Map<string, Place>(
  Object.entries({
    id: value(FIELD.ID),
    env: objectOf(FIELD.ENV, { id: value(FIELD.ENV_ID), name: value(FIELD.ENV_NAME) }),
    group: objectOf(FIELD.GROUP, { id: value(FIELD.GROUP_ID) }),
    run: objectOf(FIELD.RUN, {
      type: value(FIELD.RUN_TYPE),
      work: objectOf(FIELD.WORK, { type: value(FIELD.WORK_TYPE) }),
    }),
    ok: value(FIELD.OK),
    errors: { field: FIELD.ERRORS, kept: 'count' },
    traces: listOf(FIELD.TRACES, objectOf(FIELD.TRACE, { id: value(FIELD.TRACE_ID), ...TRACE_MEMBERS })),
    num_input_tokens: value(FIELD.INPUT_TOKENS),
    num_output_tokens: value(FIELD.OUTPUT_TOKENS),
    ...TRACE_MEMBERS,
  } satisfies Record<string, Place>),
);
