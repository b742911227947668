/**
 * Appends lines of given lengths to a stream, all at once, and prints what became of each. Arguments: the directory,
 * and the lengths, LF included. For what only a process of its own can have: a limit of the file size.
 */
import { StreamWriter } from '../../src/io/stream-writer.js';

const [directory = '', ...lengths] = process.argv.slice(2);
const writer = await StreamWriter.open(directory, { compress: false });
const outcomes = await Promise.allSettled(
  lengths.map((length, index) => writer.append([Buffer.alloc(Number(length) - 1, 97 + index)])),
);
await writer.close();
const told = outcomes.map((outcome) => {
  if (outcome.status === 'fulfilled') return outcome.value;
  const { code, message } = outcome.reason as { code?: string; message: string };
  return { code, message };
});
console.log(JSON.stringify(told));
