/**
 * The records of a producer that keeps no stream: from a bounded queue in memory to a spool on the disk. Bytes on the
 * disk are the queue; memory bridges the moments, or hours, in which the disk takes none, and only then records are
 * dropped.
 */
import { RecordEncoder } from '../core/encode/record-encoder.js';
import type { Arrival } from '../core/encode/record-run.js';
import { Slices } from '../core/encode/slices.js';
import { messageOf, PrlError } from '../core/errors.js';
import { RecordQueue } from '../core/upload/record-queue.js';
import type { CountedAs } from '../core/upload/strikes.js';
import { within } from '../io/patience.js';
import type { ChunkSettlement } from '../io/settlement.js';
import { Spool } from '../io/spool.js';
import type { StreamEnd, UploadBeginning } from '../io/upload-messages.js';
import { wasmModule } from '../io/wasm-modules.js';
import { copyEpisode } from './episode-copy.js';
import type { LogOptions } from './monitor-types.js';
import { episodesAre, WERE } from './prime-report.js';
import type { PrimeSettings } from './prime-settings.js';
import type { PrimeSource, SourceCounts } from './prime-source.js';
import { SpoolPump, type Waiting } from './spool-pump.js';

/** How long it may take to let go of the spool. */
const CLOSE_MS = 1_000;

/** A record on the disk is settled in the queue at once; no write of many is ever formed. */
const ONE_RECORD_BYTES = 1;

export class SpoolSource implements PrimeSource {
  readonly directory: string;
  readonly runId: string;
  readonly #settings: PrimeSettings;
  readonly #nowS: () => number;
  readonly #takesSnapshots: boolean;
  readonly #queue: RecordQueue<Waiting>;
  readonly #pump: SpoolPump;
  #onReady: ((leftUpTo: StreamEnd) => void) | null = null;
  /** Of records that were given up, those that are in the spool. */
  #leftInSpool = 0;
  /** How far the spool is settled. */
  #chunks: ReadonlyMap<number, ChunkSettlement> = new Map();
  #removing: Promise<void> | null = null;
  #isEnded = false;

