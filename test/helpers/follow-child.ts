/**
 * Follows a run in a process of its own. Arguments: the path, then optionally options as JSON. Prints an event a line,
 * of records and files only what tells them apart; at its end, which is that of its standard input at the latest, the
 * peak of its memory.
 */
import { followRecords } from '../../src/io/follow-run.js';
import type { FollowEvent, FollowOptions } from '../../src/io/follow-types.js';

const [path = '', options = '{}'] = process.argv.slice(2);
const abort = new AbortController();
if (path !== '-') {
  process.stdin.on('end', () => abort.abort());
  process.stdin.resume();
}

function shown(event: FollowEvent): unknown {
  if (event.type === 'file') return { type: 'file', file: event.file.relativePath, isDone: event.summary !== null };
  if (event.type !== 'record') return event;
  const { chunk, offset, length, bytes } = event.record;
  const id = /"id":"([^"]*)"/.exec(bytes.toString('latin1', 0, 200))?.[1];
  return { type: 'record', id, chunk, offset, length };
}

try {
  for await (const event of followRecords(path, { ...(JSON.parse(options) as FollowOptions), signal: abort.signal })) {
    console.log(JSON.stringify(shown(event)));
  }
} catch (error) {
  if (error !== abort.signal.reason) throw error;
}
// Kilobytes on Linux, where alone the figure is compared.
console.log(JSON.stringify({ type: 'end', peakBytes: process.resourceUsage().maxRSS * 1024 }));
