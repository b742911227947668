/** The upload view, drawn from one progress at a time. */
import type { UploadProgress } from '../core/snapshot.js';
import { glyphsFor } from './parts/glyphs.js';
import { type KeyState, RowsView, rowsSignature, type ViewFrame } from './parts/rows-view.js';
import type { ViewRow } from './parts/view-rows.js';
import { uploadRows } from './upload-rows.js';

export type UploadViewProps = ViewFrame & { readonly progress: UploadProgress; readonly version: string };

function draw({ progress, format, version }: UploadViewProps, state: KeyState): ViewRow[] {
  return uploadRows({ progress, format, glyphs: glyphsFor(format.ascii), version, ...state });
}

/** The same text for two states that look the same. */
export function uploadSignature(props: UploadViewProps): string {
  return rowsSignature(draw(props, { hasKeys: true, showHelp: false }), props);
}

export function UploadView(props: UploadViewProps) {
  return <RowsView frame={props} draw={(state) => draw(props, state)} />;
}
