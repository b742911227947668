/** For every field of the tape one line that holds a value of every type there, right or wrong, and the tape of it. */

/** What a walker does at a field with the value it expects there. */
type Expected = 'value' | 'object' | 'list' | 'raw' | 'count' | 'type';

type Surroundings = {
  readonly open: string;
  readonly close: string;
  readonly before: readonly string[];
  readonly after: readonly string[];
};

export type TypedField = {
  readonly field: string;
  readonly key: string;
  readonly expected: Expected;
  readonly around: Surroundings;
  /** The bits of UNIT_KEYS that the line sets. */
  readonly units: string;
};

const VALUES = [
  'null',
  'false',
  'true',
  '7',
  '-1.5',
  '"s"',
  '"\\n"',
  'NaN',
  '{}',
  '[]',
  '{"k":[1]}',
  '["]",5]',
] as const;

const SCALARS: Readonly<Record<string, string>> = {
  null: 'NULL',
  false: 'FALSE',
  true: 'TRUE',
  '7': 'INT 7',
  '-1.5': 'NUMBER -1.5',
  '"s"': 'STRING s',
  '"\\n"': 'ESCAPED \\n',
  NaN: 'NON_FINITE',
};

const ROOT: Surroundings = { open: '{', close: '}', before: [], after: [] };

function inside(open: string, before: readonly string[], close: string, after: readonly string[] = []): Surroundings {
  return { open, close, before, after };
}

const IN_TRACE = inside('{"traces":[{', ['TRACES ARRAY', 'TRACE OBJECT'], '}]}', ['TRACES_END']);
const IN_NODE = inside('{"nodes":[{', ['NODES ARRAY', 'NODE OBJECT'], '}]}');
const IN_CALL = inside('{"calls":[{', ['CALLS ARRAY', 'CALL OBJECT'], '}]}');
const IN_MESSAGE = inside('{"nodes":[{"message":{', [...IN_NODE.before, 'MESSAGE OBJECT'], '}}]}');
const IN_USAGE = inside('{"calls":[{"usage":{', [...IN_CALL.before, 'USAGE OBJECT'], '}}]}');
const IN_ENV = inside('{"env":{', ['ENV OBJECT'], '}}');
const IN_GROUP = inside('{"group":{', ['GROUP OBJECT'], '}}');
const IN_RUN = inside('{"run":{', ['RUN OBJECT'], '}}');
const IN_WORK = inside('{"run":{"work":{', ['RUN OBJECT', 'WORK OBJECT'], '}}}');
const IN_INFO = inside('{"info":{', ['INFO OBJECT'], '}}');
const IN_DISPATCH = inside('{"info":{"dispatch":{', ['INFO OBJECT', 'DISPATCH OBJECT'], '}}}');
const IN_ARRIVAL = inside('{"info":{"arrival":{', ['INFO OBJECT', 'ARRIVAL OBJECT'], '}}}');

const TRACE_FIELDS: readonly (readonly [string, string, Expected])[] = [
  ['NODES', 'nodes', 'list'],
  ['CALLS', 'calls', 'list'],
  ['REWARDS', 'rewards', 'raw'],
  ['INFO', 'info', 'object'],
  ['STOP_CONDITION', 'stop_condition', 'value'],
  ['TIMING', 'timing', 'raw'],
];

