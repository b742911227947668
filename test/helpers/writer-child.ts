/**
 * A process that writes a stream as upstream does, record by record and each row behind its record, but never stands
 * still: pieces of up to two lines, every two milliseconds, that end at the end of a line, before its LF or in its middle.
 * Arguments: a file of lines, a file of their rows (empty for a writer without an index), the chunk and the index to
 * append to, the bytes to begin with and a seed. Says `ready` once those are there; when its standard input ends, it
 * ends the line at hand and leaves.
 */
import { openSync, readFileSync, writeSync } from 'node:fs';
import { seededRandom } from './generated-run.js';

const [linesPath = '', rowsPath = '', chunkPath = '', indexPath = '', firstBytes = '', seed = ''] =
  process.argv.slice(2);
const lines = readFileSync(linesPath);
const rows = rowsPath === '' ? Buffer.alloc(0) : readFileSync(rowsPath);
const chunk = openSync(chunkPath, 'a');
const index = rowsPath === '' ? null : openSync(indexPath, 'a');
const random = seededRandom(Number(seed));

const MOST_PIECE_BYTES = 4_000;
const PAUSE_MS = 2;

let at = 0;
let rowsAt = 0;
let isEnding = false;

/** Where the line ends that holds the byte before `offset`, LF included. */
function lineEnd(offset: number): number {
  return lines.indexOf('\n', offset - 1) + 1;
}

function appendTo(end: number): void {
  let count = 0;
  for (let lf = lines.indexOf('\n', at); lf >= 0 && lf < end; lf = lines.indexOf('\n', lf + 1)) count += 1;
  writeSync(chunk, lines, at, end - at);
  at = end;
  if (index === null || count === 0) return;
  let rowsEnd = rowsAt;
  for (; count > 0; count -= 1) rowsEnd = rows.indexOf('\n', rowsEnd) + 1;
  writeSync(index, rows, rowsAt, rowsEnd - rowsAt);
  rowsAt = rowsEnd;
}

function appendPiece(): void {
  const end = Math.min(lines.length, at + 1 + Math.floor(random() * MOST_PIECE_BYTES));
  const roll = random();
  const beforeLf = lineEnd(end) - 1;
  appendTo(roll < 0.3 ? beforeLf + 1 : roll < 0.4 && beforeLf > at ? beforeLf : end);
}

function turn(): void {
  if (isEnding) {
    if (at > 0) appendTo(lineEnd(at));
    process.exit(0);
  }
  if (at === lines.length) throw new Error('all lines are written; whoever waits for more growth waits in vain');
  appendPiece();
  setTimeout(turn, PAUSE_MS);
}

process.stdin.on('end', () => {
  isEnding = true;
});
process.stdin.resume();
appendTo(lineEnd(Number(firstBytes)));
console.log('ready');
turn();
