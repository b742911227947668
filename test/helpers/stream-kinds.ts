/**
 * Runs a command with each of its standard streams a terminal, a pipe, a file or closed. A shell on a pseudo-terminal makes
 * the redirections, so that the command meets what a user's shell would give it.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tempFolder } from './temp-folder.js';
import { runOnTerminal, type TerminalResult } from './terminal.js';

export const STREAM_KINDS = ['terminal', 'pipe', 'file', 'closed'] as const;

export type StreamKind = (typeof STREAM_KINDS)[number];

export type Streams = Readonly<Record<'stdin' | 'stdout' | 'stderr', StreamKind>>;

export type StreamsResult = {
  /** Of the command; `output` is what the terminal got, LF for its CR LF. */
  readonly terminal: TerminalResult;
  /** What arrived where it is a pipe or a file, else null. */
  readonly stdout: string | null;
  readonly stderr: string | null;
};

/** A file or pipe of input holds the keys that would stop a view: they are no keys there. */
const INPUT = 'q\u0003';

export async function runWithStreams(
  streams: Streams,
  command: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<StreamsResult> {
  const folder = tempFolder();
  writeFileSync(join(folder, 'stdin'), INPUT);
  const script = [
    'mkfifo "$FOLDER/stdout.pipe" "$FOLDER/stderr.pipe"',
    ...(['stdout', 'stderr'] as const).flatMap((name) =>
      streams[name] === 'pipe' ? [`cat "$FOLDER/${name}.pipe" >"$FOLDER/${name}" &`] : [],
    ),
    `${redirected(streams)}; status=$?`,
    // Until the readers of both pipes have everything.
    'wait; exit "$status"',
  ].join('\n');
  const terminal = await runOnTerminal({
    command: ['bash', '-c', script, 'bash', ...command],
    env: { ...env, FOLDER: folder },
  });
  const received = (name: 'stdout' | 'stderr'): string | null =>
    ['pipe', 'file'].includes(streams[name]) ? readFileSync(join(folder, name), 'utf8') : null;
  const output = terminal.output.replaceAll('\r\n', '\n');
  return { terminal: { ...terminal, output }, stdout: received('stdout'), stderr: received('stderr') };
}

/** The command with its redirections, in the words of a shell. */
function redirected({ stdin, stdout, stderr }: Streams): string {
  const input = { terminal: '', pipe: '', file: '<"$FOLDER/stdin"', closed: '<&-' }[stdin];
  const words = ['"$@"', input, outputTo('stdout', stdout), outputTo('stderr', stderr)].join(' ');
  return stdin === 'pipe' ? `cat "$FOLDER/stdin" | ${words}` : words;
}

function outputTo(name: 'stdout' | 'stderr', kind: StreamKind): string {
  const from = name === 'stdout' ? '1>' : '2>';
  return { terminal: '', pipe: `${from}"$FOLDER/${name}.pipe"`, file: `${from}"$FOLDER/${name}"`, closed: `${from}&-` }[
    kind
  ];
}
