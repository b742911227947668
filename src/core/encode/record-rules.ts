/**
 * How the models of a record are written: the order of their members, which nulls go, what is left out and which
 * numbers are floats (spec 02 sections 1 to 4 and 6), as verifiers 0.4.0 writes them with `Episode.to_record`. A table
 * in the order of its classes; test/conformance/record-rules.test.ts compares it with those classes member by member.
 * Models that share a place (messages by role, kinds of run) are one rule: none of their members stand in two orders.
 */

/** What to do with a member of a model. Of a map, all but `rank`, `onNull` and `isLeftOut` is about its entries. */
export type MemberRule = {
  /** Place among the members, lowest first; equal ranks stand in the order of the object. */
  readonly rank: number;
  /** A null of a model is not written. Nulls inside plain values, lists and maps always are. */
  readonly onNull: 'drop' | 'keep';
  /** An empty list goes like a null: tools of a node. */
  readonly onEmpty: 'drop' | 'keep';
  /** Never written, whatever it is: tensors, and what only a running episode needs. */
  readonly isLeftOut: boolean;
  /**
   * A per-token array, and how its numbers are written: `rounded` to the decimals of the encoding, `floats` with every
   * digit, both with whole numbers as `1.0`.
   */
  readonly stream: 'ints' | 'flags' | 'rounded' | 'floats' | null;
  /**
   * A number that the model declares as a float: a whole one is written as `1.0`. Of a map, each of its entries. Rows of
   * episodes in memory follow with `floats: 'declared'` (core/index/record-facts).
   */
  readonly isFloat: boolean;
  /** The model of the value, of its elements when it is an array, of its entries when `isMap`; null for plain JSON. */
  readonly inside: ModelRule | null;
  /** The value is an object whose keys are free. */
  readonly isMap: boolean;
};

export type ModelRule = {
  /** The class in verifiers, or what several have in common. */
  readonly name: string;
  readonly members: ReadonlyMap<string, MemberRule>;
  /** Members that the model does not declare. Their nulls are dropped too, but none deeper inside. */
  readonly other: MemberRule;
};

/** What no rule is for: written as it is. */
export const PLAIN_MEMBER: MemberRule = {
  rank: 0,
  onNull: 'keep',
  onEmpty: 'keep',
  isLeftOut: false,
  stream: null,
  isFloat: false,
  inside: null,
  isMap: false,
};

/** Ranks of members without a place of their own, behind all that have one, and of what stands behind those. */
const OTHER_RANK = 1000;
const COUNT_RANK = 2000;

/** A rule but for its rank, as far as it is not the usual one. */
type Trait = Partial<Omit<MemberRule, 'rank'>>;
type Traits = Readonly<Record<string, Trait>>;

const VALUE: Trait = {};
const FLOAT: Trait = { isFloat: true };
const LEFT_OUT: Trait = { isLeftOut: true };
const KEPT: Trait = { onNull: 'keep' };
const KEPT_FLOAT: Trait = { onNull: 'keep', isFloat: true };
const ROUNDED: Trait = { stream: 'rounded' };

function of(inside: ModelRule): Trait {
  return { inside };
}

function mapOf(entry: Trait): Trait {
  return { ...entry, isMap: true };
}

function ruleOf(rank: number, trait: Trait): MemberRule {
  return { ...PLAIN_MEMBER, rank, onNull: 'drop', ...trait };
}

/**
 * @param placed members in their order
 * @param more `unplaced`: members that keep the order of the object; `last`: members behind all others, in their order;
 *   `other`: what holds for members that are not declared
 */
function model(
  name: string,
  placed: Traits,
  more: { readonly unplaced?: Traits; readonly last?: Traits; readonly other?: Trait } = {},
): ModelRule {
  const members = new Map<string, MemberRule>();
  for (const [key, trait] of Object.entries(placed)) members.set(key, ruleOf(members.size, trait));
  for (const [key, trait] of Object.entries(more.unplaced ?? {})) members.set(key, ruleOf(OTHER_RANK, trait));
  for (const [place, [key, trait]] of Object.entries(more.last ?? {}).entries()) {
    members.set(key, ruleOf(COUNT_RANK + place, trait));
  }
  return { name, members, other: ruleOf(OTHER_RANK, more.other ?? VALUE) };
}

const COUNTS: Traits = { num_input_tokens: VALUE, num_output_tokens: VALUE, num_total_tokens: VALUE };

