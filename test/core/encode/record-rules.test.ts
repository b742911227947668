/** The table of record rules against spec 02: members, their order, and what is done to which. */
import { describe, expect, test } from 'vitest';
import { EPISODE_RULES, type MemberRule, type ModelRule, TRACE_RULES } from '../../../src/core/encode/record-rules.js';

/** The rules of what stands at a path of members from an episode on. */
function modelAt(path: string): ModelRule {
  const keys = path.split('.').filter((key) => key !== '');
  return keys.reduce((model, key) => {
    const inside = model.members.get(key)?.inside;
    if (!inside) throw new Error(`${path}: no model at ${key}`);
    return inside;
  }, EPISODE_RULES);
}

/** Every member of the table by its path, models that stand in several places once for each. */
function everyMember(): { readonly path: string; readonly rule: MemberRule }[] {
  const found: { path: string; rule: MemberRule }[] = [];
  const visit = (model: ModelRule, prefix: string): void => {
    for (const [key, rule] of model.members) {
      found.push({ path: prefix + key, rule });
      if (rule.inside !== null) visit(rule.inside, `${prefix}${key}.`);
    }
  };
  visit(EPISODE_RULES, '');
  return found;
}

function pathsWhere(is: (rule: MemberRule) => boolean): string[] {
  return everyMember().flatMap(({ path, rule }) => (is(rule) ? [path] : []));
}

const COUNTS = 'num_input_tokens num_output_tokens num_total_tokens';

describe('members stand in the order of the tables of spec 02', () => {
  test.each([
    ['', `id env task group run ok errors traces ${COUNTS}`],
    ['env', 'id name'],
    ['group', 'id'],
    ['run', 'type id name work'],
    ['run.work', 'type step policy'],
    ['run.work.policy', 'start end'],
    ['task', 'type data key hash'],
    [
      'task.data',
      'idx id name description prompt system_prompt image workdir agent_user skills network_allow network_block' +
        ' artifacts artifact_max_bytes timeout resources',
    ],
    ['task.data.timeout', 'setup agent finalize scoring'],
    ['task.data.resources', 'cpu memory gpu disk'],
    [
      'traces',
      'version id verifiers task agent tools nodes calls mm_token_type_id_map request_rewrites response_rewrites rewards' +
        ' metrics info root_reply state extra_usage is_completed ok stop_condition is_timeout errors timing' +
        ` ${COUNTS} run`,
    ],
    ['traces.agent', 'config runtime name trainable'],
    ['traces.tools', 'type name namespace description parameters strict'],
    ['traces.rewards', 'score weight'],
    ['traces.errors', 'type message status_code traceback'],
    ['traces.timing', 'start boot setup agent finalize scoring'],
    ['traces.timing.agent', 'start end model harness'],
    [
      'traces.nodes',
      'parent tools semantic_parents message sampled timestamp token_ids renderer_token_ids mask is_content logprobs' +
        ' advantages reference_logprobs trainer_logprobs entropies loss_weights',
    ],
    // Messages by role, one after the other: none of the orders contradicts the common one.
    ['traces.nodes.message', 'role content'],
    ['traces.nodes.message', 'role content reasoning_content tool_calls provider_state'],
    ['traces.nodes.message', 'role tool_call_id content name'],
    ['traces.nodes.message.tool_calls', 'id type name namespace arguments'],
    ['traces.nodes.message.content', 'type text'],
    ['traces.nodes.message.content', 'type image_url'],
    ['traces.calls', 'node model sampling endpoint finish_reason usage time error policy acp'],
    ['traces.calls.usage', 'prompt_tokens completion_tokens cached_input_tokens reasoning_tokens cost'],
  ])('%s: %s', (path, names) => {
    const { members } = modelAt(path);
    const ranks = names.split(' ').map((name) => members.get(name)?.rank ?? Number.NaN);
    expect(ranks).toEqual(ranks.toSorted((one, other) => one - other));
    expect(new Set(ranks).size).toBe(names.split(' ').length);
  });
});

test('in each model a rank belongs to one member, but for those that keep the order of the object', () => {
  for (const { path, rule } of everyMember()) {
    if (rule.inside === null) continue;
    const ranks = [...rule.inside.members.values()].map((member) => member.rank);
    const placed = ranks.filter((rank) => rank !== rule.inside?.other.rank);
    expect(new Set(placed).size, path).toBe(placed.length);
  }
});

test('what a model does not declare stands between its members and its token counts', () => {
  for (const model of [EPISODE_RULES, TRACE_RULES]) {
    const rankOf = (name: string): number => model.members.get(name)?.rank ?? Number.NaN;
    expect(model.other.rank).toBeLessThan(rankOf('num_input_tokens'));
    expect(model.other.rank).toBeGreaterThan(rankOf(model === TRACE_RULES ? 'timing' : 'traces'));
  }
});

test('five token streams are rounded, and nothing else', () => {
  expect(pathsWhere(({ stream }) => stream === 'rounded')).toEqual(
    ['logprobs', 'advantages', 'reference_logprobs', 'trainer_logprobs', 'entropies'].map(
      (name) => `traces.nodes.${name}`,
    ),
  );
  expect(pathsWhere(({ stream }) => stream === 'floats')).toEqual(['traces.nodes.loss_weights']);
  expect(pathsWhere(({ stream }) => stream === 'ints')).toEqual(['traces.nodes.token_ids']);
  expect(pathsWhere(({ stream }) => stream === 'flags')).toEqual(['traces.nodes.mask', 'traces.nodes.is_content']);
});

test('tensors and what only a running episode needs are left out', () => {
  expect(pathsWhere(({ isLeftOut }) => isLeftOut)).toEqual([
    'traces.nodes.renderer_token_ids',
    'traces.nodes.routed_experts',
    'traces.nodes.sampling_mask',
    'traces.nodes.multi_modal_data',
    'traces.nodes.kept_tokens',
    'traces.state',
    'traces.pending',
  ]);
});

test('nulls of a model are dropped, but for the sampling of an agent; only tools of a node go when empty', () => {
  expect(pathsWhere(({ onNull }) => onNull === 'keep')).toEqual(
    ['temperature', 'top_p', 'reasoning_effort', 'max_tokens'].map((name) => `traces.agent.config.sampling.${name}`),
  );
  expect(modelAt('traces.agent.config.sampling').other.onNull).toBe('keep');
  expect(modelAt('traces.calls.sampling').other.onNull).toBe('drop');
  expect(pathsWhere(({ onEmpty }) => onEmpty === 'drop')).toEqual(['traces.nodes.tools']);
});

test('maps with free keys: rewards, metrics and loss weights', () => {
  expect(pathsWhere(({ isMap }) => isMap)).toEqual(['traces.nodes.loss_weights', 'traces.rewards', 'traces.metrics']);
});

test('no member has two natures', () => {
  for (const { path, rule } of everyMember()) {
    const natures = [rule.stream !== null, rule.isFloat, rule.inside !== null, rule.isLeftOut].filter(Boolean);
    expect(natures.length, path).toBeLessThan(2);
  }
});
