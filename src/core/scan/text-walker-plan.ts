/** What the TypeScript walker looks for: the paths of record-tape.ts as a tree of places, with keys found by their bytes. */
import { FIELD, UNIT_KEYS } from './record-tape.js';

/** An escape makes a character of a key at most six bytes. */
const ESCAPED_BYTES = 6;

/** Slots of a key table: several times the keys of the largest, so that most look-ups end at the first. */
const SLOTS = 256;

const BACKSLASH = 0x5c;

const ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};

type PlaceOptions = {
  /** An object there is walked. */
  readonly members?: KeyTable;
  /** An array there is walked, each element at this place. */
  readonly element?: Place;
  /** Field that marks the end of such an array. */
  readonly endField?: number;
  /** The elements of an array there are counted. */
  readonly isCounted?: boolean;
  /** An object there is captured as text. */
  readonly isRaw?: boolean;
};

/** Where a value can stand, and what is done with it. */
export class Place {
  /** Its field on the tape; 0 when it is not wanted. */
  readonly field: number;
  readonly members: KeyTable | null;
  readonly element: Place | null;
  /** 0 when the end of the array leaves no entry. */
  readonly endField: number;
  readonly isCounted: boolean;
  readonly isRaw: boolean;

  constructor(field: number, options: PlaceOptions = {}) {
    this.field = field;
    this.members = options.members ?? null;
    this.element = options.element ?? null;
    this.endField = options.endField ?? 0;
    this.isCounted = options.isCounted ?? false;
    this.isRaw = options.isRaw ?? false;
  }
}

/** A key that is looked for. */
export type WantedKey = {
  readonly name: string;
  readonly bytes: Buffer;
  /** UNWANTED for a key that only tells the unit. */
  readonly place: Place;
  /** Its bit of UNIT_KEYS; 0 when it has none. */
  readonly unitBit: number;
};

/** The keys of one object, found without making a string of what was read. */
export class KeyTable {
  readonly #slots: (WantedKey | undefined)[] = new Array(SLOTS).fill(undefined);
  readonly #byName = new Map<string, WantedKey>();
  readonly #longestBytes: number;

