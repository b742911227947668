/** Text of the small parts of an episode that the shapes share: calls, stamps, timing, counts, task, agent, tools. */
import { between, floatText, pick, prose, type Random, rounded } from './shape-text.js';

const HASH = '57d8ede7214483e432cd745a5b16131f8639b8e97f03c61317d0ebd9589d5331';
const ERROR = '{"type":"ProviderError","message":"503 from the \\"provider\\"","status_code":503}';

export type Call = { readonly node: number; readonly cached: number; readonly start: number; readonly end: number };

export function callText(
  random: Random,
  { node, cached, start, end }: Call,
  prompt: number,
  completion: number,
): string {
  const reason = random() < 0.7 ? 'tool_calls' : 'stop';
  const cost = rounded(0.0001 + random() * 0.01, 6);
  const hit = cached === 0 ? '' : `"cached_input_tokens":${cached},`;
  const usage = `{"prompt_tokens":${prompt},"completion_tokens":${completion},${hit}"cost":${cost}}`;
  return `{"node":${node},"model":"shape/model-1","sampling":{"temperature":1.0},"endpoint":"/chat/completions","finish_reason":"${reason}","usage":${usage},${timeText(start, end)}}`;
}

export function failedCall({ start, end }: Call): string {
  return `{"model":"shape/model-1","endpoint":"/chat/completions",${timeText(start, end)},"error":${ERROR}}`;
}

function timeText(start: number, end: number): string {
  return `"time":{"start":${rounded(start, 6)},"end":${rounded(end, 6)}}`;
}

/** What stands between the calls and the token counts of a trace. */
export function tailText(random: Random, at: { step: number; start: number; end: number }): string {
  const { step, start, end } = at;
  const score = rounded(random(), 2);
  const second = random() < 0.5 ? '' : `,"format":{"score":${pick(random, ['0.0', '1.0'])},"weight":0.1}`;
  const rewards = `{"solved":{"score":${score},"weight":1.0}${second}}`;
  const dispatch = `{"step":${step},"time":${rounded(start, 6)}}`;
  const arrival = `{"step":${step + between(random, 0, 3)},"time":${rounded(end + 2, 6)}}`;
  const info = `{"kind":"train","dispatch":${dispatch},"arrival":${arrival}}`;
  const span = (from: number, to: number): string => `{"start":${rounded(from, 6)},"end":${rounded(to, 6)}}`;
  const durations = `"model":{"duration":${floatText(1.5)}},"harness":{"duration":${rounded(random(), 6)}}`;
  const agent = `{"start":${rounded(start + 1, 6)},"end":${rounded(end, 6)},${durations}}`;
  const timing = `{"start":${rounded(start, 6)},"boot":${span(start, start + 0.5)},"setup":${span(start + 0.5, start + 1)},"agent":${agent},"finalize":${span(0, 0)},"scoring":${span(end, end + 1)}}`;
  return `"mm_token_type_id_map":{},"request_rewrites":[],"response_rewrites":[],"rewards":${rewards},"metrics":{"turns":${floatText(between(random, 1, 90))}},"info":${info},"extra_usage":[],"is_completed":true,"ok":true,"stop_condition":"agent_completed","is_timeout":false,"errors":[],"timing":${timing},`;
}

/** As spec 02 section 5 derives them for one branch without gaps. */
export function countsText({ input, output }: { readonly input: number; readonly output: number }): string {
  return `"num_input_tokens":${input},"num_output_tokens":${output},"num_total_tokens":${input + output}`;
}

export function taskText(random: Random, isTiny: boolean): string {
  const idx = between(random, 0, 9_999);
  const prompt = JSON.stringify(prose(random, 400));
  const rest = '"network_allow":["*"],"network_block":[],"artifacts":[],"timeout":{},"resources":{}';
  const data = isTiny ? `{"idx":${idx}}` : `{"idx":${idx},"prompt":${prompt},${rest}}`;
  return `{"type":"ShapeTask","data":${data}${isTiny ? '' : `,"key":"${HASH}","hash":"${HASH}"`}}`;
}

export const TINY_AGENT = '{"config":{"model":"shape/model-1","max_turns":4},"name":"agent","trainable":true}';

export const AGENT =
  '{"config":{"harness":{"id":"shape","env":{},"skills":[]},"runtime":{"type":"subprocess"},"model":"shape/model-1","sampling":{"temperature":1.0,"top_p":null,"max_tokens":4096},"max_turns":400},"runtime":{"id":"box-1","borrowed":false,"type":"subprocess"},"name":"agent","trainable":true}';

export const TOOLS =
  '[{"type":"function","name":"edit","description":"Writes a \\"file\\".","parameters":{"type":"object","properties":{"path":{"type":"string"},"text":{"type":"string"}},"required":["path","text"]},"strict":true}]';
