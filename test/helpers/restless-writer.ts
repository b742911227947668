/**
 * A process that writes a stream in every way that goes wrong and is put right again: in pieces that end anywhere,
 * characters included, with pauses between them; appends that are taken back, to be tried again or given up; torn
 * prefixes ended with one LF; rolls that leave a torn line, move an unfinished one, or follow each other at once; chunks
 * sealed whenever it suits, in the order of upstream. Arguments: the stream directory, how many lines, and a seed.
 * Episodes have the ids 0, 1 and so on. At its end all chunks are sealed, and it prints how many torn lines it left.
 */
import {
  closeSync,
  ftruncateSync,
  openSync,
  readFileSync,
  renameSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { seededRandom } from './generated-run.js';
import { seal } from './seal.js';

const [directory = '', lineCount = '', seed = ''] = process.argv.slice(2);
const random = seededRandom(Number(seed));

const below = (count: number): number => Math.floor(random() * count);
const pathOf = (chunk: number): string => join(directory, `${String(chunk).padStart(5, '0')}.jsonl`);

function episode(id: string): Buffer {
  const text = '漢字🙂 '.repeat(1 + below(random() < 0.05 ? 5_000 : 40));
  return Buffer.from(`{"id":"${id}","env":{"id":"e"},"text":"${text}","errors":[],"traces":[]}\n`);
}

/** A part of a line, one byte or more, that is no whole record. */
const prefixOf = (line: Buffer): Buffer => line.subarray(0, 1 + below(line.length - 2));

let chunk = 0;
let file = openSync(pathOf(chunk), 'w');
let bytes = 0;
let tornLines = 0;
const unsealed: number[] = [];

async function write(part: Buffer): Promise<void> {
  for (let at = 0; at < part.length; ) {
    const end = random() < 0.3 ? part.length : at + 1 + below(part.length - at);
    bytes += writeSync(file, part, at, end - at, bytes);
    at = end;
    if (random() < 0.15) await pause(below(3));
  }
}

async function takeBack(wholeBytes: number): Promise<void> {
  if (random() < 0.5) await pause(below(10));
  ftruncateSync(file, wholeBytes);
  bytes = wholeBytes;
}

/** `prefix`: what the next chunk begins with before anything else happens. */
async function roll(wholeBytes = bytes, prefix: Buffer = Buffer.alloc(0)): Promise<void> {
  const next = openSync(pathOf(chunk + 1), 'w');
  writeSync(next, prefix);
  if (bytes > wholeBytes) await takeBack(wholeBytes);
  closeSync(file);
  unsealed.push(chunk);
  chunk += 1;
  file = next;
  bytes = prefix.length;
}

async function sealOne(): Promise<void> {
  const number = unsealed.shift();
  if (number === undefined) return;
  const path = pathOf(number);
  writeFileSync(`${path}.zst.tmp`, seal(readFileSync(path), { frameBytes: 4096 }));
  if (random() < 0.3) await pause(below(5));
  renameSync(`${path}.zst.tmp`, `${path}.zst`);
  if (random() < 0.3) await pause(below(5));
  unlinkSync(path);
}

/** One line each, with what goes wrong before it is whole. */
const WAYS: readonly (readonly [chance: number, write: (line: Buffer) => Promise<void>])[] = [
  [0.1, async (line) => taking(prefixOf(line), line)],
  [0.05, async (line) => taking(episode('given up').subarray(0, -1), line)],
  [0.03, async (line) => leaving(prefixOf(line), () => write(Buffer.from('\n')), line)],
  [0.02, async (line) => leaving(prefixOf(line), roll, line)],
  [0.03, moving],
  [0.05, async (line) => roll().then(() => write(line))],
];

async function taking(attempt: Buffer, line: Buffer): Promise<void> {
  const wholeBytes = bytes;
  await write(attempt);
  await takeBack(wholeBytes);
  await write(line);
}

async function leaving(torn: Buffer, leave: () => Promise<void>, line: Buffer): Promise<void> {
  tornLines += 1;
  await write(torn);
  await leave();
  await write(line);
}

async function moving(line: Buffer): Promise<void> {
  const wholeBytes = bytes;
  const prefix = prefixOf(line);
  await write(prefix);
  await roll(wholeBytes, prefix);
  await write(line.subarray(prefix.length));
}

for (let index = 0; index < Number(lineCount); index += 1) {
  let dice = random();
  const way = WAYS.find(([chance]) => {
    dice -= chance;
    return dice < 0;
  });
  await (way?.[1] ?? write)(episode(String(index)));
  if (random() < 0.1) await sealOne();
}
closeSync(file);
unsealed.push(chunk);
while (unsealed.length > 0) await sealOne();
console.log(JSON.stringify({ tornLines }));
