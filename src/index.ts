/**
 * The public library of prl: encoding episodes, writing, reading and following streams, index rows, the monitors and
 * the parts of the upload pipeline. What is exported here is stable; everything else may change in any version.
 */
export { type EncodePartsOptions, encodeParts, encodeTo, encodeToBuffer } from './core/encode/drivers.js';
export { EncodeError } from './core/encode/encode-error.js';
export type { EncodeStep, RecordEncoder, RecordEncoderOptions } from './core/encode/record-encoder.js';
export { EPISODE_RULES, type MemberRule, type ModelRule, TRACE_RULES } from './core/encode/record-rules.js';
export { type RunInfo, recordRun, type WorkInfo } from './core/encode/record-run.js';
export { Slices } from './core/encode/slices.js';
export type { EncodedPart, Pace } from './core/encode/types.js';
export { PrlError, type PrlErrorCode, type PrlErrorOptions } from './core/errors.js';
export { annotationRow } from './core/index/annotation-row.js';
export type { DifferenceKind, IndexComparison, RowDifference } from './core/index/compare.js';
export type { EpisodeRow, RowFacts, RowSelector } from './core/index/episode-row.js';
export { type IndexRecordOptions, indexRecord, indexRecordSteps, RecordIndexer } from './core/index/index-record.js';
export type { IndexOutcome, StreamOutcome } from './core/index/outcome.js';
export type { Damage, DamageKind, FramedLine, LineFormat, RecordUnit, StreamRecord } from './core/scan/types.js';
export { validateJson } from './core/scan/validate.js';
export { type LineFacts, readFacts } from './core/stream/facts.js';
export { type RunStamp, runIdOf, stampRun } from './core/stream/stamp.js';
export { type BatchesOptions, batchesOf } from './core/upload/batches.js';
export type { UploadOutcome, UploadPlan } from './core/upload/outcome.js';
export type {
  Attempt,
  Batch,
  BatchLine,
  BatchRange,
  Clock,
  PackedBatch,
  Receipt,
  RejectedLine,
  Sender,
  UploadJournal,
} from './core/upload/types.js';
export { UploadMemory, type UploadMemoryOptions } from './core/upload/upload-memory.js';
export { Uploader, type UploaderOptions, type UploaderSnapshot, type UploadResult } from './core/upload/uploader.js';
export { readRange } from './io/chunk-range.js';
export { monotonicClock } from './io/clock.js';
export { createEncoder } from './io/encoder.js';
export { followRecords } from './io/follow-run.js';
export type { FollowEvent, FollowOptions, FollowPlace } from './io/follow-types.js';
export { eventLoopPace } from './io/pace.js';
export { type PackOptions, packBatch } from './io/pack.js';
export { type OpenRunOptions, openRun } from './io/run.js';
export { type IndexTarget, RunIndex, type RunIndexOptions } from './io/run-index.js';
export { type ReadRecordsOptions, type RunEvent, readRecords } from './io/run-records.js';
export type { ChunkFile, Run, RunLayout } from './io/run-types.js';
export { RunUpload } from './io/run-upload.js';
export type { RunUploadOptions } from './io/run-upload-options.js';
export { createSender, type HttpSender, type ServiceAccess } from './io/sender.js';
export type {
  RecordPlace,
  StreamLine,
  StreamNotice,
  StreamSnapshot,
  StreamWriterOptions,
} from './io/stream-types.js';
export { StreamWriter } from './io/stream-writer.js';
export { FileMonitor } from './monitor/file-monitor.js';
export { LogError } from './monitor/log-error.js';
export type { Metrics } from './monitor/metrics-row.js';
export { FILE_MONITOR_DEFAULTS, type FileMonitorOptions } from './monitor/monitor-settings.js';
export type {
  AnnotationUpdate,
  EpisodeKind,
  LoggedRecord,
  LogOptions,
  LogReceipt,
  MonitorNotice,
  MonitorRun,
  MonitorSnapshot,
  RefusedRecord,
} from './monitor/monitor-types.js';
export { PrimeMonitor } from './monitor/prime-monitor.js';
export { PRIME_MONITOR_DEFAULTS, type PrimeMonitorOptions } from './monitor/prime-settings.js';
export type { FinishReport, PrimeCounts, PrimeNotice, PrimeSnapshot, PrimeState } from './monitor/prime-types.js';
