/**
 * How many columns of a terminal a text takes, and cutting it to fit (demand C19). Counted in grapheme clusters, as
 * terminals draw them; docs/decisions/0003-text-width.md says why this is ours. The text must have passed `visible`.
 */

/**
 * Clusters that take two columns: East Asian Width W and F of Unicode 16 (UAX 11), blocks taken whole where only
 * unassigned code points lie between, and everything shown as an emoji by default.
 */
const WIDE =
  /^[\p{Emoji_Presentation}\u1100-\u115f\u2329\u232a\u2630-\u2637\u268a-\u268f\u2e80-\u303e\u3041-\u3247\u3250-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6b\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18dff}\u{1aff0}-\u{1b2ff}\u{1d300}-\u{1d376}\u{1f200}-\u{1f265}\u{20000}-\u{3fffd}]/u;

/** A pictograph or keycap asked to be shown as an emoji by the variation selector behind it. */
const MADE_EMOJI = /^[\p{Emoji}]\ufe0f/u;

/** A cluster that is nothing but marks drawn over another: it lands on the column before it. */
const ONLY_MARKS = /^[\p{Mn}\p{Me}]+$/u;

/** A lone regional indicator is a letter in a box; a pair of them is a flag. */
const LONE_REGIONAL_INDICATOR = /^\p{Regional_Indicator}$/u;

/** Spacing marks and halfwidth kana voice marks extend the cluster before them and still take a column of their own. */
const SPACING_TAIL = /(?<=.)[\p{Mc}\uff9e\uff9f]/gu;

const PLAIN_ASCII = /^[\x20-\x7e]*$/;

const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' });

function clusterWidth(cluster: string): number {
  if (ONLY_MARKS.test(cluster)) return 0;
  if (LONE_REGIONAL_INDICATOR.test(cluster)) return 1;
  const first = WIDE.test(cluster) || MADE_EMOJI.test(cluster) ? 2 : 1;
  return first + (cluster.match(SPACING_TAIL)?.length ?? 0);
}

/** Columns of the text, 0 or more. */
export function textWidth(text: string): number {
  if (PLAIN_ASCII.test(text)) return text.length;
  let columns = 0;
  for (const { segment } of segmenter.segment(text)) columns += clusterWidth(segment);
  return columns;
}

/**
 * The text in at most `columns` columns: whole, or cut at a cluster with `ellipsis` in place of the rest. A wide
 * character that would straddle the edge is left out.
 */
export function fitText(text: string, columns: number, ellipsis = '…'): string {
  if (textWidth(text) <= columns) return text;
  const room = columns - textWidth(ellipsis);
  if (room < 0) return '';
  let used = 0;
  let kept = '';
  for (const { segment } of segmenter.segment(text)) {
    used += clusterWidth(segment);
    if (used > room) break;
    kept += segment;
  }
  return kept + ellipsis;
}
