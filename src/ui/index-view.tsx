/** The view of an indexing, drawn from one progress at a time. */
import type { IndexProgress } from '../core/snapshot.js';
import { indexRows } from './index-rows.js';
import { glyphsFor } from './parts/glyphs.js';
import { type KeyState, RowsView, rowsSignature, type ViewFrame } from './parts/rows-view.js';
import type { ViewRow } from './parts/view-rows.js';

export type IndexViewProps = ViewFrame & { readonly progress: IndexProgress; readonly version: string };

function draw({ progress, format, version }: IndexViewProps, state: KeyState): ViewRow[] {
  return indexRows({ progress, format, glyphs: glyphsFor(format.ascii), version, ...state });
}

/** The same text for two states that look the same. */
export function indexSignature(props: IndexViewProps): string {
  return rowsSignature(draw(props, { hasKeys: true, showHelp: false }), props);
}

export function IndexView(props: IndexViewProps) {
  return <RowsView frame={props} draw={(state) => draw(props, state)} />;
}
