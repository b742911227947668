/** The encoder with its compiled module: what a program that is no part of prl starts from. */
import { RecordEncoder, type RecordEncoderOptions } from '../core/encode/record-encoder.js';
import { wasmModule } from './wasm-modules.js';

/**
 * An encoder of its own, for one value at a time. It holds its buffers, `slots` of 1 MiB, for as long as it lives.
 * @throws RangeError when an option is out of its range, WebAssembly.CompileError where WebAssembly has no SIMD
 */
export function createEncoder(options?: RecordEncoderOptions): RecordEncoder {
  return new RecordEncoder(wasmModule('encoder'), options);
}
