/** `prl upload`: pushes the saved episodes of a run to a Prime Traces service, each exactly once. */
import { Args, type Interfaces } from '@oclif/core';
import { type HelpList, PrlCommand } from '../cli/base-command.js';
import { EXIT_STATUS } from '../cli/exit-codes.js';
import { type Filter, filterHelp, filterOf } from '../cli/filter-flags.js';
import { type Format, terminalFormat } from '../cli/format.js';
import { planReport } from '../cli/plan-report.js';
import { isUtf8Locale } from '../cli/screen.js';
import { shellLine } from '../cli/shell-words.js';
import { planDocument, type Surroundings, uploadDocument } from '../cli/upload-document.js';
import { parseContext, uploadFlags } from '../cli/upload-flags.js';
import { uploadReport } from '../cli/upload-report.js';
import { showUpload } from '../cli/upload-screen.js';
import { PrlError } from '../core/errors.js';
import type { UploadOutcome } from '../core/upload/outcome.js';
import { resolveConfig } from '../io/config.js';
import { type LocalService, localServiceName, startLocalService, usualDataDirectory } from '../io/local-service.js';
import { peakMemoryBytes } from '../io/peak-memory.js';
import { openRun } from '../io/run.js';
import { nameRun } from '../io/run-name.js';
import type { Run } from '../io/run-types.js';
import { RunUpload, type RunUploadOptions } from '../io/run-upload.js';

type UploadFlags = Interfaces.InferredFlags<typeof uploadFlags>;

export default class Upload extends PrlCommand {
  static override summary = 'Push the saved episodes of a run to a Prime Traces service, each exactly once.';

