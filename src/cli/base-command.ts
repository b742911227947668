/**
 * What every prl command stands on: `--json`, `--debug` and `--no-color`, one AbortSignal for the signals, the two output
 * streams, and one place where whatever went wrong becomes a message and an exit status (cli.md, "Every command").
 */
import { Command } from '@oclif/core/command';
import { ExitError } from '@oclif/core/errors';
import { boolean } from '@oclif/core/flags';
import { withoutSecrets, writeDebugLog } from './debug-log.js';
import { EXIT_DONE } from './exit-codes.js';
import { describeFailure, type Failure, failureDocument, failureLines } from './failure.js';
import { leaveNow } from './leave.js';
import { Output } from './output.js';
import { Interrupt } from './signals.js';

/** A list in the help of a command: names and what they mean. */
export type HelpList = { readonly header: string; readonly entries: readonly (readonly [string, string])[] };

/**
 * Base of all commands. Inside `run`, a subclass has `this.output`, `this.interrupt` and `this.finish(status)`; it throws
 * PrlError for what it foresees, and never calls `process.exit`.
 */
export abstract class PrlCommand extends Command {
  static override baseFlags = {
    json: boolean({ helpGroup: 'GLOBAL', summary: 'Write one JSON document to stdout, and nothing else.' }),
    debug: boolean({ helpGroup: 'GLOBAL', summary: 'Show the stack of a failure.' }),
    'no-color': boolean({ helpGroup: 'GLOBAL', summary: 'Write no colour, as NO_COLOR does.' }),
  };

  /** Exit statuses beyond 0, 1, 2, 130 and 143 that the command can end with; listed in its help. */
  static exitStatuses: readonly number[] = [];

  /** Lists in the help of the command: its environment variables, the values of a flag. */
  static helpLists: readonly HelpList[] = [];

  #output: Output | null = null;
  #interrupt: Interrupt | null = null;
  #status: number | null = null;
  readonly #secrets = new Set<string>();

  /** Data, notices and colour of this command. */
  protected get output(): Output {
    this.#output ??= this.#openOutput();
    return this.#output;
  }

  /** The signals of this command; pass `this.interrupt.signal` to everything that waits. */
  protected get interrupt(): Interrupt {
    this.#interrupt ??= this.#openInterrupt();
    return this.#interrupt;
  }

  /** Says what the first signal is told to save, e.g. `saving the journal`. Override where there is more to say. */
  protected savingNotice(): string {
    return 'stopping';
  }

  /** Decides what happens when nobody reads stdout any more. By default the work stops, with status 0 (demand C3). */
  protected readerLeft(): void {
    this.finish(EXIT_DONE);
    this.interrupt.abort('the reader of stdout left');
  }

  /** Sets the exit status of a command that ended by itself; a signal's status still wins. */
  protected finish(status: number): void {
    this.#status = status;
  }

  /** Keeps a secret out of messages and logs, e.g. the API key after it was read. */
  protected hide(secret: string): void {
    this.#secrets.add(secret);
  }

