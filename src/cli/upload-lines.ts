/** The plain-line form of the upload view (screens.md, "Plain lines"): the same figures, one line at a time. */
import type { UploadProgress, UploadSnapshot } from '../core/snapshot.js';
import type { Format } from './format.js';

/** The first line, before anything is sent: what goes where, and how much it is as far as that is known (demands C7, P7). */
export function uploadIntro(snapshot: UploadSnapshot, format: Format): string {
  const runId = snapshot.runId === null ? 'the run its records name' : `run ${format.text(snapshot.runId)}`;
  const team = snapshot.team === null ? 'none' : format.text(snapshot.team);
  const where = `uploading ${format.text(snapshot.run)} to ${format.text(snapshot.url)} as ${runId} (team ${team})`;
  const { bytes, chunks, estimatedEpisodes } = snapshot.plan;
  const count = estimatedEpisodes === null ? '' : `about ${counted(estimatedEpisodes, 'episode', format)}, `;
  return bytes === 0 ? where : `${where}: ${count}${format.size(bytes)} in ${counted(chunks, 'chunk', format)}`;
}

function counted(count: number, noun: string, format: Format): string {
  return `${format.count(count)} ${noun}${count === 1 ? '' : 's'}`;
}

/** How far the phase is, e.g. `412/1000 episodes`. */
function phaseCount(progress: UploadProgress, format: Format): string {
  const { phase, plan, sent, already, verify } = progress;
  if (phase === 'plan') {
    const known = plan.episodes ?? plan.estimatedEpisodes;
    const total =
      known === null
        ? 'counting episodes'
        : `${plan.episodes === null ? 'about ' : ''}${counted(known, 'episode', format)}`;
    return `${total} in ${counted(plan.chunks, 'chunk', format)}`;
  }
  // Behind the last of them things are closed; nobody is told that the upload is where it was before.
  if (verify !== null && (phase === 'verify' || (phase === 'done' && verify.done > 0))) {
    return `verified ${format.count(verify.done)}/${format.count(verify.total)} episodes`;
  }
  const done = sent.episodes + already.episodes;
  if (plan.episodes !== null) return `${format.count(done)}/${format.count(plan.episodes)} episodes`;
  if (plan.estimatedEpisodes === null) return counted(done, 'episode', format);
  // An index that lags behind its stream must not show more done than there is.
  return `${format.count(done)}/~${format.count(Math.max(done, plan.estimatedEpisodes))} episodes`;
}

/** Why nothing is sent at the moment, or nothing. */
function waitingText(progress: UploadProgress, format: Format): string[] {
  const { waiting } = progress;
  if (waiting === null) return [];
  const why = waiting.asked ? 'it asked' : format.text(waiting.code ?? 'no answer');
  return [`waiting for the service until ${format.clock(waiting.untilAtMs)} (${why})`];
}

/** How far behind a growing run the upload is, or nothing. */
function backlogText({ backlog, phase }: UploadProgress, format: Format): string[] {
  if (backlog === null) return [];
  const { rows, bytes, ageMs, unreadBytes, writer } = backlog;
  const isWaiting = phase === 'following' && rows === 0 && unreadBytes === 0;
  const age = rows === 0 ? '' : `, oldest ${format.remaining(ageMs)}`;
  const behind = `backlog ${format.count(rows)} (${format.size(bytes)}${age})`;
  return [
    isWaiting ? 'waiting for new episodes' : behind,
    ...(unreadBytes === 0 ? [] : [`not read ${format.size(unreadBytes)}`]),
    ...(writer === null ? [] : [`writer ${writer}`]),
  ];
}

/** One line saying where the upload is. */
export function uploadLine(progress: UploadProgress, format: Format): string {
  const { sent, queued, inFlight, bytesPerSecond, remainingMs } = progress;
  return [
    `${format.clock(progress.takenAtMs)} upload`,
    phaseCount(progress, format),
    format.size(progress.phase === 'plan' ? progress.plan.bytes : sent.bytes),
    bytesPerSecond === null ? '-' : format.rate(bytesPerSecond),
    `queue ${format.count(queued.episodes)} (${format.size(queued.bytes)})`,
    `in flight ${inFlight.requests}${inFlight.limit === null ? '' : ` of ${inFlight.limit}`}`,
    ...(progress.leftOut === null ? [] : [`left out ${format.count(progress.leftOut)}`]),
    `rejected ${format.count(progress.rejected.count)}`,
    `damaged ${format.count(progress.damaged)}`,
    `retries ${format.count(progress.retries)}`,
    remainingMs === null ? 'eta -' : `eta ${format.remaining(remainingMs)}`,
    ...backlogText(progress, format),
    ...waitingText(progress, format),
  ].join('  ');
}
