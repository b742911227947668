/** `prl serve`: the embedded traces service in the foreground, until a signal ends it. */
import { once } from 'node:events';
import { Flags } from '@oclif/core';
import { type HelpList, PrlCommand } from '../cli/base-command.js';
import { usualDataDirectory } from '../io/local-service.js';
import { parseFaults } from '../service/faults.js';
import { type Service, startService } from '../service/server.js';

/** Below the grace time of a signal, so that the store is closed before the process is ended for it. */
const SHUTDOWN_MS = 1_500;

export default class Serve extends PrlCommand {
  static override summary = 'Run the embedded traces service: the wire of Prime Traces, with a database under it.';

  static override description =
    'Prints "listening on http://…" when it accepts requests. Everything it stores lies in the data directory, which ' +
    'belongs to one service at a time. A receipt is given only after the batch is on the disk.';

  static override exitStatuses = [7, 8, 9];

  static override helpLists = [
    {
      header: 'FAULTS, for trials of whatever talks to the service',
      entries: [
        ['latency=80ms', 'added before every answer'],
        ['bandwidth=40MB/s', 'shared by all uploads and raw documents'],
        ['errors=5%', 'so many requests are declined with 503, 429 or 502'],
        ['lost-response=1%', 'so many stored uploads get no receipt: the connection is cut'],
        ['stall=10s', 'from the first upload on, nothing is read and nothing answered for so long'],
        ['storm=30s', 'from the first upload on, every request gets 503 and Retry-After for so long'],
        ['SIGUSR2', 'begins the span of stall and storm anew'],
      ],
    },
    {
      header: 'ENVIRONMENT',
      entries: [
        ['PRL_SERVE_TOKEN', 'every request must carry it as a bearer token; unset, only loopback is served'],
        ['PRL_DATA_DIR', 'the data directory, without --data'],
      ],
    },
  ] satisfies HelpList[];

  static override examples = [
    '<%= config.bin %> <%= command.id %> --port 0',
    '<%= config.bin %> <%= command.id %> --data /tmp/traces --fault latency=80ms --fault errors=5%',
  ];

  static override flags = {
    port: Flags.integer({
      helpValue: '<n>',
      default: 8083,
      min: 0,
      max: 65_535,
      summary: 'TCP port; 0 takes any free one.',
    }),
    host: Flags.string({
      default: '127.0.0.1',
      helpValue: '<address>',
      summary: 'Address to bind; other than loopback needs PRL_SERVE_TOKEN.',
    }),
    data: Flags.directory({
      helpValue: '<dir>',
      summary: 'Data directory. Default: $PRL_DATA_DIR, else prl in the data directory of the user (XDG).',
    }),
    fault: Flags.string({
      multiple: true,
      multipleNonGreedy: true,
      helpValue: '<name=value>',
      summary: 'Trouble to make, repeatable.',
    }),
    'exit-with-parent': Flags.boolean({ hidden: true, summary: 'End at the end of standard input.' }),
  };

  async run(): Promise<void> {
    const { flags } = await this.parse(Serve);
    const token = process.env.PRL_SERVE_TOKEN ?? '';
    if (token !== '') this.hide(token);
    const dataDir = flags.data ?? usualDataDirectory();
    const service = await startService({
      host: flags.host,
      port: flags.port,
      dataDir,
      token,
      faults: parseFaults(flags.fault ?? []),
      limits: { shutdownMs: SHUTDOWN_MS },
      log: (line) => this.output.progress(line),
    });
    const restartFaults = (): void => service.restartFaults();
    process.on('SIGUSR2', restartFaults);
    try {
      await this.#announce(service, dataDir);
      await this.#untilEnd(flags['exit-with-parent']);
    } finally {
      process.off('SIGUSR2', restartFaults);
      await service.close();
    }
  }

  protected override savingNotice(): string {
    return 'finishing the requests that are running';
  }

  /** Nobody needs stdout after the first line: its reader may leave, the service stays. */
  protected override readerLeft(): void {}

  async #announce(service: Service, dataDir: string): Promise<void> {
    if (!this.output.json) return this.output.line(`listening on ${service.url}`);
    const document = { schema: 'prl.serve/1', url: service.url, port: service.port, data: dataDir };
    await this.output.document(document);
  }

  /** Waits for a signal, or for the end of standard input when that is the parent's hold on us. */
  async #untilEnd(endsWithParent: boolean): Promise<void> {
    const { signal } = this.interrupt;
    if (signal.aborted) return;
    const interrupted = new Promise<void>((resolve) => {
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
    if (!endsWithParent) return interrupted;
    process.stdin.resume();
    // A parent that is killed breaks the pipe instead of ending it; both mean that it is gone.
    const parentGone = once(process.stdin, 'close').catch(() => {});
    await Promise.race([interrupted, parentGone]);
    process.stdin.destroy();
  }
}
