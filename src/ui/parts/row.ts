/**
 * One line of a view, made of segments that give way by priority as the window narrows (demand D4): a name is cut before
 * anything is dropped, a number is shown whole or not at all.
 */
import type { ViewFormat } from '../format.js';

export type Tone = 'plain' | 'strong' | 'quiet' | 'good' | 'warning' | 'bad';

export type Segment = {
  readonly text: string;
  /** The lowest is dropped first. */
  readonly priority: number;
  readonly tone?: Tone;
  /** Blank columns before it; default 1. The first of a row has none. */
  readonly gap?: number;
  /** May be cut down to this many columns; only for names. */
  readonly shrinkTo?: number;
  /** Takes spare columns: drawn anew that wide, up to `most`; `text` is the narrowest form. One in a row. */
  readonly stretch?: { readonly most: number; readonly draw: (columns: number) => string };
  /** Pushed to the right edge together with what follows it. */
  readonly atRight?: boolean;
};

/** A segment where it ends up: `gap` blanks, then `text`. */
export type PlacedSegment = { readonly text: string; readonly tone: Tone; readonly gap: number };

type Measure = Pick<ViewFormat, 'width' | 'fit'>;

function gapOf(segment: Segment, index: number): number {
  return index === 0 ? 0 : (segment.gap ?? 1);
}

function rowWidth(segments: readonly Segment[], measure: Measure): number {
  return segments.reduce((sum, segment, index) => sum + gapOf(segment, index) + measure.width(segment.text), 0);
}

function lowestPriority(segments: readonly Segment[]): number {
  return Math.min(...segments.map((segment) => segment.priority));
}

/** Cuts names by the columns that are too many, those of the lowest priority first. */
function shrink(segments: readonly Segment[], excess: number, measure: Measure): Segment[] {
  const shrunk = [...segments];
  let still = excess;
  for (const segment of segments.toSorted((a, b) => a.priority - b.priority)) {
    if (segment.shrinkTo === undefined || still <= 0) continue;
    const before = measure.width(segment.text);
    const text = measure.fit(segment.text, Math.max(segment.shrinkTo, before - still));
    shrunk[segments.indexOf(segment)] = { ...segment, text };
    still -= before - measure.width(text);
  }
  return shrunk;
}

/** The segments that fit into `columns`, with their gaps; their widths and gaps never sum to more. */
export function placeRow(segments: readonly Segment[], columns: number, measure: Measure): PlacedSegment[] {
  let kept = segments.filter((segment) => segment.text !== '');
  while (kept.length > 0) {
    const fitting = shrink(kept, rowWidth(kept, measure) - columns, measure);
    const spare = columns - rowWidth(fitting, measure);
    if (spare >= 0) return stretch(fitting, spare, measure);
    const lowest = lowestPriority(kept);
    kept = kept.filter((segment) => segment.priority !== lowest);
  }
  return [];
}

/** Gives the spare columns to the segment that can use them, and what is left to the gap before the right part. */
function stretch(segments: readonly Segment[], spare: number, measure: Measure): PlacedSegment[] {
  let left = spare;
  const drawn = segments.map((segment) => {
    if (segment.stretch === undefined) return segment;
    const least = measure.width(segment.text);
    const columns = Math.max(least, Math.min(segment.stretch.most, least + left));
    left -= columns - least;
    return { ...segment, text: segment.stretch.draw(columns) };
  });
  return spread(drawn, left);
}

function spread(segments: readonly Segment[], spare: number): PlacedSegment[] {
  const firstAtRight = segments.findIndex((segment) => segment.atRight);
  return segments.map((segment, index) => ({
    text: segment.text,
    tone: segment.tone ?? 'plain',
    gap: gapOf(segment, index) + (index === firstAtRight ? spare : 0),
  }));
}
