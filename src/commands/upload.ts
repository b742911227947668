/** `prl upload`: pushes the saved episodes of runs to a Prime Traces service, each exactly once. */
import { Args, type Interfaces } from '@oclif/core';
import { type HelpList, PrlCommand } from '../cli/base-command.js';
import { EXIT_STATUS, gravestStatus } from '../cli/exit-codes.js';
import { type Filter, filterHelp, filterOf } from '../cli/filter-flags.js';
import { type Format, terminalFormat } from '../cli/format.js';
import { planReport } from '../cli/plan-report.js';
import { isUtf8Locale } from '../cli/screen.js';
import { shellLine } from '../cli/shell-words.js';
import { planDocument, type Surroundings, type UploadDocument, uploadDocument } from '../cli/upload-document.js';
import { finishedStatus, uploadFailure } from '../cli/upload-failure.js';
import {
  maxAttemptsOf,
  parseContext,
  refuseRepeatedStdin,
  refuseSeveralFollowed,
  uploadFlags,
} from '../cli/upload-flags.js';
import { uploadReport } from '../cli/upload-report.js';
import { isInterruption, type RunResult, uploadRunsDocument, uploadRunsLine } from '../cli/upload-runs.js';
import { showUpload } from '../cli/upload-screen.js';
import type { PrlError } from '../core/errors.js';
import { monotonicClock } from '../io/clock.js';
import { type LocalService, startLocalService, usualDataDirectory } from '../io/local-service.js';
import { within } from '../io/patience.js';
import { peakMemoryBytes } from '../io/peak-memory.js';
import { openRun } from '../io/run.js';
import { awaitRun } from '../io/run-awaited.js';
import { nameRun, pathOfRun } from '../io/run-name.js';
import type { Run } from '../io/run-types.js';
import { RunUpload } from '../io/run-upload.js';
import { findTarget, type UploadTarget } from '../io/upload-target.js';

const ESTIMATE_PATIENCE_MS = 50;

type UploadFlags = Interfaces.InferredFlags<typeof uploadFlags>;

/** What all runs of the command share. */
type Job = {
  readonly flags: UploadFlags;
  readonly context: Readonly<Record<string, string>>;
  readonly filter: Filter | null;
  readonly target: UploadTarget;
};

/** One run of them, open. */
type OneRun = { readonly typed: string; readonly run: Run; readonly startedMs: number };

/** A run that was worked on: what to tell of it, and why that is not the whole story. */
type Told = { readonly document: UploadDocument; readonly status: number; readonly failure: PrlError | null };

export default class Upload extends PrlCommand {
  static override summary = 'Push the saved episodes of runs to a Prime Traces service, each exactly once.';

  static override description =
    'Stop it and start it at any moment: a journal beside the run remembers what the service has confirmed, and only ' +
    'what is missing is sent. A record that the service refuses costs no other record; each is listed with its place ' +
    'and reason. Several runs go one after the other; one that fails stops no other, and the gravest status is told.';

  static override exitStatuses = [3, 4, 5, 6, 7, 8, 9];

  static override helpLists = [
    {
      header: 'ENVIRONMENT',
      entries: [
        ['PRIME_API_KEY', 'the API key; else api_key of ~/.prime/config.json'],
        ['PRIME_TRACES_URL', 'the service, without --url'],
        ['PRIME_TEAM_ID', 'the team; set but empty is personal'],
        ['PRIME_CONTEXT', 'a saved context, ~/.prime/environments/<name>.json'],
        ['PRL_RUN_ID, RUN_ID', 'the run of records that name none'],
        ['PRL_DATA_DIR', 'data of the embedded service'],
        ['PRL_STATE_DIR', 'journals of runs that cannot be written, debug logs'],
      ],
    },
    filterHelp,
  ] satisfies HelpList[];

