/** What a mounted view writes to its terminal: frames when something changed, lines above it, nothing left behind (D5, D9). */
import { PassThrough, Writable } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test, vi } from 'vitest';
import { terminalFormat } from '../../src/cli/format.js';
import type { UploadProgress } from '../../src/core/snapshot.js';
import { mountUpload } from '../../src/ui/mount.js';
import { progressWith } from '../helpers/upload-snapshot.js';

/** A terminal's screen that keeps every byte. */
class Screen extends Writable {
  readonly isTTY = true;
  columns = 100;
  rows = 24;
  bytes = '';
  readonly writes: string[] = [];

  override _write(content: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.bytes += content.toString();
    this.writes.push(content.toString());
    done();
  }
}

/** A terminal's keyboard. */
class Keyboard extends PassThrough {
  readonly isTTY = true;
  isRaw = false;

  setRawMode(isRaw: boolean): this {
    this.isRaw = isRaw;
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }
}

function mounted(read: () => UploadProgress) {
  const screen = new Screen();
  const keyboard = new Keyboard();
  let reads = 0;
  const onStop = vi.fn();
  const view = mountUpload({
    screen: screen as unknown as NodeJS.WriteStream,
    keyboard: keyboard as unknown as NodeJS.ReadStream,
    read: () => {
      reads += 1;
      return read();
    },
    format: terminalFormat({ ascii: false }),
    version: '0.1.0',
    onStop,
  });
  return { screen, keyboard, onStop, view, reads: () => reads };
}

/** The text of what was written, without the sequences that place and paint it. */
function plain(bytes: string): string {
  return stripVTControlCharacters(bytes);
}

/** Resolves when several readings in a row wrote nothing. */
async function untilQuiet(screen: Screen, reads: () => number): Promise<void> {
  for (let written = -1; written !== screen.bytes.length; ) {
    written = screen.bytes.length;
    const readsBefore = reads();
    await vi.waitFor(() => expect(reads()).toBeGreaterThan(readsBefore + 3), { timeout: 5000 });
  }
}

describe('mountUpload', () => {
  test('an unchanged state writes nothing; a change writes little', async () => {
    let progress = progressWith({});
    const { screen, view, reads } = mounted(() => progress);
    await vi.waitFor(() => expect(plain(screen.bytes)).toContain('q stop   ? help'));
    const readsBefore = reads();
    const written = screen.bytes.length;
    await vi.waitFor(() => expect(reads()).toBeGreaterThan(readsBefore + 5), { timeout: 5000 });
    expect(screen.bytes.length).toBe(written);
    progress = progressWith({ damaged: 7 });
    await vi.waitFor(() => expect(plain(screen.bytes.slice(written))).toContain('7'));
    // One changed figure: its line at most, not the frame of seven.
    expect(plain(screen.bytes.slice(written)).length).toBeLessThan(150);
    await view.end();
  });

  test('a thousand lines while it draws: each whole, in order, once', async () => {
    let damaged = 0;
    const { screen, view } = mounted(() => {
      damaged += 1;
      return progressWith({ damaged });
    });
    await vi.waitFor(() => expect(plain(screen.bytes)).toContain('q stop'));
    for (let count = 0; count < 1000; count += 1) {
      view.print(`! warning ${count}.`);
      if (count % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    await view.end();
    const printed = [...plain(screen.bytes).matchAll(/! warning (\d+)\.\n/g)].map(([, count]) => Number(count));
    expect(printed).toEqual(Array.from({ length: 1000 }, (_, count) => count));
  });

  test('the end takes the frame away, shows the cursor, gives the keyboard back and never clears the scrollback', async () => {
    const { screen, keyboard, view, onStop, reads } = mounted(() => progressWith({}));
    await vi.waitFor(() => expect(keyboard.isRaw).toBe(true));
    keyboard.write('q');
    await vi.waitFor(() => expect(onStop).toHaveBeenCalledTimes(1));
    await view.end();
    const readsAtEnd = reads();
    expect(keyboard.isRaw).toBe(false);
    expect(screen.bytes.lastIndexOf('\u001b[?25h')).toBeGreaterThan(screen.bytes.lastIndexOf('\u001b[?25l'));
    expect(screen.bytes).not.toContain('\u001b[3J');
    expect(screen.bytes).not.toContain('\u001b[?1049h');
    view.print('after the end');
    expect(plain(screen.bytes).endsWith('after the end\n')).toBe(true);
    expect(screen.listenerCount('resize')).toBe(0);
    expect(reads()).toBe(readsAtEnd);
  });

  test('a window that shrinks never gets a frame higher than itself', async () => {
    const { screen, view, reads } = mounted(() => progressWith({}));
    await vi.waitFor(() => expect(plain(screen.bytes)).toContain('q stop'));
    for (const [columns, rows] of [
      [60, 5],
      [200, 60],
      [40, 10],
      [30, 3],
      [10, 2],
      [1, 1],
    ] as const) {
      // A frame that Ink still holds back was drawn for the window before.
      await untilQuiet(screen, reads);
      screen.columns = columns;
      screen.rows = rows;
      const written = screen.bytes.length;
      const writesBefore = screen.writes.length;
      screen.emit('resize');
      await vi.waitFor(() => expect(screen.bytes.length).toBeGreaterThan(written));
      // Ink answers a resize with more than one frame, each in a write of its own.
      for (const frame of screen.writes.slice(writesBefore)) {
        expect(frame.split('\n').length - 1).toBeLessThanOrEqual(Math.max(1, rows));
      }
    }
    await view.end();
  });
});
