/**
 * Reads one run in a process of its own and prints what it saw as JSON. Arguments: the path, then optionally a user id
 * to become first, because the super-user is refused nothing.
 */
import { openRun } from '../../src/io/run.js';
import { readRecords } from '../../src/io/run-records.js';

const [path = '', userId] = process.argv.slice(2);
if (userId !== undefined) {
  process.setgroups?.([]);
  process.setgid?.(Number(userId));
  process.setuid?.(Number(userId));
}

try {
  const run = await openRun(path);
  const seen = { records: 0, bytes: 0, damage: [] as unknown[] };
  for await (const event of readRecords(run)) {
    if (event.type === 'damage') seen.damage.push(event.damage);
    if (event.type !== 'record') continue;
    seen.records += 1;
    seen.bytes += event.record.length;
  }
  // Kilobytes on Linux, where alone the figure is compared.
  const peakBytes = process.resourceUsage().maxRSS * 1024;
  console.log(JSON.stringify({ layout: run.layout, ...seen, peakBytes }));
} catch (error) {
  const { code, message, hint } = error as { code?: string; message: string; hint?: string };
  console.log(JSON.stringify({ error: { code, message, hint } }));
}
