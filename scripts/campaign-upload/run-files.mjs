/**
 * A run of a campaign: chunks of a stream from a seed, and what happens to such files while they are uploaded. Keeps the
 * digest of every line that a service must hold in the end, made where the line is made, with nothing of prl's.
 */
import { createHash } from 'node:crypto';
import { appendFileSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import '../../test/helpers/typescript-hooks.mjs';

const { seal } = await import('../../test/helpers/seal.ts');

/** A line that no service takes: its trace begins in the year 2100. */
const FUTURE_S = 4_102_444_800;
const WORDS = ['step', 'reward', 'token', 'ünïcode', '質問', '"quoted"', 'back\\slash', '\n'];

export function digestOf(bytes) {
  return createHash('sha256').update(bytes).digest('hex');
}

export class RunFiles {
  #random;
  #stream;
  #runId;
  #lines = 0;
  #chunk = 0;
  /** Bytes of a line whose first part is in the open chunk and whose rest is not. */
  #rest = null;
  /** Digests of the lines that a service must hold, without their LF. */
  digests = [];
  /** Lines that are refused, and lines that are no records. */
  refused = 0;
  damaged = 0;

  constructor(directory, runId, random) {
    this.directory = directory;
    this.#random = random;
    this.#runId = runId;
    this.#stream = join(directory, 'monitors/file/traces/stream');
    mkdirSync(this.#stream, { recursive: true });
    writeFileSync(this.#path(0), '');
  }

  /** Lines that prl has to account for: stored or refused. */
  get records() {
    return this.digests.length + this.refused;
  }

  /** Appends `count` lines; now and then one that is damaged or refused, and now and then a new chunk. */
  append(count) {
    this.complete();
    for (let index = 0; index < count; index += 1) {
      if (this.#random() < 0.08) this.#roll();
      appendFileSync(this.#path(this.#chunk), this.#anyLine());
    }
  }

  /** Leaves the first part of a line at the end of the open chunk, as a writer does between two writes. */
  tear() {
    this.complete();
    const line = this.#goodLine();
    const at = 1 + Math.floor(this.#random() * (line.length - 1));
    appendFileSync(this.#path(this.#chunk), line.subarray(0, at));
    this.#rest = line.subarray(at);
  }

  /** Writes the rest of a torn line. */
  complete() {
    if (this.#rest !== null) appendFileSync(this.#path(this.#chunk), this.#rest);
    this.#rest = null;
  }

  /** Seals a chunk that is closed, as prime-rl does; a run of one chunk has none. */
  seal() {
    const number = Math.floor(this.#random() * this.#chunk);
    const plain = this.#path(number);
    if (this.#chunk === 0 || this.#isSealed(number)) return;
    writeFileSync(`${plain}.zst`, seal(readFileSync(plain), { frameBytes: 64 * 1024 }));
    rmSync(plain);
    this.sealed.add(number);
  }

  /** Spoils the journal: takes its end, or all of it, or overwrites bytes in its middle. Returns what was done. */
  spoilJournal() {
    const path = join(this.directory, 'monitors/prl/journal');
    let bytes;
    try {
      bytes = readFileSync(path);
    } catch {
      return 'none there';
    }
    const kind = ['lost', 'cut', 'overwritten'][Math.floor(this.#random() * 3)];
    const at = Math.floor(this.#random() * bytes.length);
    if (kind === 'lost') rmSync(path);
    if (kind === 'cut') truncateSync(path, at);
    if (kind === 'overwritten')
      writeFileSync(path, Buffer.concat([bytes.subarray(0, at), Buffer.alloc(bytes.length - at)]));
    return kind;
  }

  sealed = new Set();

  #isSealed(number) {
    return this.sealed.has(number);
  }

  #path(number) {
    return join(this.#stream, `${String(number).padStart(5, '0')}.jsonl`);
  }

  #roll() {
    this.#chunk += 1;
    writeFileSync(this.#path(this.#chunk), '');
  }

  #anyLine() {
    const chance = this.#random();
    if (chance < 0.02) {
      this.damaged += 1;
      return Buffer.from('{"id": "no record", "traces": [\n');
    }
    if (chance < 0.04) {
      this.refused += 1;
      return this.#line({ startS: FUTURE_S });
    }
    return this.#goodLine();
  }

  #goodLine() {
    const line = this.#line({ startS: 1_760_000_000 });
    this.digests.push(digestOf(line.subarray(0, -1)));
    return line;
  }

  /** One in ten is larger than a batch. */
  #line({ startS }) {
    this.#lines += 1;
    const size = this.#random() < 0.1 ? 60_000 + this.#random() * 200_000 : this.#random() ** 3 * 30_000;
    const run = { type: 'train', id: this.#runId, work: { type: 'train', step: this.#lines >> 3 } };
    const id = this.#id();
    const nodes = [];
    for (let bytes = 0; bytes < size; ) {
      const text = WORDS[Math.floor(this.#random() * WORDS.length)].repeat(1 + Math.floor(this.#random() * 40));
      const tokens = Array.from({ length: 50 }, () => Math.floor(this.#random() * 150_000));
      nodes.push({ message: { role: 'user', content: text }, token_ids: tokens });
      bytes += text.length + 350;
    }
    const trace = {
      id: `t-${id}`,
      nodes,
      timing: { start: startS + this.#lines },
      rewards: { score: { score: this.#random(), weight: 1 } },
      run,
    };
    const episode = { id, env: { id: 'campaign' }, run, ok: true, errors: [], traces: [trace] };
    return Buffer.from(`${JSON.stringify(episode)}\n`);
  }

  #id() {
    return digestOf(`${this.#runId} ${this.#lines}`).slice(0, 32);
  }
}
