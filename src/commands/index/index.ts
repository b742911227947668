/** `prl index`: rebuilds, checks or hands out the index rows of a run, from its streams alone. */
import { Args, type Interfaces } from '@oclif/core';
import { PrlCommand } from '../../cli/base-command.js';
import { EXIT_STATUS } from '../../cli/exit-codes.js';
import { type Format, terminalFormat } from '../../cli/format.js';
import { damageOf, type IndexDocument, indexDocument } from '../../cli/index-document.js';
import { indexFailure, refuseCombination, repairWords } from '../../cli/index-failure.js';
import { indexFlags } from '../../cli/index-flags.js';
import { indexReport } from '../../cli/index-report.js';
import { showIndex } from '../../cli/index-screen.js';
import { RowsOutput } from '../../cli/rows-output.js';
import { isUtf8Locale } from '../../cli/screen.js';
import type { IndexOutcome } from '../../core/index/outcome.js';
import { refuseOut } from '../../io/index-out.js';
import { peakMemoryBytes } from '../../io/peak-memory.js';
import { openRun } from '../../io/run.js';
import { type IndexTarget, RunIndex } from '../../io/run-index.js';
import { nameRun } from '../../io/run-name.js';
import type { Run } from '../../io/run-types.js';

type IndexFlags = Interfaces.InferredFlags<typeof indexFlags>;

export default class Index extends PrlCommand {
  static override summary = 'Rebuild the index of a run from its streams alone, check it, or write its rows.';

  static override description =
    'Writes one row for each whole record, equal to what prime-rl writes, and says to the byte what is damaged. The ' +
    'index is replaced whole or not at all, and never while its writer may be alive. A run that has no index of its ' +
    'own needs --rows or --out.';

  static override exitStatuses = [3, 4, 5, 7, 8];

  static override examples = [
    '<%= config.bin %> <%= command.id %> ./run',
    '<%= config.bin %> <%= command.id %> ./run --check',
    '<%= config.bin %> <%= command.id %> traces.jsonl --out traces.index.jsonl --strict',
    '<%= config.bin %> <%= command.id %> ./run --rows | jq .reward',
  ];

  static override args = {
    run: Args.string({
      default: '.',
      description: 'Run directory, a directory inside one, a file, or - for standard input.',
    }),
  };

  static override flags = indexFlags;

  async run(): Promise<void> {
    const { args, flags } = await this.parse(Index);
    refuseCombination({ rows: flags.rows, json: this.output.json, out: flags.out });
    const run = await openRun(args.run, { subset: flags.subset });
    for (const notice of run.notices) this.#notice(notice);
    if (flags.out !== undefined && !flags.check) await refuseOut(run, flags.out);
    const rows = new RowsOutput(this.output, this.interrupt.signal, process.stdout.isTTY === true);
    const index = new RunIndex({
      run,
      target: targetOf(flags, rows),
      jobs: flags.jobs ?? null,
      tokens: flags.tokens,
      mode: flags.mode ?? null,
      isStrict: flags.strict,
      subset: flags.subset,
      startsOver: flags.full,
      environment: process.env,
      onNotice: (notice) => this.#notice(notice),
    });
    const endScreen = await this.#show(index, run, flags);
    const startedMs = performance.now();
    let seconds = 0;
    const outcome = await index.run(this.interrupt.signal).finally(() => {
      seconds = (performance.now() - startedMs) / 1000;
      return endScreen();
    });
    const document = this.#document(outcome, { index, run: args.run, layout: run.layout, seconds });
    // Whoever read the rows has seen enough (demand C3).
    if (!flags.rows || !this.output.readerLeft) await this.#report(document, run, index, flags);
    await rows.settled();
  }

  protected override savingNotice(): string {
    return 'stopping; what is on disk stays as it was';
  }

  #show(index: RunIndex, run: Run, flags: IndexFlags): Promise<() => Promise<void>> {
    const format = this.#format();
    const { files } = run;
    const isKnown = files.every(({ uncompressedBytes }) => uncompressedBytes !== null);
    const bytes = isKnown ? files.reduce((sum, { uncompressedBytes }) => sum + (uncompressedBytes ?? 0), 0) : null;
    const { work } = index.snapshot();
    return showIndex({
      output: this.output,
      format,
      tui: flags.tui,
      intervalMs: flags['progress-interval'],
      isQuiet: flags.rows && !this.#wantsProgress(flags),
      read: () => index.snapshot(),
      about: { work, run: nameRun(run), chunks: files.length, bytes, out: flags.out ?? null },
      mount: async (read, onLoaded) => {
        const { mountIndex } = await import('../../ui/mount.js');
        onLoaded();
        const onStop = (): void => this.interrupt.raise('SIGINT');
        const { stderr: screen, stdin: keyboard } = process;
        return mountIndex({ screen, keyboard, read, format, version: this.config.version, onStop });
      },
    });
  }

  /** Rows that scroll by and a view that redraws itself do not share a terminal, and a pipeline wants no lines unasked. */
  #wantsProgress({ tui }: IndexFlags): boolean {
    const isAsked = tui === false || this.argv.some((word) => word.startsWith('--progress-interval'));
    return isAsked || (process.stderr.isTTY === true && process.stdout.isTTY !== true);
  }

  #document(
    outcome: IndexOutcome,
    { index, ...named }: { index: RunIndex; run: string; layout: string; seconds: number },
  ): IndexDocument {
    return indexDocument(outcome, {
      ...named,
      mode: index.mode,
      peakRssBytes: peakMemoryBytes(),
      threads: index.snapshot().threads,
    });
  }

  async #report(document: IndexDocument, run: Run, index: RunIndex, { out }: IndexFlags): Promise<void> {
    const format = this.#format();
    const words = [this.config.bin, this.id ?? '', ...this.argv];
    const failure = document.partial ? null : indexFailure(document, repairWords(words), format);
    if (this.output.json) await this.output.document(document);
    else {
      const { work } = index.snapshot();
      const columns = process.stderr.columns ?? null;
      const report = indexReport({
        document,
        work,
        format,
        columns,
        files: run.files,
        words,
        canContinue: work === 'index' && out === undefined,
        endsWithFailure: failure !== null,
      });
      for (const line of report) this.output.progress(line);
    }
    if (document.streams.some((stream) => damageOf(stream).length > 0)) this.finish(EXIT_STATUS.PRL_ERR_DAMAGED);
    if (failure !== null) throw failure;
  }

  #format(): Format {
    return terminalFormat({ ascii: !isUtf8Locale(process.env) });
  }

  #notice(notice: string): void {
    this.output.notice(notice, notice);
  }
}

function targetOf({ rows: isRows, check, out, force }: IndexFlags, rows: RowsOutput): IndexTarget {
  if (isRows) return { kind: 'rows', write: (bytes) => rows.write(bytes) };
  if (check) return { kind: 'check', path: out ?? null };
  return out === undefined ? { kind: 'in-place', isForced: force } : { kind: 'file', path: out };
}
