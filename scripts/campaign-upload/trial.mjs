/**
 * One trial of the campaign: a run that changes, an upload that is killed, a service in trouble; then everything calms
 * down, the upload is run until it is done, and the service has to hold each line once. All of it follows from the seed,
 * but for the moments that the machine adds.
 */
import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import '../../test/helpers/typescript-hooks.mjs';
import { compare, storedDigests } from './read-back.mjs';
import { RunFiles } from './run-files.mjs';
import { Service } from './service.mjs';

const { seededRandom } = await import('../../test/helpers/generated-run.ts');

/** Calls at which an upload is killed, and up to which of their kind. */
const CALLS = [
  ['fdatasync', 30],
  ['write', 300],
  ['writev', 60],
  ['openat', 60],
  ['pread64', 60],
  ['link', 1],
  ['unlink', 2],
  ['connect', 10],
];
const FAULTS = [
  { name: 'lost-response', serve: 'lost-response=30%' },
  { name: 'errors', serve: 'errors=10%' },
  { name: 'storm', serve: 'storm=1s' },
  { name: 'latency', serve: 'latency=30ms' },
  { name: 'resets', serve: null },
  { name: 'restarts', serve: null },
];
/** Uploads that calm down at the end; each may still give up on a service that is in trouble. */
const MOST_RERUNS = 20;
/** An upload takes a second or two; one that takes so long is stuck, and is a failure. */
const STUCK_MS = 90_000;

export class Trial {
  #random;
  #mostKills;
  #prl;
  #folder;
  #runId;
  #run;
  #service;
  #flags;
  #isSpoiled;
  /** What happened, for whoever has to find out why it went wrong. */
  log = [];
  counts = { uploads: 0, kills: 0, gaveUp: 0, restarts: 0, resets: 0, episodes: 0, spoiled: 0 };

  constructor({ seed, mostKills, prl, folder }) {
    this.#mostKills = mostKills;
    this.#random = seededRandom(seed);
    this.#prl = prl;
    this.#folder = folder;
    this.#runId = `campaign-${seed}`;
  }

