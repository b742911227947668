/** Why a line is no record, for reports: used where the line is too long to be looked at a second time in one piece. */
import type { DamageKind } from '../scan/types.js';
import { FAULT, type Fault, type RecordWalker } from '../scan/walker.js';
import type { RowFault } from './segment-types.js';

const FAULT_TEXTS: Readonly<Record<Fault, string>> = {
  [FAULT.NONE]: 'no fault',
  [FAULT.TORN]: 'the line ends before its record does',
  [FAULT.CONTROL]: 'a raw control character inside a string',
  [FAULT.BRACKETS]: 'brackets that cross',
  [FAULT.GRAMMAR]: 'no value, key or separator where one belongs',
  [FAULT.TRAILING]: 'bytes after the end of the value',
  [FAULT.NUL]: 'NUL bytes, as a power loss or preallocation leaves them',
  [FAULT.DEPTH]: 'brackets nested too deep',
  [FAULT.NOT_OBJECT]: 'no object where a record begins',
};

/** Says in words and by kind what a walker found. */
export function faultOf({ fault, faultOffset }: RecordWalker): RowFault {
  return { kind: kindOfFault(fault), reason: `${FAULT_TEXTS[fault]}, at byte ${faultOffset}` };
}

function kindOfFault(fault: Fault): DamageKind {
  if (fault === FAULT.TORN) return 'torn';
  if (fault === FAULT.NUL) return 'nul';
  return fault === FAULT.TRAILING ? 'trailing' : 'invalid_json';
}
