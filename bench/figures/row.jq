# The values of an index row (spec 04 section 2, less line, offset and chunk) for episodes that carry their own token
# counts, as `jq` computes them: the contender of bench/index-figures.mjs for what users do today.
def total: reduce .[] as $x (0; . + $x);
.traces as $t
| ([$t[].calls[]?.usage.cost | numbers]) as $costs
| ([$t[] | select((.rewards | length) > 0)
    | [.rewards[] | objects | (.score // 0) * (.weight // 1)] | total]) as $rewards
| ([$t[].info.advantage | numbers]) as $advantages
| ($t[0].info.dispatch.time) as $dispatch
| ($t[0].info.arrival.time) as $arrival
| {
    cost: (if ($costs | length) == 0 then null else ($costs | total) end),
    id,
    kind: (([$t[].info.kind | strings] | first) // .run.work.type // .run.type // "eval"),
    trace_ids: [$t[].id],
    env: (if (.env.name // "") != "" then .env.name else .env.id end),
    group: .group.id,
    ok,
    num_errors: (.errors | length),
    reward: (if ($rewards | length) == 0 then null else ($rewards | total) / ($rewards | length) end),
    advantage: (if ($advantages | length) == 0 then null else ($advantages | total) / ($advantages | length) end),
    input_tokens: .num_input_tokens,
    output_tokens: .num_output_tokens,
    turns: ([$t[].nodes[] | select(.message.role == "assistant")] | length),
    branches: ([$t[] | (.nodes | length) - ([.nodes[] | select(has("parent")) | .parent] | unique | length)] | total),
    stop_condition: ([$t[] | select(has("stop_condition")) | .stop_condition] | last),
    truncated: ([$t[] | .stop_condition // ""
      | IN("max_turns", "max_input_tokens", "max_output_tokens", "max_total_tokens", "compaction_failed")] | any),
    dispatch: $dispatch,
    arrival: $arrival,
    duration: ([0, $arrival - $dispatch] | max)
  }