  static override description =
    'Stop it and start it at any moment: a journal beside the run remembers what the service has confirmed, and only ' +
    'what is missing is sent. A record that the service refuses costs no other record; each is listed with its place ' +
    'and reason.';

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
    "<%= config.bin %> <%= command.id %> ./run --where 'reward > 0.5 and turns < 10'",
  ];

  static override args = {
    run: Args.string({
      default: '.',
      description: 'Run directory, a directory inside one, a file, or - for standard input.',
    }),
  };

  static override flags = uploadFlags;

  readonly #startedMs = performance.now();
  #filter: Filter | null = null;

  async run(): Promise<void> {
    const { args, flags } = await this.parse(Upload);
    const context = parseContext(flags.context ?? []);
    this.#filter = filterOf(flags);
    const run = await openRun(args.run);
    for (const notice of run.notices) this.#notice(notice);
    const service = flags.local && !flags['dry-run'] ? await this.#startLocal(args.run) : null;
    try {
      const upload = new RunUpload({
        ...identityOf(run),
        ...(await this.#target(flags, service)),
        run,
        context,
        runId: flags['run-id'] || null,
        environmentRunId: process.env.PRL_RUN_ID || process.env.RUN_ID || null,
        stamps: flags.stamp,
        concurrency: flags.concurrency,
        targetBytes: flags.batch,
        compress: flags.compress,
        maxAttempts: flags['max-attempts'],
        verifies: flags.verify,
        retriesRejected: flags['retry-rejected'],
        selects: this.#filter?.selects ?? null,
        environment: process.env,
        onNotice: (notice) => this.#notice(notice),
      });
      if (flags['dry-run']) await this.#plan(upload, args.run);
      else await this.#upload(upload, args.run, flags);
    } finally {
      await service?.close();
    }
  }

  protected override savingNotice(): string {
    return 'saving the journal of what is stored';
  }

  /** The service takes half a second to come up, and a person is told before (demand C7). */
  #startLocal(typed: string): Promise<LocalService> {
    const directory = usualDataDirectory();
    const { text } = this.#format();
    this.output.progress(`starting the embedded service for ${text(typed)}, its data in ${text(directory)}`);
    return startLocalService(directory);
  }

  async #target(
    flags: UploadFlags,
    service: LocalService | null,
  ): Promise<Pick<RunUploadOptions, 'access' | 'serviceName'>> {
    const { version } = this.config;
    if (service !== null) {
      const access = { baseUrl: service.url, apiKey: service.token, teamId: null, version };
      return { access, serviceName: service.name };
    }
    if (flags.local) {
      const access = { baseUrl: 'the embedded service', apiKey: '', teamId: null, version };
      return { access, serviceName: await localServiceName() };
    }
    const { url, apiKey, teamId, notices } = await resolveConfig({ environment: process.env, url: flags.url });
    for (const notice of notices) this.#notice(notice);
    this.hide(apiKey.value);
    const access = {
      baseUrl: url.value,
      apiKey: apiKey.value,
      teamId: teamId.value,
      version,
      insecure: flags.insecure,
    };
    return { access, serviceName: url.value };
  }

  async #plan(upload: RunUpload, typed: string): Promise<void> {
    const plan = await upload.plan(this.interrupt.signal);
    const document = planDocument(plan, this.#surroundings(upload, typed));
    if (this.output.json) await this.output.document(document);
    else for (const line of planReport(document, this.#format())) await this.output.line(line);
    this.#finishWith(plan);
  }

  async #upload(upload: RunUpload, typed: string, flags: UploadFlags): Promise<void> {
    const format = this.#format();
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
    const document = uploadDocument(outcome, this.#surroundings(upload, typed));
    if (this.output.json) await this.output.document(document);
    else {
      const { journal, mismatches, stopped } = outcome;
      const endsWithFailure = stopped !== null;
      const columns = process.stderr.columns ?? null;
      const words = this.#words();
      const report = uploadReport({ document, format, columns, journal, mismatches, words, endsWithFailure });
      for (const line of report) this.output.progress(line);
    }
    this.#finishWith(outcome);
    throwFailureOf(outcome, shellLine(this.#words()));
  }

  #surroundings(upload: RunUpload, run: string): Surroundings {
    return {
      run,
      url: upload.snapshot().url,
      filter: this.#filter?.text ?? null,
      seconds: (performance.now() - this.#startedMs) / 1000,
      peakRssBytes: peakMemoryBytes(),
    };
  }

  /** What was typed, to be typed again. */
  #words(): string[] {
    return [this.config.bin, this.id ?? '', ...this.argv];
  }

  #format(): Format {
    return terminalFormat({ ascii: !isUtf8Locale(process.env) });
  }

  #notice(notice: string): void {
    this.output.notice(notice, notice);
  }

  #finishWith({ rejected, damaged }: Pick<UploadOutcome, 'rejected' | 'damaged'>): void {
    if (rejected.length > 0) this.finish(EXIT_STATUS.PRL_ERR_REJECTED);
    else if (damaged.length > 0) this.finish(EXIT_STATUS.PRL_ERR_DAMAGED);
  }
}

/** What is uploaded, as the user calls it, and the path that names its journal; standard input has no lasting name. */
function identityOf(run: Run): Pick<RunUploadOptions, 'path' | 'name'> {
  const [file] = run.files;
  const isFile = run.layout === 'B' && file !== undefined;
  const path = !isFile ? run.root : file.form === 'stdin' ? null : file.path;
  return { path, name: nameRun(run) };
}

/** The report has been printed by now; what is left to say is why it is not the whole story. */
function throwFailureOf({ stopped, verified, journal }: UploadOutcome, command: string): void {
  if (stopped !== null) {
    const continues = journal === null ? 'what is stored is not stored twice' : 'it continues where this stopped';
    const hint = stopped.hint === null ? `run it again, ${continues}: ${command}` : `${stopped.hint}, then: ${command}`;
    throw new PrlError(stopped.errorCode, stopped.message, { hint });
  }
  if (verified === null || verified.ok) return;
  const [first] = verified.differences;
  throw new PrlError(
    'PRL_ERR_INTEGRITY',
    `${verified.differences.length} differences between the run and what the service gives back; the first: ${first?.message}`,
    { hint: 'the run on disk is the truth: remove its journal (monitors/prl) and upload it again' },
  );
}
