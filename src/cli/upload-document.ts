/** The document of `prl upload --json` (cli.md, "prl upload"); schemas/prl.upload-1.json says the same as JSON Schema. */
import type { DamageKind } from '../core/scan/types.js';

/** A line the service or a pre-check refused. `offset` is the uncompressed byte inside the chunk, `line` is 1-based. */
export type RejectedEntry = {
  readonly chunk: number;
  readonly offset: number;
  readonly line: number;
  readonly id: string | null;
  readonly code: string;
  readonly message: string;
};

/** A place that could not be read as a record. */
export type DamagedEntry = {
  readonly file: string;
  readonly chunk: number;
  readonly offset: number;
  readonly bytes: number;
  readonly kind: DamageKind;
  readonly recovered: boolean;
  readonly message: string;
};

/** The result of one run's upload; fields are only ever added. Bytes are uncompressed unless the key says `wire`. */
export type UploadDocument = {
  readonly schema: 'prl.upload/1';
  readonly run: string;
  readonly url: string;
  /** Null when the records name none and none was given (`--no-stamp`). */
  readonly run_id: string | null;
  readonly plan: { readonly episodes: number; readonly bytes: number };
  readonly sent: {
    readonly episodes: number;
    readonly bytes: number;
    readonly wire_bytes: number;
    readonly requests: number;
  };
  readonly already: { readonly episodes: number; readonly bytes: number };
  readonly rejected: readonly RejectedEntry[];
  readonly damaged: readonly DamagedEntry[];
  readonly retries: number;
  readonly seconds: number;
  readonly peak_rss_bytes: number;
  /** Null without `--verify`. */
  readonly verified: { readonly episodes: number; readonly ok: boolean } | null;
  /** True when every planned episode is stored or rejected: nothing is left to send. */
  readonly complete: boolean;
  /** True when the command ended before its work did: a signal, a limit, an unreachable service. */
  readonly partial: boolean;
};