  /** @throws Error that says what the service holds and should not, or the other way round */
  async run() {
    const faults = FAULTS.filter(() => this.#random() < 0.4);
    const has = (name) => faults.some((fault) => fault.name === name);
    this.#isSpoiled = this.#random() < 0.2;
    this.#flags = this.#pickFlags();
    this.#log(`faults: ${faults.map(({ name }) => name).join(', ') || 'none'}; flags: ${this.#flags.join(' ')}`);
    this.#run = new RunFiles(join(this.#folder, 'run'), this.#runId, this.#random);
    this.#run.append(10 + Math.floor(this.#random() * 50));
    const data = join(this.#folder, 'data');
    mkdirSync(data);
    this.#service = new Service({
      prl: this.#prl,
      data,
      faults: faults.flatMap(({ serve }) => serve ?? []),
      cuts: has('resets') ? 0.6 : 0,
      random: this.#random,
    });
    await this.#service.start();
    try {
      const kills = 1 + Math.floor(this.#random() * this.#mostKills);
      for (let round = 0; round < kills; round += 1) {
        await Promise.all([this.#killedUpload(), has('restarts') ? this.#restart() : null]);
        this.#change();
      }
      this.#service.calm();
      this.#run.complete();
      await this.#finish(data);
      // Whatever happened, what comes next still flows.
      this.#run.append(1);
      await this.#finish(data);
    } finally {
      await this.#service.stop();
      Object.assign(this.counts, this.#service.counts, { episodes: this.#run.digests.length });
    }
  }

  #pickFlags() {
    const concurrency = this.#pick([[], ['--concurrency', '1'], ['--concurrency', '2'], ['--concurrency', '8']]);
    return [
      ...['--batch', this.#pick(['20KB', '60KB', '200KB', '1MB'])],
      ...concurrency,
      ...this.#pick([[], ['--compress', 'none']]),
    ];
  }

  async #killedUpload() {
    const kind = this.#pick(['call', 'call', 'moment', 'follow']);
    if (kind === 'call') {
      const [call, most] = this.#pick(CALLS);
      const when = 1 + Math.floor(this.#random() * most);
      const inject = ['-e', `trace=${call}`, '-e', `inject=${call}:signal=SIGKILL:when=${when}`];
      const strace = ['strace', '-f', '-qq', '-o', '/dev/null', ...inject];
      return this.#note(`SIGKILL at ${call} ${when}`, await this.#upload([], { wrapper: strace }));
    }
    const killAfterMs = 150 + this.#random() * 1_200;
    const isFollowed = kind === 'follow';
    const ended = this.#upload(isFollowed ? ['--follow'] : [], { killAfterMs });
    for (let passedMs = 0; isFollowed && passedMs < killAfterMs; passedMs += 100) {
      await sleep(100);
      this.#run.append(Math.floor(this.#random() * 3));
    }
    this.#note(`SIGKILL after ${Math.round(killAfterMs)} ms of ${kind}`, await ended);
  }

  async #restart() {
    await sleep(200 + this.#random() * 800);
    await this.#service.restart(this.#random() * 500);
    this.#log('service restarted');
  }

  /** What happens to a run, and to what is kept of its upload, between two uploads. */
  #change() {
    const change = this.#pick(['append', 'append', 'tear', 'seal', 'nothing']);
    if (change === 'append') this.#run.append(1 + Math.floor(this.#random() * 8));
    if (change === 'tear') this.#run.tear();
    if (change === 'seal') this.#run.seal();
    this.#log(`run: ${change}`);
    if (!this.#isSpoiled || this.#random() < 0.5) return;
    this.counts.spoiled += 1;
    this.#log(`journal: ${this.#run.spoilJournal()}`);
  }

  /** Uploads until that is done, and compares. */
  async #finish(data) {
    for (let rerun = 0; ; rerun += 1) {
      const ended = await this.#upload([], { killAfterMs: null });
      this.#note('to its end', ended);
      if (ended.status === 5 && rerun < MOST_RERUNS) continue;
      if (ended.status !== 0 && ended.status !== 3)
        throw new Error(`upload ended with ${ended.status}: ${ended.stderr}`);
      this.#judge(JSON.parse(ended.stdout), compare(this.#run.digests, storedDigests(data, this.#runId)));
      return;
    }
  }

  #judge({ plan, sent, already, rejected, damaged, complete }, { missing, alien, twice }) {
    const { records, refused, damaged: broken, digests } = this.#run;
    const settled = sent.episodes + already.episodes;
    const told = `told: ${settled} stored of ${plan.episodes}, ${rejected.length} rejected, ${damaged.length} damaged, complete ${complete}`;
    const truth = `true: ${digests.length} stored of ${records}, ${refused} refused, ${broken} damaged`;
    const isTrue =
      settled === digests.length &&
      plan.episodes === records &&
      rejected.length === refused &&
      damaged.length === broken;
    if (missing + alien + twice > 0 || !isTrue || !complete)
      throw new Error(`${missing} missing, ${alien} that nobody wrote, ${twice} more than once; ${told}; ${truth}`);
  }

  #note(what, { status, signal }) {
    this.counts.uploads += 1;
    if (signal === 'SIGKILL') this.counts.kills += 1;
    if (status === 5) this.counts.gaveUp += 1;
    this.#log(`upload, ${what}: ${signal ?? status}`);
  }

  #log(line) {
    this.log.push(line);
  }

  #pick(choices) {
    return choices[Math.floor(this.#random() * choices.length)];
  }

  /** `wrapper` is put before the command; `killAfterMs` null lets it end. */
  async #upload(flags, { wrapper = [], killAfterMs = null }) {
    const command = [
      ...wrapper,
      ...[process.execPath, this.#prl, 'upload', this.#run.directory],
      ...['--url', this.#service.url, '--json', ...this.#flags, ...flags],
    ];
    const [program, ...args] = command;
    const child = spawn(program, args, {
      env: {
        PATH: process.env.PATH,
        HOME: this.#folder,
        PRL_STATE_DIR: join(this.#folder, 'state'),
        PRIME_API_KEY: 'campaign',
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const texts = { stdout: [], stderr: [] };
    for (const name of ['stdout', 'stderr']) child[name].on('data', (part) => texts[name].push(part));
    let isStuck = false;
    const killer = setTimeout(() => {
      isStuck = killAfterMs === null;
      child.kill('SIGKILL');
    }, killAfterMs ?? STUCK_MS);
    const [status, signal] = await new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (...how) => resolve(how));
    });
    clearTimeout(killer);
    if (isStuck) throw new Error(`an upload did not end within ${STUCK_MS} ms`);
    const text = (name) => Buffer.concat(texts[name]).toString('utf8');
    return { status, signal, stdout: text('stdout'), stderr: text('stderr') };
  }
}
