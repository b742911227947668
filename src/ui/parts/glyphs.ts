/** The symbols of the views, with a form in ASCII for terminals that have nothing else (demand D8). */

export type Glyphs = {
  /** Bar cells from an eighth to full. */
  readonly barSteps: readonly string[];
  readonly barEmpty: string;
  /** Heights of a sparkline, lowest first. */
  readonly sparkSteps: readonly string[];
  readonly arrow: string;
  readonly times: string;
  readonly none: string;
};

const UNICODE: Glyphs = {
  barSteps: ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'],
  barEmpty: ' ',
  sparkSteps: ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'],
  arrow: '→',
  times: '×',
  none: '–',
};

const ASCII: Glyphs = {
  barSteps: ['#'],
  barEmpty: '.',
  sparkSteps: ['_', '.', '-', '=', '#'],
  arrow: '->',
  times: 'x',
  none: '-',
};

export function glyphsFor(ascii: boolean): Glyphs {
  return ascii ? ASCII : UNICODE;
}
