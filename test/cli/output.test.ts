/** Data waits for its reader, a reader that leaves is an event, notices are rate-limited (demands C1, C2, C3, C10). */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, createWriteStream, openSync } from 'node:fs';
import { Writable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { NOTICE_INTERVAL_MS, Output, type OutputStream } from '../../src/cli/output.js';

/** A stream that keeps what it got. */
class Kept extends Writable {
  readonly isTTY = false;
  text = '';

  override _write(content: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.text += content.toString();
    done();
  }
}

function outputTo(stdout: OutputStream, options: { json?: boolean; stderr?: Kept; nowMs?: () => number } = {}) {
  const stderr = options.stderr ?? new Kept();
  const { json = false, nowMs = () => 0 } = options;
  return { output: new Output({ stdout, stderr, environment: {}, json, noColour: false, nowMs }), stderr };
}

/** A child whose standard input stands for our stdout: a real pipe. */
function reader(...command: string[]): ChildProcess & { readonly stdin: Writable } {
  const [program = '', ...rest] = command;
  return spawn(program, rest, { stdio: ['pipe', 'pipe', 'ignore'] }) as ChildProcess & { readonly stdin: Writable };
}

describe('data', () => {
  test('every byte reaches a slow reader through a pipe, one write at a time', async () => {
    const child = reader('sh', '-c', 'sleep 0.3; wc -c');
    let counted = '';
    child.stdout?.on('data', (part) => {
      counted += part;
    });
    const { output } = outputTo(child.stdin);
    const content = Buffer.alloc(1_000_003, 'x');
    let greatestBacklog = 0;
    for (let count = 0; count < 20; count += 1) {
      await output.data(content);
      greatestBacklog = Math.max(greatestBacklog, child.stdin.writableLength);
    }
    child.stdin.end();
    await once(child, 'close');
    expect(Number(counted)).toBe(20 * 1_000_003);
    expect(greatestBacklog).toBe(0);
    output.dispose();
  });

  test('a reader that leaves is told once, and later data costs nothing', async () => {
    const child = reader('head', '-c', '1');
    const { output } = outputTo(child.stdin);
    let left = 0;
    output.onReaderLeft(() => {
      left += 1;
    });
    // More than a pipe holds, so that a write is under way when the reader goes.
    for (let count = 0; count < 100 && !output.readerLeft; count += 1) await output.data(Buffer.alloc(100_000));
    await output.data('more');
    await once(child, 'close');
    expect(output.readerLeft).toBe(true);
    expect(left).toBe(1);
    output.dispose();
  });

  test('a full disk under stdout rejects with the system error', async () => {
    const fd = openSync('/dev/full', 'w');
    const stream = createWriteStream('', { fd, autoClose: false });
    const { output } = outputTo(stream);
    await expect(output.data('x')).rejects.toMatchObject({ code: 'ENOSPC' });
    expect(output.readerLeft).toBe(false);
    closeSync(fd);
  });

  test('documents are one line each', async () => {
    const stdout = new Kept();
    const { output } = outputTo(stdout);
    expect(output.wroteData).toBe(false);
    await output.document({ schema: 'prl.test/1', text: 'a\nb' });
    await output.line('text');
    expect(stdout.text).toBe('{"schema":"prl.test/1","text":"a\\nb"}\ntext\n');
    expect(output.wroteData).toBe(true);
  });
});

describe('notices', () => {
  test('one of a kind in ten seconds is shown, all are counted, and the next says how many were not', () => {
    const clock = { nowMs: 0 };
    const { output, stderr } = outputTo(new Kept(), { nowMs: () => clock.nowMs });
    for (let count = 0; count < 100_000; count += 1) output.notice('damaged', `line ${count}`);
    output.notice('retry', 'a retry');
    clock.nowMs = NOTICE_INTERVAL_MS;
    output.notice('damaged', 'the last');
    expect(stderr.text).toBe('! line 0\n! a retry\n! the last (and 99999 more like it)\n');
    expect(output.noticeCounts()).toEqual(
      new Map([
        ['damaged', 100_001],
        ['retry', 1],
      ]),
    );
  });

  test('text of a notice cannot act on the terminal', () => {
    const { output, stderr } = outputTo(new Kept());
    output.notice('hostile', 'a\u001b[2Jb\rc');
    expect(stderr.text).toBe('! a\\u001b[2Jb\\rc\n');
  });

  test('with --json stderr stays empty but for failures', () => {
    const { output, stderr } = outputTo(new Kept(), { json: true });
    output.notice('damaged', 'x');
    output.progress('y');
    expect(stderr.text).toBe('');
    output.failure('z');
    expect(stderr.text).toBe('z\n');
    expect(output.noticeCounts().get('damaged')).toBe(1);
  });

  test('a view takes the lines while it is mounted', () => {
    const { output, stderr } = outputTo(new Kept());
    const above: string[] = [];
    output.routeNotices((line) => above.push(line));
    output.notice('kind', 'while');
    output.routeNotices(null);
    output.progress('after');
    expect(above).toEqual(['! while']);
    expect(stderr.text).toBe('after\n');
  });

  test('a deaf stderr stops nothing', async () => {
    const child = reader('true');
    await once(child, 'exit');
    const stdout = new Kept();
    const output = new Output({
      stdout,
      stderr: child.stdin,
      environment: {},
      json: false,
      noColour: false,
      nowMs: () => 0,
    });
    for (let count = 0; count < 5; count += 1) output.progress('nobody reads this');
    await new Promise((resolve) => child.stdin.write('', resolve));
    await output.line('still here');
    expect(stdout.text).toBe('still here\n');
  });
});
