/** The WebAssembly modules of the package, compiled once a thread. */
import { readFileSync } from 'node:fs';

export type WasmName = 'walker' | 'validator';

const compiled = new Map<WasmName, WebAssembly.Module>();

/** @throws the system's error when the package is incomplete, WebAssembly.CompileError without SIMD */
export function wasmModule(name: WasmName): WebAssembly.Module {
  const known = compiled.get(name);
  if (known !== undefined) return known;
  // The same from src/io and from dist/io.
  const module = new WebAssembly.Module(readFileSync(new URL(`../../assembly/${name}.wasm`, import.meta.url)));
  compiled.set(name, module);
  return module;
}
