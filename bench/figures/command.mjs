/** Runs of `prl index` as a user starts it, under GNU time where that is installed. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const PRL = fileURLToPath(new URL('../../bin/run.js', import.meta.url));
const DECOMPRESS = fileURLToPath(new URL('./decompress.mjs', import.meta.url));
const GNU_TIME = '/usr/bin/time';

/**
 * One run of the command over `run`, rows to `out`.
 * @returns seconds as the command counts them, `wallSeconds` with the start of Node, two readings of peak memory,
 *   and the processor time of all its threads
 */
export function indexRun(run, out, flags = []) {
  const command = [process.execPath, PRL, 'index', run, '--out', out, '--json', ...flags];
  const start = process.hrtime.bigint();
  const { stdout, peakBytes, cpuSeconds } = runMeasured(command);
  const wallSeconds = Number(process.hrtime.bigint() - start) / 1e9;
  const document = JSON.parse(stdout);
  const [stream] = document.streams;
  return {
    wallSeconds,
    seconds: document.seconds,
    bytes: stream.bytes,
    episodes: stream.episodes,
    rows: stream.rows_written,
    peakRssBytes: document.peak_rss_bytes,
    peakBytes,
    cpuSeconds,
  };
}

/** Seconds of decompressing a sealed chunk and doing nothing else. */
export function decompressionSeconds(chunk, threads) {
  const { stdout } = runMeasured([process.execPath, DECOMPRESS, chunk, String(threads)]);
  return JSON.parse(stdout).seconds;
}

/** Peak memory and processor time as GNU time reads them, null without it. */
function runMeasured(command) {
  const hasTime = existsSync(GNU_TIME);
  const [program, ...rest] = hasTime ? [GNU_TIME, '-f', '%M %U %S', ...command] : command;
  const { status, stdout, stderr } = spawnSync(program, rest, { encoding: 'utf8', maxBuffer: 2 ** 28 });
  if (status !== 0) throw new Error(`${command.join(' ')} ended with ${status}:\n${stdout}${stderr}`);
  if (!hasTime) return { stdout, peakBytes: null, cpuSeconds: null };
  const [kibibytes, user, system] = stderr.trim().split('\n').at(-1).split(' ').map(Number);
  return { stdout, peakBytes: kibibytes * 1024, cpuSeconds: user + system };
}
