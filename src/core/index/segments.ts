/**
 * Cuts a chunk into segments that can be scanned apart. A segment owns the lines that begin behind its start and up to
 * its end, the end included; the first one owns the line at 0 as well. So nobody has to know the byte before a
 * segment, which in a sealed chunk lies in another frame.
 */

/** Uncompressed bytes `[start, end)` of one chunk. */
export type Segment = {
  readonly start: number;
  readonly end: number;
  /** Lines that begin before this offset have been settled already; left out: none has. */
  readonly linesFrom?: number;
};

/** Large enough that finding a line's start costs nothing beside it, small enough to spread evenly (scanning.md). */
export const SEGMENT_BYTES = 33_554_432;

/** Sealed segments are longer: each decompresses the frames that its last line reaches into once more. */
export const SEALED_SEGMENT_BYTES = 268_435_456;

/**
 * Segments of about `segmentBytes` over `[0, bytes)`. With `borders`, the ascending offsets at which frames begin,
 * a segment begins at a border. Empty for an empty chunk.
 */
export function cutSegments(bytes: number, segmentBytes: number, borders: readonly number[] | null = null): Segment[] {
  const segments: Segment[] = [];
  let start = 0;
  let border = 0;
  while (start < bytes) {
    let end = start + segmentBytes;
    if (borders !== null) {
      while (border < borders.length && (borders[border] as number) < end) border += 1;
      end = borders[border] ?? bytes;
    }
    // A short rest is not worth a segment of its own.
    if (bytes - end < segmentBytes / 4) end = bytes;
    segments.push({ start, end });
    start = end;
  }
  return segments;
}
