/**
 * The official Python libraries as judges. They live in a virtual environment outside the tree
 * (`bash scripts/python-env.sh`, or `$PRL_PYTHON`); without them the tests are skipped and say why.
 */
import { execFileSync, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

type Judge = { readonly python: string; readonly missing: null } | { readonly python: null; readonly missing: string };

/** The interpreter that has prime-traces, orjson and pyzstd, or the reason why there is none. */
export const judge: Judge = findJudge();

function findJudge(): Judge {
  const python =
    process.env.PRL_PYTHON ?? execFileSync('bash', ['scripts/python-env.sh', '--print'], { encoding: 'utf8' }).trim();
  try {
    execFileSync(python, ['-c', 'import prime_traces, orjson, pyzstd'], { stdio: 'pipe' });
    return { python, missing: null };
  } catch {
    return { python: null, missing: `no official libraries at ${python}: run scripts/python-env.sh` };
  }
}

/** Runs one of the scripts of this folder with `input` on its standard input; resolves to its parsed JSON output. */
export function ask(script: string, input: unknown): Promise<unknown> {
  if (judge.python === null) throw new Error(judge.missing);
  const child = spawn(judge.python, [fileURLToPath(new URL(script, import.meta.url))], {
    // A configuration of whoever runs the tests must not leak in.
    env: { ...process.env, HOME: '/nonexistent', PRIME_API_KEY: '', PRIME_TRACES_URL: '', PRIME_TEAM_ID: '' },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  return new Promise((resolve, reject) => {
    const out: Buffer[] = [];
    const err: Buffer[] = [];
    child.stdout.on('data', (part: Buffer) => out.push(part));
    child.stderr.on('data', (part: Buffer) => err.push(part));
    child.once('error', reject);
    child.once('close', (status) => {
      if (status === 0) resolve(JSON.parse(Buffer.concat(out).toString('utf8')));
      else reject(new Error(`${script} ended with ${status}: ${Buffer.concat(err).toString('utf8').slice(-2000)}`));
    });
    child.stdin.end(JSON.stringify(input));
  });
}

export type SdkMode = 'sync' | 'async';
export type SdkStep = { readonly call: string; readonly args?: readonly unknown[]; readonly kwargs?: object };
export type SdkError = { type: string; status: number | null; code: string | null; message: string };
// biome-ignore lint/suspicious/noExplicitAny: the SDK's answers are JSON whose shape each test states by what it reads
export type SdkOutcome = { value?: any; error?: SdkError };
export type SdkTarget = { readonly url: string; readonly token: string; readonly team?: string };

/** Lets the SDK perform `steps` in order, each outcome at the position of its step. */
export async function sdk(target: SdkTarget, mode: SdkMode, steps: readonly SdkStep[]): Promise<SdkOutcome[]> {
  const answer = await ask('actor.py', {
    mode,
    base_url: target.url,
    api_key: target.token,
    team_id: target.team ?? '',
    steps,
  });
  return (answer as { outcomes: SdkOutcome[] }).outcomes;
}

/** The value of an outcome; throws with the SDK's error if the step failed. */
export function valueIn(outcome: SdkOutcome | undefined): NonNullable<SdkOutcome['value']> {
  if (outcome === undefined) throw new Error('no outcome');
  if (outcome.error) throw new Error(`${outcome.error.type} ${outcome.error.code}: ${outcome.error.message}`);
  return outcome.value;
}

export function bytesOf(value: { base64: string }): Buffer {
  return Buffer.from(value.base64, 'base64');
}
