/** A view made of rows, drawn by Ink, with the keys that all views have; it holds no state of its own but the help. */
import { Box, Text, useInput, useStdin, useStdout } from 'ink';
import { useEffect, useState } from 'react';
import type { ViewFormat } from '../format.js';
import { type PlacedSegment, placeRow, type Tone } from './row.js';
import { rowsThatFit, type ViewRow } from './view-rows.js';

/** What a drawing depends on beside its own state. */
export type ViewFrame = {
  readonly format: ViewFormat;
  /** The window, as it is when this is drawn. */
  readonly columns: number;
  readonly rows: number;
  /** `q`, or Ctrl-C, which raw mode turns into a key: the user wants to stop. */
  readonly onStop: () => void;
  /** Gets a function that writes lines above the view; they stay in the scrollback. */
  readonly onReady: (writeAbove: (lines: string) => void) => void;
};

/** What a view shows of its keys. */
export type KeyState = {
  /** Keys can be read, so they are named. */
  readonly hasKeys: boolean;
  readonly showHelp: boolean;
};

type Drawn = { readonly key: string; readonly segments: readonly PlacedSegment[] };

/** The lines as they are drawn: what fits, in one line less than the window, which a full frame would scroll. */
function placeRows(all: readonly ViewRow[], { format, columns, rows }: ViewFrame): Drawn[] {
  return rowsThatFit(all, rows - 1).map(({ key, segments }) => ({
    key,
    segments: placeRow(segments, columns - 1, format),
  }));
}

/** The same text for two states that look the same, so that a frame that would change nothing is not computed. */
export function rowsSignature(all: readonly ViewRow[], frame: ViewFrame): string {
  return JSON.stringify([frame.columns, placeRows(all, frame)]);
}

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

export type RowsViewProps = {
  readonly frame: ViewFrame;
  readonly draw: (state: KeyState) => readonly ViewRow[];
};

export function RowsView({ frame, draw }: RowsViewProps) {
  const { onStop, onReady } = frame;
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
      {placeRows(draw({ hasKeys: isRawModeSupported, showHelp }), frame).map(({ key, segments }) => (
        <Row key={key} segments={segments} />
      ))}
    </Box>
  );
}
