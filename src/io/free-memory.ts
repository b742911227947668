/**
 * Gives memory back at once instead of when the garbage collector comes to it, which it does late for memory outside
 * its heap: large buffers that are made and dropped in a loop would pile up, and each would be memory never touched.
 */

/** Far above what Node takes out of its shared pool; smaller memory may be shared with other buffers. */
const OWN_MEMORY_BYTES = 65_536;

/** Frees the memory of views that nobody uses any more; they are empty afterwards. The memory must be theirs alone. */
export function freeMemory(...views: readonly (Uint8Array | Uint32Array | Float64Array)[]): void {
  for (const { byteLength, buffer } of views) {
    if (byteLength >= OWN_MEMORY_BYTES) (buffer as ArrayBuffer).transfer(0);
  }
}