const ERROR = model('Error', { type: VALUE, message: VALUE, status_code: VALUE, traceback: VALUE });

const RUN = model('RunInfo', {
  type: VALUE,
  id: VALUE,
  name: VALUE,
  work: of(
    model('WorkInfo', { type: VALUE, step: VALUE, policy: of(model('PolicySpan', { start: VALUE, end: VALUE })) }),
  ),
});

const PART = model('ContentPart', { type: VALUE, text: VALUE, image_url: of(model('ImageUrlSource', { url: VALUE })) });

const MESSAGE = model('Message', {
  role: VALUE,
  tool_call_id: VALUE,
  content: of(PART),
  reasoning_content: VALUE,
  tool_calls: of(model('ToolCall', { id: VALUE, type: VALUE, name: VALUE, namespace: VALUE, arguments: VALUE })),
  provider_state: VALUE,
  name: VALUE,
});

const TASK = model('TraceTask', {
  type: VALUE,
  data: of(
    model('TaskData', {
      idx: VALUE,
      id: VALUE,
      name: VALUE,
      description: VALUE,
      prompt: of(MESSAGE),
      system_prompt: VALUE,
      image: VALUE,
      workdir: VALUE,
      agent_user: VALUE,
      skills: VALUE,
      network_allow: VALUE,
      network_block: VALUE,
      artifacts: of(model('Artifact', { source: VALUE, exclude: VALUE, required: VALUE })),
      artifact_max_bytes: VALUE,
      timeout: of(model('TaskTimeout', { setup: FLOAT, agent: FLOAT, finalize: FLOAT, scoring: FLOAT })),
      resources: of(model('TaskResources', { cpu: FLOAT, memory: FLOAT, gpu: VALUE, disk: FLOAT })),
    }),
  ),
  key: VALUE,
  hash: VALUE,
});

const TOOL = model('Tool', {
  type: VALUE,
  name: VALUE,
  namespace: VALUE,
  description: VALUE,
  parameters: VALUE,
  strict: VALUE,
});

const SAMPLING = model('SamplingConfig', {
  temperature: FLOAT,
  top_p: FLOAT,
  reasoning_effort: VALUE,
  max_tokens: VALUE,
});

/** An agent's sampling is made a plain dict before nulls are dropped, that of a call is not. */
const KEPT_SAMPLING = model(
  'SamplingConfig',
  { temperature: KEPT_FLOAT, top_p: KEPT_FLOAT, reasoning_effort: KEPT, max_tokens: KEPT },
  { other: KEPT },
);

/** The box of an agent: kinds differ in where `type` stands, so what follows the first four stands as it comes. */
const RUNTIME = model(
  'RuntimeInfo',
  { id: VALUE, borrowed: VALUE, allow: VALUE, block: VALUE },
  { unplaced: { cpu: FLOAT, memory: FLOAT, disk: FLOAT, idle_timeout: FLOAT, creates_per_sec: FLOAT } },
);

const CLIENT = model('ClientConfig', {
  base_url: VALUE,
  api_key_var: VALUE,
  headers: VALUE,
  headers_from_env: VALUE,
  timeout: of(model('ClientTimeoutConfig', { connect: FLOAT, read: FLOAT, write: FLOAT, pool: FLOAT })),
  type: VALUE,
  // Thirty kinds, each with an order of its own behind the first two.
  renderer: of(
    model('RendererConfig', { thinking_retention: VALUE, name: VALUE }, { unplaced: { reasoning_effort: FLOAT } }),
  ),
  renderer_model_name: VALUE,
  multiplex: VALUE,
});

const AGENT_CONFIG = model('AgentConfig', {
  harness: of(
    model('HarnessConfig', {
      id: VALUE,
      env: VALUE,
      forward_env: VALUE,
      mcp_header_env: VALUE,
      tool_timeout: FLOAT,
      disabled_tools: VALUE,
      skills: VALUE,
    }),
  ),
  runtime: of(RUNTIME),
  model: VALUE,
  client: of(CLIENT),
  sampling: of(KEPT_SAMPLING),
  max_turns: VALUE,
  max_input_tokens: VALUE,
  max_output_tokens: VALUE,
  max_total_tokens: VALUE,
  timeout: of(model('TimeoutConfig', { setup: FLOAT, rollout: FLOAT, finalize: FLOAT, scoring: FLOAT })),
  retries: of(
    model('RetryConfig', {
      max_retries: VALUE,
      rules: of(model('RetryRule', { type: VALUE, status_code: VALUE, message: VALUE, max_retries: VALUE })),
    }),
  ),
  network_notice: VALUE,
});

