/** Index rows of annotation updates (spec 04 section 7): the info that came, and where its whole update lies. */
import { CompiledSelector, type Picked, pick } from '../scan/pick.js';
import { findInvalidUtf8 } from '../scan/utf8.js';
import { readTree, writeTree } from './json-tree.js';
import type { RowFault } from './notes.js';
import { RowBuffer } from './row-buffer.js';
import { ValueReader } from './value-reader.js';

const SELECTOR = new CompiledSelector({ trace_id: true, info: true });

/**
 * The row of one update, LF included; or why its line is none. What is copied is printed as orjson does: numbers and
 * strings in their one form, no white space, of a repeated key the last value in the place of the first.
 * @param bytes one line, LF included or not
 * @param place `chunk` null leaves the key out, as in the layout before chunks
 */
export function annotationRow(
  bytes: Buffer,
  place: { readonly chunk: number | null; readonly offset: number },
): Uint8Array | RowFault {
  const result = pick(bytes, SELECTOR);
  if (!result.ok) return { kind: 'invalid_json', reason: result.reason };
  const { members } = result.root;
  if (members === null) return { kind: 'invalid_json', reason: 'no object where a record begins' };
  const invalid = findInvalidUtf8(bytes, 0, bytes.length);
  if (invalid >= 0)
    return { kind: 'invalid_utf8', reason: `bytes that are not UTF-8 at byte ${place.offset + invalid}` };
  const row = new RowBuffer(1024);
  row.writeAscii('{"trace_id":');
  const traceId = members.get('trace_id');
  const idFault = traceId?.kind === 'string' ? writePicked(row, bytes, traceId) : writeText(row, 'null');
  row.writeAscii(place.chunk === null ? '' : `,"chunk":${place.chunk}`);
  row.writeAscii(`,"offset":${place.offset},"info":`);
  const info = members.get('info');
  const infoFault = info?.kind === 'object' ? writePicked(row, bytes, info) : writeText(row, '{}');
  row.writeAscii('}\n');
  return idFault ?? infoFault ?? row.view();
}

function writePicked(row: RowBuffer, bytes: Buffer, { start, end }: Picked): RowFault | null {
  const reader = new ValueReader();
  reader.open(bytes, start, end);
  const tree = readTree(reader);
  if (tree === undefined) return { kind: 'invalid_json', reason: reader.fault ?? 'no value where one belongs' };
  writeTree(row, tree);
  return null;
}

function writeText(row: RowBuffer, text: string): null {
  row.writeAscii(text);
  return null;
}
