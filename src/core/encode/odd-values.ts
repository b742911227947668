/** Objects that are no plain data: typed arrays, which are lists of numbers, and those whose content no key shows. */

/** A typed array: a list of numbers. */
export type TypedList =
  | Int8Array
  | Uint8Array
  | Uint8ClampedArray
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | Float32Array
  | Float64Array
  | BigInt64Array
  | BigUint64Array;

export function isTypedList(value: object): value is TypedList {
  return ArrayBuffer.isView(value) && !(value instanceof DataView);
}

/** Each holds something that `Object.keys` does not list, so that it would silently become `{}`. */
const OPAQUE = [
  Map,
  Set,
  WeakMap,
  WeakSet,
  Date,
  RegExp,
  Error,
  Promise,
  ArrayBuffer,
  SharedArrayBuffer,
  DataView,
  Number,
  String,
  Boolean,
  BigInt,
  Symbol,
] as const;

/** What an object of another prototype than `Object` is, if it is no plain data; null for an instance of a plain class. */
export function oddityOf(value: object): string | null {
  const kind = OPAQUE.find((type) => value instanceof type);
  if (kind !== undefined) return `an object of ${kind.name}, which is no plain data`;
  const { toJSON } = value as { readonly toJSON?: unknown };
  return typeof toJSON === 'function' ? 'an object with toJSON, which is not called' : null;
}
