/** The upload view as rows of segments (screens.md, "prl upload"). */
import type { UploadProgress } from '../core/snapshot.js';
import type { ViewFormat } from './format.js';
import { sparkline } from './parts/bar.js';
import type { Glyphs } from './parts/glyphs.js';
import type { Segment } from './parts/row.js';
import { barSegment, helpRows, keysSegment, type ViewRow } from './parts/view-rows.js';

export type UploadRowsOptions = {
  readonly progress: UploadProgress;
  readonly format: ViewFormat;
  readonly glyphs: Glyphs;
  readonly version: string;
  /** Keys can be read, so they are named. */
  readonly hasKeys: boolean;
  readonly showHelp: boolean;
};

/** Columns of the labels at the left, the blank before and after them included. */
const LABEL_COLUMNS = 9;

function label(text: string, isActive: boolean): Segment {
  return { text: ` ${text}`.padEnd(LABEL_COLUMNS - 1), priority: 100, tone: isActive ? 'strong' : 'quiet' };
}

function headerRow({ progress, format, glyphs, version }: UploadRowsOptions): ViewRow {
  const runId = progress.runId === null ? 'run of its records' : `run ${format.text(progress.runId)}`;
  const team = `(team ${progress.team === null ? 'none' : format.text(progress.team)})`;
  return {
    key: 'header',
    priority: 6,
    segments: [
      { text: ` ${format.text(progress.run)}`, priority: 9, tone: 'strong', shrinkTo: 12 },
      { text: glyphs.arrow, priority: 8, gap: 2 },
      { text: format.text(progress.url), priority: 8, gap: 2, shrinkTo: 16 },
      { text: runId, priority: 7, gap: 2, shrinkTo: 12 },
      { text: team, priority: 5, shrinkTo: 12 },
      { text: `prl ${version}`, priority: 1, gap: 2, tone: 'quiet', atRight: true },
    ],
  };
}

function planRow({ progress, format }: UploadRowsOptions): ViewRow {
  const { plan, phase, leftOut } = progress;
  const { episodes: counted, estimatedEpisodes: estimated } = plan;
  const known = counted ?? estimated;
  const episodes =
    known === null
      ? 'counting episodes'
      : `${counted === null ? 'about ' : ''}${format.count(known)} ${known === 1 ? 'episode' : 'episodes'}`;
  const chunks = `in ${format.count(plan.chunks)} ${plan.chunks === 1 ? 'chunk' : 'chunks'}`;
  const growing = plan.growing === 0 ? '' : `, ${format.count(plan.growing)} still growing`;
  return {
    key: 'plan',
    priority: 3,
    segments: [
      label('plan', phase === 'plan'),
      { text: episodes, priority: 9 },
      { text: format.size(plan.bytes), priority: 8, gap: 3 },
      { text: chunks + growing, priority: 5 },
      ...(leftOut === null ? [] : [{ text: `left out ${format.count(leftOut)}`, priority: 7, gap: 3 }]),
    ],
  };
}

/** `614 / 1,000`, with `~` before an estimate; without any total the count alone. */
function shareText(done: number, { episodes, estimatedEpisodes }: UploadProgress['plan'], format: ViewFormat): string {
  if (episodes !== null) return `${format.count(done)} / ${format.count(episodes)}`;
  // An index that lags behind its stream must not show more done than there is.
  if (estimatedEpisodes !== null) return `${format.count(done)} / ~${format.count(Math.max(done, estimatedEpisodes))}`;
  return `${format.count(done)} ${done === 1 ? 'episode' : 'episodes'}`;
}

function sendRow({ progress, format, glyphs }: UploadRowsOptions): ViewRow {
  const { plan, sent, already, bytesPerSecond, remainingMs, phase } = progress;
  const done = sent.episodes + already.episodes;
  const eta = phase === 'send' && remainingMs !== null ? `eta ${format.remaining(remainingMs)}` : '';
  return {
    key: 'send',
    priority: 9,
    segments: [
      label('send', phase === 'send'),
      barSegment((sent.bytes + already.bytes) / plan.bytes, glyphs),
      { text: shareText(done, plan, format), priority: 9, gap: 2 },
      { text: format.size(sent.bytes), priority: 7, gap: 3 },
      { text: bytesPerSecond === null ? '' : format.rate(bytesPerSecond), priority: 6, gap: 3 },
      { text: eta, priority: 8, gap: 3 },
    ],
  };
}

function queueRow({ progress, format, glyphs }: UploadRowsOptions): ViewRow {
  const { queued, inFlight, budget, queueHistory } = progress;
  const perRequest = inFlight.requests === 0 ? 0 : inFlight.bytes / inFlight.requests;
  const flying = inFlight.requests === 0 ? '0' : `${inFlight.requests} ${glyphs.times} ${format.size(perRequest)}`;
  const limit = inFlight.limit === null ? '' : `limit ${inFlight.limit}`;
  const held = budget === null ? '' : `budget ${format.size(budget.usedBytes)} / ${format.size(budget.budgetBytes)}`;
  return {
    key: 'queue',
    priority: 2,
    segments: [
      label('', false),
      { text: `queue ${format.count(queued.episodes)} episodes`, priority: 8 },
      { text: format.size(queued.bytes), priority: 7, gap: 2 },
      { text: sparkline(queueHistory, 10, glyphs), priority: 3, gap: 2 },
      { text: `in flight ${flying}`, priority: 9, gap: 3 },
      { text: limit, priority: 2, gap: 2, tone: 'quiet' },
      { text: held, priority: 5, gap: 3 },
    ],
  };
}