  static override examples = [
    '<%= config.bin %> <%= command.id %> ./run --local --verify',
    '<%= config.bin %> <%= command.id %> ./run --url https://traces.example.com',
    '<%= config.bin %> <%= command.id %> ./run --dry-run --json',
    '<%= config.bin %> <%= command.id %> ./run --follow',
    "<%= config.bin %> <%= command.id %> ./run --where 'reward > 0.5 and turns < 10'",
    '<%= config.bin %> <%= command.id %> runs/*',
  ];

  static override args = {
    run: Args.string({
      multiple: true,
      default: ['.'],
      description: 'Run directory, a directory inside one, a file, or - for standard input.',
    }),
  };

  static override flags = uploadFlags;

  readonly #startedMs = performance.now();

  async run(): Promise<void> {
    const { args, flags } = await this.parse(Upload);
    const context = parseContext(flags.context ?? []);
    const filter = filterOf(flags);
    refuseRepeatedStdin(args.run);
    refuseSeveralFollowed(args.run, flags.follow);
    const [typed = '.', ...others] = args.run;
    // Of one run that is not there nothing else is worth looking at.
    const run = others.length === 0 ? await this.#open(typed, flags.follow) : null;
    const service = flags.local && !flags['dry-run'] ? await this.#startLocal(args.run) : null;
    try {
      const job = { flags, context, filter, target: await this.#target(flags, service) };
      if (run === null) await this.#uploadAll(args.run, job);
      else await this.#uploadOnly({ typed, run, startedMs: this.#startedMs }, job);
    } finally {
      await service?.close();
    }
  }

  protected override savingNotice(): string {
    return 'saving the journal of what is stored';
  }

  async #uploadOnly(one: OneRun, job: Job): Promise<void> {
    const { document, status, failure } = await this.#work(one, job);
    if (this.output.json) await this.output.document(document);
    this.finish(status);
    if (failure !== null) throw failure;
  }

  /** One after the other; a signal ends them all. */
  async #uploadAll(runs: readonly string[], job: Job): Promise<void> {
    const results: RunResult[] = [];
    for (const typed of runs) {
      const result = await this.#result(typed, job);
      results.push(result);
      if (!this.output.json) this.#tell(result);
    }
    this.finish(gravestStatus(results.map(({ status }) => status)));
    if (!this.output.json) return this.output.progress(uploadRunsLine(results, this.#format()));
    const seconds = (performance.now() - this.#startedMs) / 1000;
    const { baseUrl: url } = job.target.access;
    await this.output.document(uploadRunsDocument(results, { url, seconds, peakRssBytes: peakMemoryBytes() }));
    for (const result of results) this.#tell(result);
  }

  #tell({ failure }: RunResult): void {
    if (failure !== null && !isInterruption(failure)) this.tellFailure(failure);
  }

  async #result(typed: string, job: Job): Promise<RunResult> {
    try {
      this.interrupt.signal.throwIfAborted();
      const run = await this.#open(typed);
      const { document, status, failure } = await this.#work({ typed, run, startedMs: performance.now() }, job);
      if (failure === null && !document.partial) return { run: typed, document, failure, status };
      const told = failure === null ? this.interruption() : this.failureOf(failure);
      return { run: typed, document, failure: told, status: told.status };
    } catch (error) {
      const failure = this.failureOf(error);
      return { run: typed, document: null, failure, status: failure.status };
    }
  }

