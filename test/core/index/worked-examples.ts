/** The worked examples of spec 04 section 9, verbatim: ten records that stand as lines 1 to 10 of one chunk, and their rows. */

export type WorkedExample = {
  readonly name: string;
  readonly bytes: number;
  readonly record: string;
  readonly row: string;
};

export const WORKED_EXAMPLES: readonly WorkedExample[] = [
  {
    name: 'E1',
    bytes: 1159,
    record:
      '{"id":"e1","env":{"id":"arith","name":"arith-train"},"task":{"type":"T","data":{"idx":0}},"group":{"id":"g7"},"run":{"type":"train","id":"r1","work":{"type":"train","step":4,"policy":{"start":3,"end":3}}},"ok":true,"errors":[],"traces":[{"version":1,"id":"t1","task":{"type":"T","data":{"idx":0}},"agent":{"config":{},"name":"agent","trainable":true},"nodes":[{"message":{"role":"user","content":"2+2?"},"sampled":false,"timestamp":100.0},{"parent":0,"message":{"role":"assistant","content":"4"},"sampled":true,"timestamp":101.0}],"calls":[{"node":1,"finish_reason":"stop","usage":{"prompt_tokens":12,"completion_tokens":3,"cost":0.5},"time":{"start":100.0,"end":101.0}}],"rewards":{"correct":{"score":1.0,"weight":1.0}},"metrics":{},"info":{"kind":"train","dispatch":{"step":4,"time":99.0},"arrival":{"step":5,"time":103.5}},"is_completed":true,"ok":true,"stop_condition":"agent_completed","errors":[],"timing":{"start":99.0,"boot":{"start":99.0,"end":99.5},"setup":{"start":99.5,"end":100.0},"agent":{"start":100.0,"end":101.5,"model":{"duration":1.0},"harness":{"duration":0.5}},"finalize":{"start":0.0,"end":0.0},"scoring":{"start":101.5,"end":102.0}}}]}',
    row: '{"cost":0.5,"line":1,"offset":0,"id":"e1","kind":"train","trace_ids":["t1"],"env":"arith-train","group":"g7","ok":true,"num_errors":0,"reward":1.0,"advantage":null,"input_tokens":12,"output_tokens":3,"turns":1,"branches":1,"stop_condition":"agent_completed","truncated":false,"dispatch":99.0,"arrival":103.5,"duration":4.5,"chunk":0}',
  },
  {
    name: 'E2',
    bytes: 823,
    record:
      '{"id":"e2","env":{"id":"agentic-judge+code"},"task":{"type":"T","data":{"idx":0}},"ok":true,"errors":[],"traces":[{"id":"s1","agent":{"name":"solver"},"nodes":[{"message":{"role":"user","content":"fix"}},{"parent":0,"message":{"role":"assistant","content":"done"}}],"calls":[{"node":1,"usage":{"prompt_tokens":5,"completion_tokens":2},"finish_reason":"stop"}],"rewards":{"tests":{"score":1.0,"weight":0.5},"style":{"score":0.5,"weight":0.25}},"info":{"advantage":0.25},"stop_condition":"agent_completed"},{"id":"j1","agent":{"name":"judge","trainable":false},"nodes":[{"message":{"role":"user","content":"grade"}},{"parent":0,"message":{"role":"assistant","content":"ok"}}],"calls":[{"node":1,"usage":{"prompt_tokens":7,"completion_tokens":1},"finish_reason":"stop"}],"rewards":{},"info":{},"stop_condition":"max_turns"}]}',
    row: '{"cost":null,"line":2,"offset":1159,"id":"e2","kind":"eval","trace_ids":["s1","j1"],"env":"agentic-judge+code","group":null,"ok":true,"num_errors":0,"reward":0.625,"advantage":0.25,"input_tokens":12,"output_tokens":3,"turns":2,"branches":2,"stop_condition":"max_turns","truncated":true,"dispatch":null,"arrival":null,"duration":null,"chunk":0}',
  },
  {
    name: 'E3',
    bytes: 940,
    record:
      '{"id":"e3","env":{"id":"","name":"web"},"task":{"type":"T","data":{"idx":0}},"run":{"type":"eval","id":"r9"},"ok":true,"errors":[],"traces":[{"id":"t3","nodes":[{"message":{"role":"user","content":"a"}},{"parent":0,"message":{"role":"assistant","content":"b"}},{"parent":1,"message":{"role":"user","content":"c"}},{"parent":2,"message":{"role":"assistant","content":"d"}},{"parent":1,"message":{"role":"user","content":"e"}},{"parent":4,"message":{"role":"assistant","content":"f"}}],"calls":[{"node":1,"usage":{"prompt_tokens":2,"completion_tokens":1,"cost":0.001},"finish_reason":"stop"},{"error":{"type":"ProviderError","message":"503"}},{"node":3,"usage":{"prompt_tokens":1,"cached_input_tokens":4,"completion_tokens":2,"cost":0.002},"finish_reason":"stop"},{"node":5,"usage":{"prompt_tokens":3,"cached_input_tokens":3,"completion_tokens":4,"cost":0.003},"finish_reason":"stop"}],"rewards":{"r":{"score":0.0,"weight":1.0}},"info":{}}]}',
    row: '{"cost":0.006,"line":3,"offset":1982,"id":"e3","kind":"eval","trace_ids":["t3"],"env":"web","group":null,"ok":true,"num_errors":0,"reward":0.0,"advantage":null,"input_tokens":7,"output_tokens":8,"turns":3,"branches":2,"stop_condition":null,"truncated":false,"dispatch":null,"arrival":null,"duration":null,"chunk":0}',
  },
  {
    name: 'E4',
    bytes: 614,
    record:
      '{"id":"e4","env":{"id":"tools"},"task":{"type":"T","data":{"idx":0}},"ok":true,"errors":[],"traces":[{"id":"t4","nodes":[{"message":{"role":"system","content":"s"}},{"parent":0,"message":{"role":"user","content":"u"}},{"parent":1,"message":{"role":"assistant","tool_calls":[{"id":"c1","name":"run","arguments":"{}"}]},"sampled":true},{"parent":2,"message":{"role":"tool","tool_call_id":"c1","content":"x"}},{"parent":3,"message":{"role":"assistant","content":"prefilled"},"sampled":false}],"calls":[{"node":2,"finish_reason":"tool_calls"}],"rewards":{},"info":{"kind":"eval"},"stop_condition":"agent_completed"}]}',
    row: '{"cost":null,"line":4,"offset":2922,"id":"e4","kind":"eval","trace_ids":["t4"],"env":"tools","group":null,"ok":true,"num_errors":0,"reward":null,"advantage":null,"input_tokens":0,"output_tokens":0,"turns":2,"branches":1,"stop_condition":"agent_completed","truncated":false,"dispatch":null,"arrival":null,"duration":null,"chunk":0}',
  },
  {
    name: 'E5',
    bytes: 298,
    record:
      '{"id":"e5","env":{"id":"arith","name":"arith-train"},"task":{"type":"T","data":{"idx":0}},"group":{"id":"g8"},"run":{"type":"train","id":"r1","work":{"type":"eval","step":6}},"ok":false,"errors":[{"type":"SandboxError","message":"boot"},{"type":"SandboxError","message":"boot again"}],"traces":[]}',
    row: '{"cost":null,"line":5,"offset":3536,"id":"e5","kind":"eval","trace_ids":[],"env":"arith-train","group":"g8","ok":false,"num_errors":2,"reward":null,"advantage":null,"input_tokens":0,"output_tokens":0,"turns":0,"branches":0,"stop_condition":null,"truncated":false,"dispatch":null,"arrival":null,"duration":null,"chunk":0}',
  },
  {
    name: 'E6',
    bytes: 504,
    record:
      '{"id":"e6","env":{"id":"long"},"task":{"type":"T","data":{"idx":0}},"ok":false,"errors":[],"traces":[{"id":"t6","nodes":[{"message":{"role":"user","content":"u"}},{"parent":0,"message":{"role":"assistant","content":"cut"}}],"calls":[{"node":1,"usage":{"prompt_tokens":10,"completion_tokens":100},"finish_reason":"length"},{"error":{"type":"ProviderError","message":"timeout"}}],"rewards":{"r":null},"info":{},"ok":false,"stop_condition":"error","errors":[{"type":"ProviderError","message":"timeout"}]}]}',
    row: '{"cost":null,"line":6,"offset":3834,"id":"e6","kind":"eval","trace_ids":["t6"],"env":"long","group":null,"ok":false,"num_errors":0,"reward":0.0,"advantage":null,"input_tokens":10,"output_tokens":100,"turns":1,"branches":1,"stop_condition":"error","truncated":true,"dispatch":null,"arrival":null,"duration":null,"chunk":0}',
  },
  {
    name: 'E7',
    bytes: 599,
    record:
      '{"id":"e7","env":{"id":"tim"},"task":{"type":"T","data":{"idx":0}},"ok":true,"errors":[],"traces":[{"id":"a","info":{},"timing":{"start":10.0,"boot":{"start":10.0,"end":11.0},"setup":{"start":11.0,"end":11.5},"agent":{"start":11.5,"end":14.0,"model":{"duration":2.0},"harness":{"duration":0.5}},"finalize":{"start":14.0,"end":14.0},"scoring":{"start":14.0,"end":14.25}}},{"id":"b","info":{},"timing":{"start":14.5,"boot":{"start":0.0,"end":0.0},"setup":{"start":0.0,"end":0.0},"agent":{"duration":1.5,"start":14.5,"end":99.0},"finalize":{"start":0.0,"end":0.0},"scoring":{"start":0.0,"end":0.0}}}]}',
    row: '{"cost":null,"line":7,"offset":4338,"id":"e7","kind":"eval","trace_ids":["a","b"],"env":"tim","group":null,"ok":true,"num_errors":0,"reward":null,"advantage":null,"input_tokens":0,"output_tokens":0,"turns":0,"branches":0,"stop_condition":null,"truncated":false,"dispatch":null,"arrival":null,"duration":5.75,"chunk":0}',
  },
  {
    name: 'E8',
    bytes: 39,
    record: '{"task":{"type":"T","data":{"idx":0}}}',
    row: '{"cost":null,"line":8,"offset":4937,"id":null,"kind":"eval","trace_ids":[],"env":null,"group":null,"ok":null,"num_errors":0,"reward":null,"advantage":null,"input_tokens":0,"output_tokens":0,"turns":0,"branches":0,"stop_condition":null,"truncated":false,"dispatch":null,"arrival":null,"duration":null,"chunk":0}',
  },
  {
    name: 'E9',
    bytes: 487,
    record:
      '{"id":"e9","env":{"id":"foreign"},"task":{"type":"T","data":{"idx":0}},"ok":true,"errors":null,"traces":[{"id":"","nodes":[{"parent":null,"message":{"role":"user","content":"u"}},{"parent":0,"message":{"role":"assistant","content":"v"}}],"calls":[],"rewards":{"p":{"score":2.0,"weight":null},"q":null,"s":{"score":null,"weight":3.0}},"info":null,"stop_condition":"max_turns","timing":null},{"id":"t9","nodes":[],"calls":[],"rewards":{},"info":{"advantage":-1.0},"stop_condition":null}]}',
    row: '{"cost":null,"line":9,"offset":4976,"id":"e9","kind":"eval","trace_ids":["t9"],"env":"foreign","group":null,"ok":true,"num_errors":0,"reward":2.0,"advantage":-1.0,"input_tokens":0,"output_tokens":0,"turns":1,"branches":0,"stop_condition":null,"truncated":true,"dispatch":null,"arrival":null,"duration":null,"chunk":0}',
  },
  {
    name: 'E10',
    bytes: 477,
    record:
      '{"id":"e10","env":{"id":"sum"},"task":{"type":"T","data":{"idx":0}},"ok":true,"errors":[],"traces":[{"id":"k","nodes":[],"calls":[],"rewards":{"c0":{"score":0.1,"weight":1.0},"c1":{"score":0.1,"weight":1.0},"c2":{"score":0.1,"weight":1.0},"c3":{"score":0.1,"weight":1.0},"c4":{"score":0.1,"weight":1.0},"c5":{"score":0.1,"weight":1.0},"c6":{"score":0.1,"weight":1.0},"c7":{"score":0.1,"weight":1.0},"c8":{"score":0.1,"weight":1.0},"c9":{"score":0.1,"weight":1.0}},"info":{}}]}',
    row: '{"cost":null,"line":10,"offset":5463,"id":"e10","kind":"eval","trace_ids":["k"],"env":"sum","group":null,"ok":true,"num_errors":0,"reward":1.0,"advantage":null,"input_tokens":0,"output_tokens":0,"turns":0,"branches":0,"stop_condition":null,"truncated":false,"dispatch":null,"arrival":null,"duration":null,"chunk":0}',
  },
];
