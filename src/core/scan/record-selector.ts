/**
 * What is picked of every record that is read: the keys that tell its unit, and the ids and run identities that an upload
 * needs (core/stream/facts), so that a line is walked once for both.
 */
import { CompiledSelector, type Selector } from './pick.js';
import { UNIT_KEYS } from './record-tape.js';

const RUN_KEYS = { id: true, type: true } as const;
const TRACE_KEYS = { id: true, run: RUN_KEYS, info: { kind: true } } as const satisfies Selector;
const EPISODE_KEYS = { ...TRACE_KEYS, traces: [TRACE_KEYS] } as const satisfies Selector;
const UNIT_ONLY = Object.fromEntries(UNIT_KEYS.map((key) => [key, true as const]));

/** The keys that tell the units apart. */
export const UNIT_SELECTOR = new CompiledSelector(UNIT_ONLY);
/** Ids and run identities of a bare trace. */
export const TRACE_SELECTOR = new CompiledSelector(TRACE_KEYS);
/** Ids and run identities of an episode and of its traces. */
export const EPISODE_SELECTOR = new CompiledSelector(EPISODE_KEYS);
/** All of them. Stricter than `UNIT_SELECTOR`, since it goes into traces: a fault there is no reason to give up the line. */
export const RECORD_SELECTOR = new CompiledSelector({ ...UNIT_ONLY, ...EPISODE_KEYS });