/** How far behind a growing run the upload is, or that it waits for more; absent where nothing is followed. */
function followRows({ progress, format }: UploadRowsOptions): ViewRow[] {
  const { backlog, phase } = progress;
  if (backlog === null) return [];
  const { rows, bytes, ageMs, unreadBytes, writer } = backlog;
  const behind: Segment[] = [
    { text: `backlog ${format.count(rows)} ${rows === 1 ? 'episode' : 'episodes'}`, priority: 9 },
    { text: format.size(bytes), priority: 8, gap: 2 },
    { text: rows === 0 ? '' : `oldest ${format.remaining(ageMs)}`, priority: 7, gap: 3 },
    { text: unreadBytes === 0 ? '' : `${format.size(unreadBytes)} not read`, priority: 6, gap: 3 },
  ];
  const isWaiting = phase === 'following' && rows === 0 && unreadBytes === 0;
  return [
    {
      key: 'follow',
      priority: 8,
      segments: [
        label('follow', phase === 'following'),
        ...(isWaiting ? [{ text: 'waiting for new episodes', priority: 9 }] : behind),
        {
          text: writer === null ? '' : `writer ${writer}`,
          priority: 5,
          gap: 3,
          tone: writer === 'live' ? 'plain' : 'quiet',
        },
      ],
    },
  ];
}

/** Why nothing is sent at the moment; the time is the last to go. */
function waitingSegments(waiting: UploadProgress['waiting'], format: ViewFormat): Segment[] {
  if (waiting === null) return [];
  const tone = 'warning';
  return [
    { text: 'waiting', priority: 9, gap: 3, tone },
    { text: 'for the service', priority: 3, tone },
    { text: `until ${format.clock(waiting.untilAtMs)}`, priority: 9, tone },
    { text: `(${waiting.asked ? 'it asked' : format.text(waiting.code ?? 'no answer')})`, priority: 6, tone },
  ];
}

function wireRow({ progress, format, glyphs }: UploadRowsOptions): ViewRow {
  const { sent, wireBytesPerSecond, retries, waiting } = progress;
  const rate = wireBytesPerSecond === null ? format.size(sent.wireBytes) : format.rate(wireBytesPerSecond);
  // What is still on its way has no stored bytes to compare with, and what is not compressed is not smaller.
  const times = sent.wireBytes === 0 ? 0 : sent.bytes / sent.wireBytes;
  const ratio = times < 1.05 ? '' : `(${times.toFixed(1)}${glyphs.times} smaller)`;
  return {
    key: 'wire',
    priority: waiting === null ? 5 : 8,
    segments: [
      label('', false),
      { text: `wire ${rate}`, priority: 5 },
      { text: ratio, priority: 4 },
      { text: `retries ${format.count(retries)}`, priority: 8, gap: 3 },
      ...waitingSegments(waiting, format),
    ],
  };
}

function verifyRow({ progress, format, glyphs }: UploadRowsOptions): ViewRow {
  const { verify, phase, remainingMs } = progress;
  const isActive = phase === 'verify';
  if (verify === null) {
    return { key: 'verify', priority: 1, segments: [label('verify', isActive), { text: glyphs.none, priority: 9 }] };
  }
  const eta = isActive && remainingMs !== null ? `eta ${format.remaining(remainingMs)}` : '';
  return {
    key: 'verify',
    priority: isActive ? 9 : 4,
    segments: [
      label('verify', isActive),
      barSegment(verify.done / verify.total, glyphs),
      { text: `${format.count(verify.done)} / ${format.count(verify.total)}`, priority: 9, gap: 2 },
      { text: eta, priority: 8, gap: 3 },
    ],
  };
}

function footerRow({ progress, format, hasKeys }: UploadRowsOptions): ViewRow {
  const { rejected, damaged } = progress;
  const lastCode = rejected.lastCode === null ? '' : `(${format.text(rejected.lastCode)})`;
  return {
    key: 'footer',
    priority: 7,
    segments: [
      { text: ` rejected ${format.count(rejected.count)}`, priority: 9, tone: rejected.count > 0 ? 'bad' : 'plain' },
      { text: lastCode, priority: 4, shrinkTo: 12 },
      { text: `damaged ${format.count(damaged)}`, priority: 8, gap: 3, tone: damaged > 0 ? 'bad' : 'plain' },
      keysSegment(hasKeys),
    ],
  };
}

const HELP = [
  'q or Ctrl-C  stop; what is stored stays stored, the same command continues later',
  'a second one leaves at once, and sends again what was under way',
  '?            this help, on and off',
];

/** All rows of the view, top to bottom. */
export function uploadRows(options: UploadRowsOptions): ViewRow[] {
  return [
    headerRow(options),
    planRow(options),
    sendRow(options),
    queueRow(options),
    wireRow(options),
    ...followRows(options),
    verifyRow(options),
    footerRow(options),
    ...(options.showHelp ? helpRows(HELP) : []),
  ];
}
