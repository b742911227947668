/** The record walker of this machine. */
import type { TapeSink } from '../core/scan/record-tape.js';
import { TextWalker } from '../core/scan/text-walker.js';
import type { RecordWalker } from '../core/scan/walker.js';
import { WasmWalker } from '../core/scan/wasm-walker.js';
import { wasmModule } from './wasm-modules.js';

/** The fast walker, or where WebAssembly has no SIMD the other one, which gives the same tape. */
export function openWalker(sink: TapeSink): RecordWalker {
  let module: WebAssembly.Module;
  try {
    module = wasmModule('walker');
  } catch (error) {
    // Only what the machine cannot run: a package without the file is broken, and says so.
    if (!(error instanceof Error) || error.name !== 'CompileError') throw error;
    return new TextWalker({ sink });
  }
  return new WasmWalker(module, { sink });
}
