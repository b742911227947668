/** What reports say of records that are legal but odd (demand I8): how many, and where the first is. */
import type { OddityKind } from '../core/index/segment-types.js';
import { labelled, type TableFormat } from './damage-lines.js';
import type { StreamEntry } from './index-document.js';

/** After `3 records with …`. */
const TEXTS: Readonly<Record<OddityKind, string>> = {
  duplicate_key: 'a key twice in one object; the last one counts',
  non_finite: 'NaN or Infinity; rows have null for it',
  lone_surrogate: 'half a surrogate pair; kept as it stands',
  odd_value: 'a value of an odd type; read as if it were not there',
  odd_parent: 'parents that lead nowhere or in a circle',
  deep_nesting: 'brackets nested more than 10,000 deep',
};

export function oddityLines({ oddities, oddity_counts: counts }: StreamEntry, { format }: TableFormat): string[] {
  return (Object.entries(counts) as [OddityKind, number][]).map(([kind, count]) => {
    const records = count === 1 ? '1 record' : `${format.count(count)} records`;
    const first = oddities.find((oddity) => oddity.kind === kind);
    const place =
      first === undefined ? '' : `; the first in chunk ${first.chunk} at offset ${format.count(first.offset)}`;
    return labelled('odd', `${records} with ${TEXTS[kind]} (${kind})${place}`);
  });
}
