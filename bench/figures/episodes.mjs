// Episodes in memory as a producer holds them, from a seed: turns of 1,000 tokens and about 26 kB of JSON each, as in
// design/event-loop.md. Text is ASCII or has words beyond it; streams are plain arrays or typed ones.
const WORDS = 'the model reads a file then runs tests and writes what it found into the answer before next turn'.split(
  ' ',
);
const WIDE = ['naïve', 'café', 'größe', 'Привет', '東京', '結果', '🚀'];

/** Mulberry32. */
function seeded(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function prose(random, characters, isAscii) {
  const parts = [];
  let size = 0;
  while (size < characters) {
    const roll = random();
    let word = WORDS[Math.floor(random() * WORDS.length)];
    if (roll < 0.03) word = `"${word}"`;
    else if (roll < 0.08) word += '\n';
    else if (!isAscii && roll < 0.13) word = WIDE[Math.floor(random() * WIDE.length)];
    parts.push(word);
    size += word.length + 1;
  }
  // One flat string, as a decoder or a parser makes it.
  return Buffer.from(parts.join(' ')).toString();
}

function streams(random, tokens, isSampled, isTyped) {
  const ids = Array.from({ length: tokens }, () => Math.floor(random() * random() * 150_000));
  const mask = new Array(tokens).fill(isSampled);
  const content = new Array(tokens).fill(true);
  const logprobs = isSampled ? Array.from({ length: tokens }, () => Math.log(random() * 0.999 + 1e-3)) : [];
  if (!isTyped) return { token_ids: ids, mask, is_content: content, logprobs };
  return {
    token_ids: Int32Array.from(ids),
    mask: Uint8Array.from(mask, Number),
    is_content: Uint8Array.from(content, Number),
    logprobs: Float64Array.from(logprobs),
  };
}

/** An episode of `turns` turns. Same arguments, same episode. */
export function makeEpisode({ turns, isAscii = false, isTyped = false, seed = 1, isRounded = false }) {
  const random = seeded(seed);
  const nodes = [];
  const calls = [];
  let used = 0;
  for (let turn = 0; turn < turns; turn += 1) {
    const at = 1_790_000_000.25 + turn * 2;
    const user = { message: { role: turn === 0 ? 'user' : 'tool', content: prose(random, 1200, isAscii) } };
    if (turn > 0) Object.assign(user.message, { tool_call_id: `call_${turn}` });
    const reply = { role: 'assistant', content: prose(random, 3600, isAscii) };
    const userStreams = streams(random, 250, false, isTyped);
    const replyStreams = streams(random, 750, true, isTyped);
    if (isRounded) replyStreams.logprobs = replyStreams.logprobs.map((value) => Math.round(value * 1e4) / 1e4);
    nodes.push({
      ...(turn === 0 ? {} : { parent: 2 * turn - 1 }),
      ...user,
      sampled: false,
      timestamp: at,
      ...userStreams,
    });
    nodes.push({ parent: 2 * turn, message: reply, sampled: true, timestamp: at + 1.5, ...replyStreams });
    calls.push({
      node: 2 * turn + 1,
      model: 'policy',
      sampling: { temperature: 0.7, top_p: 0.95 },
      finish_reason: 'stop',
      usage: { prompt_tokens: 250, completion_tokens: 750, cached_input_tokens: used, cost: 0.00125 },
      time: { start: at, end: at + 1.5 },
    });
    used += 1000;
  }
  const task = { type: 'Task', data: { idx: seed, prompt: 'do it' }, key: 'k', hash: 'h' };
  return {
    id: `${seed}`.padStart(32, '0'),
    env: { id: 'bench', name: 'bench' },
    task,
    ok: true,
    errors: [],
    traces: [
      {
        version: 1,
        id: `${seed}`.padStart(32, 'f'),
        verifiers: { version: '0.4.0' },
        task,
        agent: { config: {}, name: 'agent', trainable: true },
        tools: [],
        nodes,
        calls,
        rewards: { solved: { score: 0.5, weight: 0.25 } },
        metrics: { turns },
        info: {},
        is_completed: true,
        ok: true,
        stop_condition: 'agent_completed',
        errors: [],
        timing: { start: 1_790_000_000.25, agent: { start: 1_790_000_000.5, end: 1_790_000_900.5 } },
      },
    ],
  };
}