const TABLE: readonly (readonly [Surroundings, string, string, Expected, string?])[] = [
  [ROOT, 'ID', 'id', 'value'],
  [ROOT, 'ENV', 'env', 'object'],
  [IN_ENV, 'ENV_ID', 'id', 'value'],
  [IN_ENV, 'ENV_NAME', 'name', 'value'],
  [ROOT, 'GROUP', 'group', 'object'],
  [IN_GROUP, 'GROUP_ID', 'id', 'value'],
  [ROOT, 'RUN', 'run', 'object'],
  [IN_RUN, 'RUN_TYPE', 'type', 'value'],
  [IN_RUN, 'WORK', 'work', 'object'],
  [IN_WORK, 'WORK_TYPE', 'type', 'value'],
  [ROOT, 'OK', 'ok', 'value'],
  [ROOT, 'ERRORS', 'errors', 'count'],
  [ROOT, 'TRACES', 'traces', 'list', 'traces'],
  [ROOT, 'INPUT_TOKENS', 'num_input_tokens', 'value'],
  [ROOT, 'OUTPUT_TOKENS', 'num_output_tokens', 'value'],
  [IN_TRACE, 'TRACE_ID', 'id', 'value', 'traces'],
  ...TRACE_FIELDS.map(([field, key, expected]) => [IN_TRACE, field, key, expected, 'traces'] as const),
  ...TRACE_FIELDS.map(([field, key, expected]) => {
    return [ROOT, field, key, expected, expected === 'list' ? key : ''] as const;
  }),
  [IN_NODE, 'PARENT', 'parent', 'value', 'nodes'],
  [IN_NODE, 'MESSAGE', 'message', 'object', 'nodes'],
  [IN_MESSAGE, 'ROLE', 'role', 'value', 'nodes'],
  [IN_CALL, 'CALL_NODE', 'node', 'value', 'calls'],
  [IN_CALL, 'FINISH_REASON', 'finish_reason', 'value', 'calls'],
  [IN_CALL, 'CALL_ERROR', 'error', 'type', 'calls'],
  [IN_CALL, 'USAGE', 'usage', 'object', 'calls'],
  [IN_USAGE, 'PROMPT_TOKENS', 'prompt_tokens', 'value', 'calls'],
  [IN_USAGE, 'COMPLETION_TOKENS', 'completion_tokens', 'value', 'calls'],
  [IN_USAGE, 'CACHED_INPUT_TOKENS', 'cached_input_tokens', 'value', 'calls'],
  [IN_USAGE, 'COST', 'cost', 'value', 'calls'],
  [IN_INFO, 'INFO_KIND', 'kind', 'value'],
  [IN_INFO, 'DISPATCH', 'dispatch', 'object'],
  [IN_DISPATCH, 'DISPATCH_TIME', 'time', 'value'],
  [IN_INFO, 'ARRIVAL', 'arrival', 'object'],
  [IN_ARRIVAL, 'ARRIVAL_STEP', 'step', 'value'],
  [IN_ARRIVAL, 'ARRIVAL_TIME', 'time', 'value'],
  [IN_INFO, 'ADVANTAGE', 'advantage', 'value'],
  [IN_INFO, 'INFO_ENV_NAME', 'env_name', 'value'],
  [IN_INFO, 'INFO_GROUP_ID', 'group_id', 'value'],
];

export const TYPED_FIELDS: readonly TypedField[] = TABLE.map(([around, field, key, expected, units = '']) => {
  return { around, field, key, expected, units };
});

/** The key once for each value. */
export function typedLine({ around, key }: TypedField): string {
  return around.open + VALUES.map((value) => `"${key}":${value}`).join(',') + around.close;
}

/** What TapeReader shows of it. */
export function typedTape(typed: TypedField): string[] {
  const { before, after } = typed.around;
  const units = typed.units === '' ? 'UNIT_KEYS' : `UNIT_KEYS ${typed.units}`;
  return [...before, ...VALUES.flatMap((value) => itemsOf(typed, value)), ...after, units];
}

function itemsOf({ field, expected }: TypedField, value: string): string[] {
  const scalar = SCALARS[value];
  if (scalar !== undefined) return [`${field} ${expected === 'type' ? kindOf(scalar) : scalar}`];
  if (value.startsWith('{')) return [expected === 'raw' ? `${field} RAW ${value}` : `${field} OBJECT`];
  const isEmpty = value === '[]';
  if (expected === 'count') return [`${field} ARRAY ${isEmpty ? 0 : 2}`];
  if (expected !== 'list') return [`${field} ARRAY`];
  const element = field.slice(0, -1);
  const elements = isEmpty ? [] : [`${element} STRING ]`, `${element} INT 5`];
  return [`${field} ARRAY`, ...elements, ...(field === 'TRACES' ? ['TRACES_END'] : [])];
}

/** A scalar as TapeReader shows it where only its type is of use. */
function kindOf(scalar: string): string {
  const type = scalar.split(' ')[0] ?? '';
  if (type === 'ESCAPED') return 'STRING';
  return type === 'INT' ? 'NUMBER' : type;
}
