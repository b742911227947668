/** Ways from one plain chunk to its index rows, each reading the file from the page cache on every pass. */
import { createHash } from 'node:crypto';
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { indexRecord } from '../../dist/core/index/index-record.js';
import { RowBuffer } from '../../dist/core/index/row-buffer.js';
import { RowBuilder } from '../../dist/core/index/row-builder.js';
import { TextWalker } from '../../dist/core/scan/text-walker.js';
import { LINE } from '../../dist/core/scan/walker.js';
import { WasmValidator } from '../../dist/core/scan/wasm-validator.js';
import { WasmWalker } from '../../dist/core/scan/wasm-walker.js';
import { PlainSource } from '../../dist/io/sync-source.js';
import { wasmModule } from '../../dist/io/wasm-modules.js';
import { time } from './measure.mjs';

const READ_BYTES = 1_048_576;
const ROW_OPTIONS = { tokens: 'auto', mode: 'compat' };

/** A chunk and the contenders over it; `close` it in the end. */
export class CoreContenders {
  #file;
  #size;
  /** All of the file, for JSON.parse, touched once: fresh memory would cost more than parsing. */
  #whole = null;

  constructor(path) {
    this.#file = openSync(path, 'r');
    this.#size = fstatSync(this.#file).size;
  }

  get bytes() {
    return this.#size;
  }

  close() {
    closeSync(this.#file);
    this.#whole = null;
  }

  /** Each pass gives its rows to `take`, in pieces that are valid until it returns. */
  list() {
    return [
      { name: 'JSON.parse, row from the object', pass: (take) => this.#parse(take) },
      { name: 'TypeScript walker, row builder', pass: this.#walk((sink) => new TextWalker({ sink })) },
      { name: 'WebAssembly walker, row builder', pass: this.#walk(wasmWalker) },
      { name: 'WebAssembly walker, row builder, --strict', pass: this.#walk(wasmWalker, true) },
      { name: 'WebAssembly walker alone, no rows', pass: this.#walkAlone() },
    ].map(({ name, pass }) => ({ name, pass, bytes: this.#size, run: () => time(() => pass(() => {})) }));
  }

  #walk(makeWalker, isStrict = false) {
    const builder = new RowBuilder(ROW_OPTIONS);
    const walker = makeWalker(builder);
    const target = new RowBuffer(READ_BYTES);
    const source = new PlainSource(this.#file, this.#size);
    const checked = isStrict ? checkedSource(source) : source;
    return (take) => {
      source.seek(0);
      checked.reset?.();
      walker.reset(checked, 0);
      let line = 0;
      for (let kind = walker.next(); kind !== LINE.END; kind = walker.next()) {
        if (kind !== LINE.RECORD || builder.fault !== null) throw new Error(`no record at byte ${walker.lineStart}`);
        line += 1;
        builder.writeRow(target, { line, offset: walker.lineStart, chunk: 0 });
        if (target.length > READ_BYTES / 2) flush(target, take);
      }
      flush(target, take);
    };
  }

  #walkAlone() {
    const walker = wasmWalker({ beginRecord() {}, take() {} });
    const source = new PlainSource(this.#file, this.#size);
    return () => {
      source.seek(0);
      walker.reset(source, 0);
      for (let kind = walker.next(); kind !== LINE.END; kind = walker.next());
    };
  }

  #parse(take) {
    this.#whole ??= Buffer.alloc(this.#size);
    const bytes = this.#whole;
    for (let at = 0; at < bytes.length; ) {
      at += readSync(this.#file, bytes, at, Math.min(READ_BYTES, bytes.length - at), at);
    }
    let line = 0;
    for (let offset = 0; offset < bytes.length; ) {
      const end = bytes.indexOf(0x0a, offset);
      line += 1;
      take(indexRecord(JSON.parse(bytes.toString('utf8', offset, end)), { ...ROW_OPTIONS, line, offset, chunk: 0 }));
      offset = end + 1;
    }
  }
}

function wasmWalker(sink) {
  return new WasmWalker(wasmModule('walker'), { sink });
}

/** Shows the validator what is read; a finding in these good runs would be a bug. */
function checkedSource(source) {
  const validator = new WasmValidator(wasmModule('validator'));
  return {
    reset: () => validator.reset(0),
    read(target) {
      const read = source.read(target);
      if (read > 0) validator.feed(target.subarray(0, read));
      else validator.end();
      const [finding] = validator.takeFindings();
      if (finding !== undefined) throw new Error(`the validator finds ${finding.code} at byte ${finding.offset}`);
      return read;
    },
  };
}

function flush(target, take) {
  take(target.view());
  target.clear();
}

/** The rows of one pass as text, and their digest. */
export function rowsOf(contender) {
  const hash = createHash('sha256');
  const pieces = [];
  contender.pass((bytes) => {
    hash.update(bytes);
    pieces.push(Buffer.from(bytes));
  });
  return { text: Buffer.concat(pieces).toString(), digest: hash.digest('hex') };
}