  async #open(typed: string, awaits = false): Promise<Run> {
    const onWaiting = (): void => this.output.progress(`no run in ${this.#format().text(typed)} yet; waiting for it`);
    const { signal } = this.interrupt;
    const run = await (awaits ? awaitRun(typed, { signal, clock: monotonicClock, onWaiting }) : openRun(typed));
    for (const notice of run.notices) this.#notice(notice);
    return run;
  }

  /** Uploads or plans one run, and prints its report unless a document takes its place. */
  #work(one: OneRun, job: Job): Promise<Told> {
    const { run } = one;
    const { flags, context, filter, target } = job;
    const upload = new RunUpload({
      path: pathOfRun(run),
      name: nameRun(run),
      access: { ...target.access, bytesPerSecond: flags.bwlimit ?? null },
      serviceName: target.serviceName,
      run,
      context,
      runId: flags['run-id'] || null,
      environmentRunId: process.env.PRL_RUN_ID || process.env.RUN_ID || null,
      stamps: flags.stamp,
      concurrency: flags.concurrency ?? 'adaptive',
      targetBytes: flags.batch,
      budgetBytes: flags.budget,
      compress: flags.compress,
      maxAttempts: maxAttemptsOf(flags['max-attempts'], flags.follow),
      maxWaitMs: flags['max-wait'],
      verifies: flags.verify,
      retriesRejected: flags['retry-rejected'],
      selects: filter?.selects ?? null,
      follows: flags.follow,
      environment: process.env,
      onNotice: (notice) => this.#notice(notice),
    });
    const surroundings = (): Surroundings => ({
      run: one.typed,
      url: upload.snapshot().url,
      filter: filter?.text ?? null,
      seconds: (performance.now() - one.startedMs) / 1000,
      peakRssBytes: peakMemoryBytes(),
    });
    return flags['dry-run'] ? this.#plan(upload, surroundings) : this.#upload(upload, flags, surroundings);
  }

  /** The service takes half a second to come up, and a person is told before (demand C7). */
  #startLocal(typed: readonly string[]): Promise<LocalService> {
    const directory = usualDataDirectory();
    const { text } = this.#format();
    this.output.progress(
      `starting the embedded service for ${typed.map(text).join(', ')}, its data in ${text(directory)}`,
    );
    return startLocalService(directory);
  }

  async #target(flags: UploadFlags, service: LocalService | null): Promise<UploadTarget> {
    const { local, url, insecure, 'dry-run': isPlan } = flags;
    const { version } = this.config;
    const target = await findTarget({
      local: local && isPlan ? 'dry-run' : service,
      url,
      insecure,
      version,
      environment: process.env,
    });
    for (const notice of target.notices) this.#notice(notice);
    // What the embedded service was given is worth nothing after the command.
    if (service === null) this.hide(target.access.apiKey);
    return target;
  }

  async #plan(upload: RunUpload, surroundings: () => Surroundings): Promise<Told> {
    const plan = await upload.plan(this.interrupt.signal);
    const document = planDocument(plan, surroundings());
    if (!this.output.json) for (const line of planReport(document, this.#format())) await this.output.line(line);
    return { document, status: finishedStatus(plan), failure: null };
  }

  async #upload(upload: RunUpload, flags: UploadFlags, surroundings: () => Surroundings): Promise<Told> {
    const format = this.#format();
    // A person is told within 200 ms, with or without a count (demand C7).
    await within(ESTIMATE_PATIENCE_MS, upload.estimate());
    const endScreen = await showUpload({
      output: this.output,
      format,
      tui: flags.tui,
      intervalMs: flags['progress-interval'],
      read: () => upload.snapshot(),
      mount: async (read, onLoaded) => {
        const { mountUpload } = await import('../ui/mount.js');
        onLoaded();
        const onStop = (): void => this.interrupt.raise('SIGINT');
        const { stderr: screen, stdin: keyboard } = process;
        return mountUpload({ screen, keyboard, read, format, version: this.config.version, onStop });
      },
    });
    const outcome = await upload.run(this.interrupt.signal).finally(endScreen);
    const document = uploadDocument(outcome, surroundings());
    const words = [this.config.bin, this.id ?? '', ...this.argv];
    const failure = uploadFailure(outcome, shellLine(words));
    if (!this.output.json) {
      const { journal, mismatches, stopped } = outcome;
      const columns = process.stderr.columns ?? null;
      const endsWithFailure = stopped !== null;
      const report = uploadReport({ document, format, columns, journal, mismatches, words, endsWithFailure });
      for (const line of report) this.output.progress(line);
    }
    return { document, status: failure === null ? finishedStatus(outcome) : EXIT_STATUS[failure.code], failure };
  }

  #format(): Format {
    return terminalFormat({ ascii: !isUtf8Locale(process.env) });
  }

  #notice(notice: string): void {
    this.output.notice(notice, notice);
  }
}
