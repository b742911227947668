/** The upload view, drawn by Ink from one progress at a time; it holds no state of its own but the help. */
import { Box, Text, useInput, useStdin, useStdout } from 'ink';
import { useEffect, useState } from 'react';
import type { UploadProgress } from '../core/snapshot.js';
import type { ViewFormat } from './format.js';
import { glyphsFor } from './parts/glyphs.js';
import { type PlacedSegment, placeRow, type Tone } from './parts/row.js';
import { rowsThatFit, uploadRows } from './upload-rows.js';

export type UploadViewProps = {
  readonly progress: UploadProgress;
  readonly format: ViewFormat;
  readonly version: string;
  /** The window, as it is when this is drawn. */
  readonly columns: number;
  readonly rows: number;
  /** `q`, or Ctrl-C, which raw mode turns into a key: the user wants to stop. */
  readonly onStop: () => void;
  /** Gets a function that writes lines above the view; they stay in the scrollback. */
  readonly onReady: (writeAbove: (lines: string) => void) => void;
};

/** Weight and colour of a tone; colour supports meaning and never carries it alone (demand D8). */
const TONES: Readonly<Record<Tone, { readonly bold?: boolean; readonly dimColor?: boolean; readonly color?: string }>> =
  {
    plain: {},
    strong: { bold: true },
    quiet: { dimColor: true },
    good: { color: 'green' },
    warning: { color: 'yellow' },
    bad: { color: 'red' },
  };

function Row({ segments }: { readonly segments: readonly PlacedSegment[] }) {
  return (
    <Text wrap="truncate-end">
      {segments.map((segment, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a segment is what stands at its place, nothing moves.
        <Text key={index} {...TONES[segment.tone]}>
          {' '.repeat(segment.gap) + segment.text}
        </Text>
      ))}
    </Text>
  );
}

type Drawn = { readonly key: string; readonly segments: readonly PlacedSegment[] };

/** The lines of the view as they are drawn: what fits, in one line less than the window, which a full frame would scroll. */
function drawRows(props: UploadViewProps, state: { readonly hasKeys: boolean; readonly showHelp: boolean }): Drawn[] {
  const { progress, format, version, columns, rows } = props;
  const all = uploadRows({ progress, format, glyphs: glyphsFor(format.ascii), version, ...state });
  return rowsThatFit(all, rows - 1).map(({ key, segments }) => ({
    key,
    segments: placeRow(segments, columns - 1, format),
  }));
}

/** The same text for two states that look the same, so that a frame that would change nothing is not computed. */
export function uploadSignature(props: UploadViewProps): string {
  return JSON.stringify([props.columns, drawRows(props, { hasKeys: true, showHelp: false })]);
}

export function UploadView(props: UploadViewProps) {
  const { onStop, onReady } = props;
  const { isRawModeSupported } = useStdin();
  const { write } = useStdout();
  const [showHelp, setShowHelp] = useState(false);
  useEffect(() => onReady(write), [onReady, write]);
  useInput(
    (input, key) => {
      if (input === 'q' || (key.ctrl && input === 'c')) onStop();
      if (input === '?') setShowHelp((shown) => !shown);
    },
    { isActive: isRawModeSupported },
  );
  return (
    <Box flexDirection="column">
      {drawRows(props, { hasKeys: isRawModeSupported, showHelp }).map(({ key, segments }) => (
        <Row key={key} segments={segments} />
      ))}
    </Box>
  );
}