  /** Watches streams, signals and crashes before the first byte of work, so that a signal during start-up counts. */
  override async init(): Promise<void> {
    await super.init();
    this.output.onReaderLeft(() => this.readerLeft());
    this.#interrupt ??= this.#openInterrupt();
    process.on('uncaughtException', this.#crashed);
  }

  /** Prints the failure and sets the status; the process then ends by itself, with everything flushed. */
  override async catch(error: Error): Promise<void> {
    if (error instanceof ExitError) {
      this.finish(error.oclif.exit ?? EXIT_DONE);
      return;
    }
    if (this.#isOwnAbort(error)) await this.#reportInterrupt(error);
    else await this.#report(this.#describe(error));
  }

  /** What a thrown error comes to, for a command that goes on with the next of several things. */
  protected failureOf(error: unknown): Failure {
    return this.#isOwnAbort(error) ? this.interruption(error) : this.#describe(error);
  }

  /** Why something ended, or never began: a signal, or a reader of stdout that left. */
  protected interruption(error: unknown = null): Failure {
    const message = `stopped by ${this.interrupt.received ?? 'whoever read stdout'}`;
    return { code: 'PRL_ERR_INTERRUPTED', status: this.interrupt.status ?? EXIT_DONE, message, hint: null, error };
  }

  /** Says on stderr what failed, as a line of JSON with `--json`. */
  protected tellFailure(failure: Failure): void {
    const { output } = this;
    this.#showStack(failure);
    if (output.json) {
      output.failure(JSON.stringify(failureDocument(failure)));
      return;
    }
    const [first = '', ...rest] = failureLines(failure, this.#name()).map((line) => this.#clean(line));
    output.failure([output.noticePaint.red(first), ...rest].join('\n'));
  }

  #isOwnAbort(error: unknown): boolean {
    const { signal } = this.interrupt;
    return signal.aborted && (error === signal.reason || (error instanceof Error && error.name === 'AbortError'));
  }

  override async finally(): Promise<void> {
    process.exitCode = this.#interrupt?.status ?? this.#status ?? process.exitCode ?? EXIT_DONE;
    process.off('uncaughtException', this.#crashed);
    this.#interrupt?.dispose();
    this.#output?.dispose();
  }

  /** An error outside of `run`: in a timer, a stream, a promise nobody awaits. Nothing can be trusted to end after it. */
  readonly #crashed = (error: unknown): void => {
    const failure = this.#describe(error);
    void this.#report(failure).finally(() => process.exit(failure.status));
  };

  /** True when a base flag is on the command line; needed before and without a successful parse. */
  #hasFlag(flag: string): boolean {
    const end = this.argv.indexOf('--');
    return (end === -1 ? this.argv : this.argv.slice(0, end)).includes(flag);
  }

  #openOutput(): Output {
    return new Output({
      stdout: process.stdout,
      stderr: process.stderr,
      environment: process.env,
      json: this.#hasFlag('--json'),
      noColour: this.#hasFlag('--no-color'),
      nowMs: () => performance.now(),
    });
  }

  #openInterrupt(): Interrupt {
    return new Interrupt({
      announce: () => this.output.progress(`${this.savingNotice()}; a second signal leaves at once`),
      leave: leaveNow, // The contract: out within 200 ms, whatever still waits.
      nowMs: () => performance.now(),
      emitter: process,
    });
  }

  #describe(error: unknown): Failure {
    const described = describeFailure(error, { command: this.#name(), flags: this.#flagNames() });
    const hint = described.hint === null ? null : this.#clean(described.hint);
    const failure = { ...described, message: this.#clean(described.message), hint };
    if (failure.code !== 'PRL_ERR_BUG') return failure;
    const path = writeDebugLog({
      error,
      commandLine: [this.#name(), ...this.argv],
      version: this.config.version,
      environment: process.env,
      secrets: this.#secrets,
      at: new Date(),
    });
    const where = path === null ? 'the debug log could not be written; use --debug' : `the debug log is ${path}`;
    return { ...failure, hint: `this is a bug in prl, please report it; ${where}` };
  }

  #name(): string {
    return `${this.config.bin} ${this.id ?? ''}`.trim();
  }

  #flagNames(): string[] {
    const flags = { ...this.ctor.baseFlags, ...this.ctor.flags };
    return Object.entries(flags).flatMap(([name, flag]) =>
      flag.type === 'boolean' && flag.allowNo ? [name, `no-${name}`] : [name],
    );
  }

  async #reportInterrupt(error: Error): Promise<void> {
    // With a reader that left there is nobody to tell; a signal was announced when it came.
    if (this.interrupt.status === null || !this.output.json || this.output.wroteData) return;
    await this.output.document(failureDocument(this.interruption(error)));
  }

  async #report(failure: Failure): Promise<void> {
    this.finish(failure.status);
    // A second document on stdout would break whoever parses the first.
    if (!this.output.json || this.output.wroteData) this.tellFailure(failure);
    else {
      this.#showStack(failure);
      await this.output.document(failureDocument(failure));
    }
  }

  #showStack({ error }: Failure): void {
    if (this.#hasFlag('--debug') && error instanceof Error) this.output.failure(this.#clean(error.stack ?? ''));
  }

  #clean(text: string): string {
    return withoutSecrets(text, process.env, this.#secrets);
  }
}
