/** A run that a process of its own keeps writing, and what every prefix of it must be indexed to. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { onTestFinished } from 'vitest';

const CHILD = resolve('test/helpers/writer-child.ts');
const HOOKS = resolve('test/helpers/typescript-hooks.mjs');

/** What an indexing must find in the first `bytes` of the chunk. */
export type Prefix = {
  readonly episodes: number;
  readonly rows: Buffer;
  /** The part of a line at its end; null when there is none, or when nothing but its LF is missing. */
  readonly torn: { readonly offset: number; readonly bytes: number } | null;
  /** Bytes of the lines that end with an LF: what will not change any more. */
  readonly settledBytes: number;
};

export type GrowingRunOptions = {
  /** Holds the run. */
  readonly directory: string;
  /** A file of whole lines and one of their rows. */
  readonly lines: string;
  readonly rows: string;
  /** Whether the writer keeps an index, as upstream does. */
  readonly hasIndex: boolean;
  /** Written before anybody looks. */
  readonly firstBytes: number;
  readonly seed: number;
};

export class GrowingRun {
  readonly directory: string;
  readonly index: string;
  readonly #chunk: string;
  readonly #options: GrowingRunOptions;
  readonly #lineEnds: readonly number[];
  readonly #rows: Buffer;
  readonly #rowEnds: readonly number[];
  #end: () => Promise<number | null> = async () => null;

  private constructor(options: GrowingRunOptions) {
    this.#options = options;
    this.directory = options.directory;
    const traces = join(options.directory, 'monitors/file/traces');
    mkdirSync(join(traces, 'stream'), { recursive: true });
    this.#chunk = join(traces, 'stream/00000.jsonl');
    this.index = join(traces, 'stream.index.jsonl');
    this.#lineEnds = endsOf(readFileSync(options.lines));
    this.#rows = readFileSync(options.rows);
    this.#rowEnds = endsOf(this.#rows);
  }

  /** Resolves when the first bytes are written; from then on the run grows until `end`, or the end of the test. */
  static async start(options: GrowingRunOptions): Promise<GrowingRun> {
    const run = new GrowingRun(options);
    await run.#spawn();
    return run;
  }

  /** Bytes of the chunk at the moment. */
  get bytes(): number {
    return statSync(this.#chunk).size;
  }

  prefix(bytes: number): Prefix {
    let episodes = 0;
    while ((this.#lineEnds[episodes] as number) <= bytes) episodes += 1;
    const start = this.#lineEnds[episodes - 1] ?? 0;
    const isWhole = bytes === (this.#lineEnds[episodes] as number) - 1;
    if (isWhole) episodes += 1;
    return {
      episodes,
      rows: this.#rows.subarray(0, this.#rowEnds[episodes - 1] ?? 0),
      torn: isWhole || start === bytes ? null : { offset: start, bytes: bytes - start },
      settledBytes: start,
    };
  }

  /** Whether these are the rows of some prefix between two sizes of the chunk. */
  isPrefix(rows: Buffer, leastBytes: number, mostBytes: number): boolean {
    const isWhole = rows.length === 0 || this.#rowEnds.includes(rows.length);
    const [least, most] = [this.prefix(leastBytes), this.prefix(mostBytes)];
    const isBetween = rows.length >= least.rows.length && rows.length <= most.rows.length;
    return isWhole && isBetween && rows.equals(this.#rows.subarray(0, rows.length));
  }

  /** Lets the writer end its last line and leave; returns its exit status. */
  end(): Promise<number | null> {
    return this.#end();
  }

  async #spawn(): Promise<void> {
    const { lines, rows, hasIndex, firstBytes, seed } = this.#options;
    writeFileSync(this.#chunk, '');
    const child = spawn(
      process.execPath,
      [
        '--import',
        HOOKS,
        CHILD,
        lines,
        hasIndex ? rows : '',
        this.#chunk,
        this.index,
        String(firstBytes),
        String(seed),
      ],
      { stdio: ['pipe', 'pipe', 'inherit'] },
    );
    const exited = once(child, 'exit');
    onTestFinished(() => {
      child.kill('SIGKILL');
    });
    this.#end = async () => {
      child.stdin.end();
      const [status] = await exited;
      return status as number | null;
    };
    await Promise.race([once(child.stdout, 'data'), exited.then(() => Promise.reject(new Error('no writer')))]);
  }
}

function endsOf(content: Buffer): number[] {
  const ends: number[] = [];
  for (let at = content.indexOf('\n'); at >= 0; at = content.indexOf('\n', at + 1)) ends.push(at + 1);
  return ends;
}
