// A command of the tests only, put among the built ones: what every command inherits, without the work of a real one.
import { Args } from '@oclif/core';
import { PrlCommand } from '../cli/base-command.js';
import { countFlag, durationFlag, screenFlags, sizeFlag } from '../cli/flags.js';
import { PrlError } from '../core/errors.js';

/** Resolves never; keeps the process alive. */
const forever = () => new Promise(() => setInterval(() => {}, 1000));

export default class Probe extends PrlCommand {
  static summary = 'Do one thing that commands do.';
  static examples = ['<%= config.bin %> <%= command.id %> document'];
  static exitStatuses = [3, 4];
  static args = { deed: Args.string({ required: true }) };
  static flags = {
    ...screenFlags,
    batch: sizeFlag({ default: 31_457_280, min: 1, summary: 'Bytes of a batch.' }),
    count: countFlag({ default: 1, min: 1, summary: 'How often.' }),
    wait: durationFlag({ default: 90_000, summary: 'How long.' }),
  };

  savingNotice() {
    return 'saving the journal';
  }

  async run() {
    const { args, flags } = await this.parse(Probe);
    await this[args.deed](flags);
  }

  async document(flags) {
    await this.output.document({ schema: 'prl.probe/1', batch: flags.batch, wait: flags.wait });
  }

  async fail() {
    throw new PrlError('PRL_ERR_NOT_FOUND', 'no run at ./x', { hint: 'give a run' });
  }

  async bug() {
    this.hide('pk-of-the-config');
    throw new TypeError('cannot use pk-of-the-config or pk-of-the-environment');
  }

  /** Fails where no `await` sees it. */
  async crash() {
    setTimeout(() => {
      throw new RangeError('thrown in a timer');
    });
    await forever();
  }

  async reject() {
    Promise.reject(new RangeError('a promise nobody awaits'));
    await forever();
  }

  /** Data first, then a failure. */
  async late() {
    await this.output.document({ schema: 'prl.probe/1' });
    throw new PrlError('PRL_ERR_INTEGRITY', 'they differ');
  }

  async flood(flags) {
    const line = `${'x'.repeat(999_999)}\n`;
    for (let count = 0; count < flags.count && !this.output.readerLeft; count += 1) await this.output.data(line);
    if (this.output.readerLeft) this.output.failure('stopped');
  }

  async notices(flags) {
    for (let count = 0; count < flags.count; count += 1) this.output.notice('kind', `notice ${count}`);
    this.output.failure(`counted ${this.output.noticeCounts().get('kind')}`);
  }

  /** Waits for the signal, and takes `wait` to save. */
  async save(flags) {
    this.output.failure('ready');
    const { signal } = this.interrupt;
    await new Promise((resolve) => {
      const alive = setInterval(() => {}, 1000);
      signal.addEventListener('abort', () => setTimeout(resolve, flags.wait, clearInterval(alive)));
    });
    await this.output.document({ schema: 'prl.probe/1', saved: true });
    this.finish(0);
  }

  /** Passes the signal on, as something that is aborted does. */
  async abort() {
    this.output.failure('ready');
    const { signal } = this.interrupt;
    const alive = setInterval(() => {}, 1000);
    await new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason));
    }).finally(() => clearInterval(alive));
  }

  async stuck() {
    this.output.failure('ready');
    await forever();
  }
}
