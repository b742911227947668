/** Bars and sparklines as text of an exact width. */
import type { Glyphs } from './glyphs.js';

/**
 * A bar of `columns` columns for a share of 0 to 1. Rounded down, so that it is full only when the share is 1; a share that
 * is not a number (nothing of nothing) draws an empty bar.
 */
export function bar(share: number, columns: number, glyphs: Glyphs): string {
  const { barSteps, barEmpty } = glyphs;
  const filled = Number.isNaN(share) ? 0 : Math.min(1, Math.max(0, share));
  const steps = Math.floor(filled * columns * barSteps.length);
  const whole = Math.floor(steps / barSteps.length);
  const full = (barSteps.at(-1) ?? '').repeat(whole);
  const partial = barSteps[(steps % barSteps.length) - 1] ?? '';
  return (full + partial).padEnd(columns, barEmpty);
}

/** The last values as heights, scaled to the greatest of them; as many columns as values, at most `columns`. */
export function sparkline(values: readonly number[], columns: number, glyphs: Glyphs): string {
  const { sparkSteps } = glyphs;
  const shown = columns > 0 ? values.slice(-columns) : [];
  const greatest = Math.max(...shown, 1);
  return shown.map((value) => sparkSteps[Math.round((value / greatest) * (sparkSteps.length - 1))]).join('');
}