const NODE = model('MessageNode', {
  parent: VALUE,
  tools: { inside: TOOL, onEmpty: 'drop' },
  semantic_parents: of(model('ParentLink', { node: VALUE, type: VALUE })),
  message: of(MESSAGE),
  sampled: VALUE,
  timestamp: FLOAT,
  token_ids: { stream: 'ints' },
  renderer_token_ids: LEFT_OUT,
  mask: { stream: 'flags' },
  is_content: { stream: 'flags' },
  logprobs: ROUNDED,
  advantages: ROUNDED,
  reference_logprobs: ROUNDED,
  trainer_logprobs: ROUNDED,
  entropies: ROUNDED,
  loss_weights: mapOf({ stream: 'floats' }),
  routed_experts: LEFT_OUT,
  sampling_mask: LEFT_OUT,
  // Tensors of August 2026.
  multi_modal_data: LEFT_OUT,
  kept_tokens: LEFT_OUT,
});

const SPAN_MEMBERS: Traits = { start: FLOAT, end: FLOAT };
const SPAN = model('TimeSpan', SPAN_MEMBERS);
const SPLIT = model('TimeSplit', { duration: FLOAT });

const USAGE = model('Usage', {
  prompt_tokens: VALUE,
  completion_tokens: VALUE,
  cached_input_tokens: VALUE,
  reasoning_tokens: VALUE,
  cost: FLOAT,
});

const CALL = model('ModelCall', {
  node: VALUE,
  model: VALUE,
  sampling: of(SAMPLING),
  endpoint: VALUE,
  finish_reason: VALUE,
  usage: of(USAGE),
  time: of(SPAN),
  error: of(ERROR),
  policy: of(model('PolicyEvent', { code: VALUE, paths: VALUE })),
  acp: of(model('ACPInfo', { request_id: VALUE })),
});

const TIMING = model('Timing', {
  start: FLOAT,
  boot: of(SPAN),
  setup: of(SPAN),
  agent: of(model('AgentSpan', { ...SPAN_MEMBERS, model: of(SPLIT), harness: of(SPLIT) })),
  finalize: of(SPAN),
  scoring: of(SPAN),
});

const REWRITE = model('InterceptRecord', { handler: VALUE });

/** A trace inside an episode. (A bare trace dump of verifiers keeps its nulls; prl writes episodes.) */
export const TRACE_RULES: ModelRule = model(
  'Trace',
  {
    version: VALUE,
    id: VALUE,
    verifiers: of(model('VersionInfo', { version: VALUE, commit: VALUE })),
    task: of(TASK),
    agent: of(model('AgentInfo', { config: of(AGENT_CONFIG), runtime: of(RUNTIME), name: VALUE, trainable: VALUE })),
    tools: of(TOOL),
    nodes: of(NODE),
    calls: of(CALL),
    mm_token_type_id_map: VALUE,
    request_rewrites: of(REWRITE),
    response_rewrites: of(REWRITE),
    rewards: mapOf(of(model('Reward', { score: FLOAT, weight: FLOAT }))),
    metrics: mapOf(FLOAT),
    info: VALUE,
    root_reply: VALUE,
    state: LEFT_OUT,
    // The messages of a request under way; a finished record must not carry them.
    pending: LEFT_OUT,
    extra_usage: of(USAGE),
    is_completed: VALUE,
    ok: VALUE,
    stop_condition: VALUE,
    is_timeout: VALUE,
    errors: of(ERROR),
    timing: of(TIMING),
  },
  // Version 0.4.0 has no run on a trace; who stamps one there appends it (`prime_runs.sinks.base.stamp_run`).
  { last: { ...COUNTS, run: of(RUN) } },
);

export const EPISODE_RULES: ModelRule = model(
  'Episode',
  {
    id: VALUE,
    env: of(model('EnvInfo', { id: VALUE, name: VALUE })),
    task: of(TASK),
    group: of(model('GroupInfo', { id: VALUE })),
    run: of(RUN),
    ok: VALUE,
    is_timeout: VALUE,
    errors: of(ERROR),
    traces: of(TRACE_RULES),
  },
  { last: COUNTS },
);
