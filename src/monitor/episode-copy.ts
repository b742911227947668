/**
 * A copy of an episode that its producer can no longer change, for callers that go on working with what they logged.
 * Pure. No recursion: the depth is the caller's, and so is a value that holds itself, which the copy then does as well.
 */
import { isTypedList, oddityOf } from '../core/encode/odd-values.js';

/** A list or an object whose members are still the caller's. */
type Container = unknown[] | Record<string, unknown>;

const { isRawJSON } = JSON as unknown as { isRawJSON(value: unknown): boolean };

/**
 * Copies every list, typed array and object of plain data; strings are shared, and so is whatever the encoder would
 * refuse, a Date or a function for instance. A list of numbers costs a copy of its memory and a look at each element:
 * 1 to 2 ms for 1 MB of JSON, at a stretch (30 Nov 2026, 2 cores).
 */
export function copyEpisode<E>(episode: E): E {
  const copies = new Map<object, object>();
  const open: Container[] = [];
  const copy = (value: object): object => {
    const known = copies.get(value);
    if (known !== undefined) return known;
    const to = shallowCopy(value);
    copies.set(value, to);
    if (to !== value && !ArrayBuffer.isView(to)) open.push(to as Container);
    return to;
  };
  const root = isObject(episode) ? copy(episode) : episode;
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (Array.isArray(next)) copyElements(next, copy);
    else copyMembers(next, copy);
  }
  return root as E;
}

function copyElements(list: unknown[], copy: (value: object) => object): void {
  for (let index = 0; index < list.length; index += 1) {
    const element = list[index];
    if (isObject(element)) list[index] = copy(element);
  }
}

function copyMembers(members: Record<string, unknown>, copy: (value: object) => object): void {
  for (const key of Object.keys(members)) {
    const member = members[key];
    if (isObject(member)) members[key] = copy(member);
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** The value itself when it is no plain data. */
function shallowCopy(value: object): object {
  if (Array.isArray(value)) return value.slice();
  if (isTypedList(value)) return value.slice();
  return isRawJSON(value) || oddityOf(value) !== null ? value : { ...value };
}