  /** `names` must be of two or more ASCII characters. */
  constructor(places: Readonly<Record<string, Place>>, unitKeys: readonly string[] = []) {
    const names = new Set([...Object.keys(places), ...unitKeys]);
    for (const name of names) {
      const unit = unitKeys.indexOf(name);
      const key = {
        name,
        bytes: Buffer.from(name),
        place: places[name] ?? UNWANTED,
        unitBit: unit < 0 ? 0 : 1 << unit,
      };
      this.#byName.set(name, key);
      let slot = slotOf(key.bytes, 0, name.length);
      while (this.#slots[slot] !== undefined) slot = (slot + 1) % SLOTS;
      this.#slots[slot] = key;
    }
    this.#longestBytes = Math.max(...[...names].map((name) => name.length));
  }

  /** The key written in `bytes[start, start + length)` without escapes. A byte behind it must be readable. */
  find(bytes: Uint8Array, start: number, length: number): WantedKey | undefined {
    let slot = slotOf(bytes, start, length);
    for (;;) {
      const key = this.#slots[slot];
      if (key === undefined || isWritten(key.bytes, bytes, start, length)) return key;
      slot = (slot + 1) % SLOTS;
    }
  }

  /** The key that the text between the quotes says; undefined too when an escape in it is none. */
  findEscaped(bytes: Uint8Array, start: number, length: number): WantedKey | undefined {
    if (length > this.#longestBytes * ESCAPED_BYTES) return undefined;
    const name = unescapeKey(bytes, start, start + length);
    return name === null ? undefined : this.#byName.get(name);
  }
}

/** Length and the first two bytes, which are seldom all the same: `name` and `node`, `id` and `ok` differ. */
function slotOf(bytes: Uint8Array, start: number, length: number): number {
  return ((bytes[start] as number) * 7 + (bytes[start + 1] as number) * 31 + length) & (SLOTS - 1);
}

function isWritten(key: Buffer, bytes: Uint8Array, start: number, length: number): boolean {
  if (key.length !== length) return false;
  for (let index = 0; index < length; index += 1) {
    if (key[index] !== bytes[start + index]) return false;
  }
  return true;
}

/** What a key says, byte for character, so that only ASCII comes out right; null when an escape is none. */
function unescapeKey(bytes: Uint8Array, start: number, end: number): string | null {
  let name = '';
  let position = start;
  while (position < end) {
    const byte = bytes[position] as number;
    if (byte !== BACKSLASH) {
      name += String.fromCharCode(byte);
      position += 1;
      continue;
    }
    const kind = String.fromCharCode(bytes[position + 1] as number);
    if (kind === 'u') {
      const digits = String.fromCharCode(...bytes.subarray(position + 2, Math.min(position + 6, end)));
      if (!/^[0-9a-fA-F]{4}$/.test(digits)) return null;
      name += String.fromCharCode(Number.parseInt(digits, 16));
      position += 6;
    } else {
      const character = ESCAPES[kind];
      if (character === undefined) return null;
      name += character;
      position += 2;
    }
  }
  return name;
}

/** A value that leaves nothing on the tape. */
export const UNWANTED = new Place(0);

function value(field: number): Place {
  return new Place(field);
}

function object(field: number, members: Readonly<Record<string, Place>>): Place {
  return new Place(field, { members: new KeyTable(members) });
}

const USAGE = object(FIELD.USAGE, {
  prompt_tokens: value(FIELD.PROMPT_TOKENS),
  completion_tokens: value(FIELD.COMPLETION_TOKENS),
  cached_input_tokens: value(FIELD.CACHED_INPUT_TOKENS),
  cost: value(FIELD.COST),
});

const CALL = object(FIELD.CALL, {
  node: value(FIELD.CALL_NODE),
  finish_reason: value(FIELD.FINISH_REASON),
  error: value(FIELD.CALL_ERROR),
  usage: USAGE,
});

const NODE = object(FIELD.NODE, {
  parent: value(FIELD.PARENT),
  message: object(FIELD.MESSAGE, { role: value(FIELD.ROLE) }),
});

const INFO = object(FIELD.INFO, {
  kind: value(FIELD.INFO_KIND),
  dispatch: object(FIELD.DISPATCH, { time: value(FIELD.DISPATCH_TIME) }),
  arrival: object(FIELD.ARRIVAL, { step: value(FIELD.ARRIVAL_STEP), time: value(FIELD.ARRIVAL_TIME) }),
  advantage: value(FIELD.ADVANTAGE),
  env_name: value(FIELD.INFO_ENV_NAME),
  group_id: value(FIELD.INFO_GROUP_ID),
});

/** What belongs to a trace, inside `traces` or bare at the root. */
const TRACE_MEMBERS = {
  nodes: new Place(FIELD.NODES, { element: NODE }),
  calls: new Place(FIELD.CALLS, { element: CALL }),
  rewards: new Place(FIELD.REWARDS, { isRaw: true }),
  info: INFO,
  stop_condition: value(FIELD.STOP_CONDITION),
  timing: new Place(FIELD.TIMING, { isRaw: true }),
};

const TRACE = object(FIELD.TRACE, { ...TRACE_MEMBERS, id: value(FIELD.TRACE_ID) });

/** The members of a record. */
export const RECORD_MEMBERS = new KeyTable(
  {
    ...TRACE_MEMBERS,
    id: value(FIELD.ID),
    env: object(FIELD.ENV, { id: value(FIELD.ENV_ID), name: value(FIELD.ENV_NAME) }),
    group: object(FIELD.GROUP, { id: value(FIELD.GROUP_ID) }),
    run: object(FIELD.RUN, {
      type: value(FIELD.RUN_TYPE),
      work: object(FIELD.WORK, { type: value(FIELD.WORK_TYPE) }),
    }),
    ok: value(FIELD.OK),
    errors: new Place(FIELD.ERRORS, { element: UNWANTED, isCounted: true }),
    traces: new Place(FIELD.TRACES, { element: TRACE, endField: FIELD.TRACES_END }),
    num_input_tokens: value(FIELD.INPUT_TOKENS),
    num_output_tokens: value(FIELD.OUTPUT_TOKENS),
  },
  UNIT_KEYS,
);
