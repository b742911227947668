/**
 * The only caller of Ink's render. A view is drawn in place on the stream it is given, at most ten times a second from what
 * `read` returns, and is taken away at the end, so that the report that follows stands in the scrollback (demands D5, D7).
 */
import { type Instance, render } from 'ink';
import type { ReactNode } from 'react';
import type { IndexProgress, UploadProgress } from '../core/snapshot.js';
import type { ViewFormat } from './format.js';
import { IndexView, type IndexViewProps, indexSignature } from './index-view.js';
import type { ViewFrame } from './parts/rows-view.js';
import { UploadView, type UploadViewProps, uploadSignature } from './upload-view.js';

/** Milliseconds between two readings, and the least between two frames. */
const FRAME_INTERVAL_MS = 100;

/** A view on the screen. */
export type MountedView = {
  /** Writes a line above the view, at once; it stays when the view goes. */
  print(line: string): void;
  /** Takes the view away, gives the terminal back as it was, and resolves when that is written. */
  end(): Promise<void>;
};

export type MountStreams = {
  /** Where the view is drawn: a terminal. */
  readonly screen: NodeJS.WriteStream;
  /** Where keys come from; without a terminal there are no keys. */
  readonly keyboard: NodeJS.ReadStream;
};

export type MountOptions<Progress> = MountStreams & {
  /** The state of now; called ten times a second, so it has to be cheap. */
  readonly read: () => Progress;
  readonly format: ViewFormat;
  readonly version: string;
  /** The user pressed `q` or Ctrl-C. */
  readonly onStop: () => void;
};

/** Draws the upload view until `end` is called. */
export function mountUpload(options: MountOptions<UploadProgress>): MountedView {
  return mount(options, (frame) => {
    const props: UploadViewProps = { progress: options.read(), version: options.version, ...frame };
    return { signature: uploadSignature(props), node: <UploadView {...props} /> };
  });
}

/** Draws the view of an indexing until `end` is called. */
export function mountIndex(options: MountOptions<IndexProgress>): MountedView {
  return mount(options, (frame) => {
    const props: IndexViewProps = { progress: options.read(), version: options.version, ...frame };
    return { signature: indexSignature(props), node: <IndexView {...props} /> };
  });
}

/** A view of this moment; two with the same signature look the same. */
type View = { readonly signature: string; readonly node: ReactNode };

/** Columns and rows of a terminal that does not tell them. */
const USUAL_WINDOW = { columns: 80, rows: 24 };

function mount<Progress>(options: MountOptions<Progress>, view: (frame: ViewFrame) => View): MountedView {
  const { screen, keyboard, format, onStop } = options;
  const writePlainly = (lines: string): void => {
    screen.write(lines);
  };
  // Ink's own write, once it draws, keeps the frame below what is written.
  let writeAbove = writePlainly;
  const onReady = (write: (lines: string) => void): void => {
    writeAbove = write;
  };
  const look = (): View => {
    const { columns = USUAL_WINDOW.columns, rows = USUAL_WINDOW.rows } = screen;
    return view({ format, columns, rows, onStop, onReady });
  };
  let shown = look();
  const redraw = (): void => {
    const next = look();
    // A frame costs Ink 5 ms, an unchanged one as much as any other.
    if (next.signature === shown.signature) return;
    shown = next;
    instance.rerender(next.node);
  };
  // Before Ink's own listener, which draws what it has: the old frame may be higher than the new window.
  screen.on('resize', redraw);
  const instance: Instance = render(shown.node, {
    stdout: screen,
    stdin: keyboard,
    stderr: screen,
    // Ctrl-C is a stop that saves state, not Ink's to handle.
    exitOnCtrlC: false,
    // Whoever chose the live view has decided about CI already.
    interactive: true,
    maxFps: 1000 / FRAME_INTERVAL_MS,
    incrementalRendering: true,
  });
  const timer = setInterval(redraw, FRAME_INTERVAL_MS);
  return {
    print: (line) => writeAbove(`${line}\n`),
    end: async () => {
      clearInterval(timer);
      screen.off('resize', redraw);
      instance.clear();
      instance.unmount();
      writeAbove = writePlainly;
      await instance.waitUntilExit();
    },
  };
}