  /** @param passesBy what records count as that the service will never get */
  constructor(settings: PrimeSettings, passesBy: () => CountedAs | null) {
    const { spoolDirectory, budgetBytes, maxQueuedRecords, run, floatDecimals, pace, spoolBytes, onNotice } = settings;
    this.directory = spoolDirectory;
    this.runId = run.id;
    this.#settings = settings;
    this.#nowS = settings.nowS;
    this.#takesSnapshots = settings.snapshot;
    this.#queue = new RecordQueue({
      budgetBytes,
      maxRecords: maxQueuedRecords,
      writeBytes: ONE_RECORD_BYTES,
      nowMs: settings.nowMs,
      onWarning: ({ records, total }) => onNotice({ kind: 'dropped', message: dropped(records, total, settings) }),
      onWork: () => this.#pump.wake(),
    });
    this.#pump = new SpoolPump({
      queue: this.#queue,
      encoder: new RecordEncoder(wasmModule('encoder'), { floatDecimals }),
      slices: new Slices(pace),
      ...{ run, spoolBytes, passesBy, onNotice, nowMs: settings.nowMs },
      open: () => this.#openSpool(),
      makeRoom: async () => (await this.#pump.spool?.makeRoom(this.#chunks)) === true,
    });
  }

  async open(onReady: (leftUpTo: StreamEnd) => void): Promise<void> {
    this.#onReady = onReady;
    try {
      await this.#pump.open();
    } catch (error) {
      // Another process may be at work with what is there; anything else may pass.
      if (!(error instanceof PrlError) || error.code === 'PRL_ERR_LOCKED') throw error;
      const message = `${messageOf(error)}; episodes wait in memory, and it is tried again`;
      this.#settings.onNotice({ kind: 'spool', message });
    }
  }

  hasEarlier(): boolean {
    return (this.#pump.spool?.earlierBytes ?? 0) > 0;
  }

  adopted({ left }: UploadBeginning): number {
    return left ?? 0;
  }

  log(episodes: readonly unknown[], { kind, step }: LogOptions): boolean {
    const batch = batchOf(episodes, { kind, step, timeS: this.#nowS() });
    const isTaken = this.#queue.submit(batch);
    if (isTaken && this.#takesSnapshots) for (const { record } of batch) record.episode = copyEpisode(record.episode);
    return isTaken;
  }

  async saved(): Promise<StreamEnd | null> {
    this.#pump.hurry();
    const isSettled = await new Promise<boolean>((resolve) => this.#queue.barrier(resolve));
    if (!isSettled) return null;
    return this.#pump.spool?.end ?? { chunk: 0, offset: 0 };
  }

  counts(): SourceCounts {
    const { submitted, admitted, dropped: droppedRecords, afterClose, ...queue } = this.#queue.snapshot();
    return {
      ...{ submitted, admitted, afterClose },
      dropped: droppedRecords,
      inStream: queue.stored + this.#leftInSpool,
      waiting: queue.queuedRecords + queue.unsent + queue.unknown - this.#leftInSpool,
      waitingBytes: queue.queuedBytes,
      refused: queue.rejected,
      failed: queue.failed,
      skipped: queue.skipped,
      spoolBytes: this.#pump.spool?.bytes ?? 0,
    };
  }

  settled(chunks: ReadonlyMap<number, ChunkSettlement>): void {
    this.#chunks = chunks;
    const { spool } = this.#pump;
    if (spool === null) return;
    // While it is at it, what is settled meanwhile can wait for the next time.
    this.#removing ??= spool.removeSettled(chunks).then((hasRemoved) => {
      this.#removing = null;
      if (hasRemoved) this.#pump.hurry();
    });
  }

  close(): void {
    this.#queue.close();
  }

  async end(chunks: ReadonlyMap<number, ChunkSettlement>, patienceMs: number): Promise<void> {
    // A spool that opens only now is for the next monitor to upload.
    this.#onReady = null;
    await this.#pump.stop(patienceMs);
    this.#isEnded = true;
    const { unsent, unknown } = this.#queue.abandon();
    const records = [...unsent, ...unknown.flatMap((write) => write.records)];
    this.#leftInSpool = records.filter(({ record }) => record === 'stored').length;
    // A disk that does not answer must not keep the producer from its end.
    await within(CLOSE_MS, this.#closeSpool(chunks));
  }

  async #closeSpool(chunks: ReadonlyMap<number, ChunkSettlement>): Promise<void> {
    await this.#removing;
    try {
      await this.#pump.spool?.close(chunks);
    } catch (error) {
      this.#settings.onNotice({ kind: 'spool', message: messageOf(error) });
    }
  }

  async #openSpool(): Promise<Spool> {
    const { chunkBytes, onNotice } = this.#settings;
    const spool = await Spool.open(this.directory, {
      chunkBytes,
      onNotice: ({ message }) => onNotice({ kind: 'spool', message }),
    });
    // A disk that answers when nobody waits for it any more.
    if (this.#isEnded) await spool.close(this.#chunks);
    else this.#onReady?.(spool.leftUpTo);
    return spool;
  }
}

type Logged = {
  readonly record: { episode: unknown; readonly arrival: Arrival };
  readonly format: 'episode';
  readonly bytes: null;
};

function batchOf(episodes: readonly unknown[], arrival: Arrival): Logged[] {
  const batch: Logged[] = [];
  for (const episode of episodes) batch.push({ record: { episode, arrival }, format: 'episode', bytes: null });
  return batch;
}

function dropped(records: number, total: number, { budgetBytes, maxQueuedRecords }: PrimeSettings): string {
  const room = `${budgetBytes} bytes and ${maxQueuedRecords} episodes fit into memory`;
  return `${episodesAre(records, WERE)} dropped, ${total} in all: the disk did not take them in time, and ${room}`;
}
