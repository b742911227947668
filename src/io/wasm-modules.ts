/** The WebAssembly modules of the package: compiled once a process, and handed to its threads ready to run. */
import { readFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';

export type WasmName = 'walker' | 'validator' | 'encoder';

const compiled = new Map<WasmName, WebAssembly.Module>();

/**
 * Compiles for speed at once. By default the engine starts with slow code and compiles the fast one beside it, on
 * cores that are busy with the slow one: half of a second run of 4 GB. 13 ms a module (30 Nov 2026, 2 cores).
 */
const COMPILE_FOR_SPEED = ['--no-liftoff', '--no-wasm-lazy-compilation'];
const COMPILE_AS_USUAL = ['--liftoff', '--wasm-lazy-compilation'];

/** @throws the system's error when the package is incomplete, WebAssembly.CompileError without SIMD */
export function wasmModule(name: WasmName): WebAssembly.Module {
  const known = compiled.get(name);
  if (known !== undefined) return known;
  // The same from src/io and from dist/io.
  const bytes = readFileSync(new URL(`../../assembly/${name}.wasm`, import.meta.url));
  for (const flag of COMPILE_FOR_SPEED) setFlagsFromString(flag);
  try {
    const module = new WebAssembly.Module(bytes);
    compiled.set(name, module);
    return module;
  } finally {
    for (const flag of COMPILE_AS_USUAL) setFlagsFromString(flag);
  }
}

/** Compiles what threads will need; where WebAssembly has no SIMD they find another way by themselves. */
export function compileAhead(names: readonly WasmName[]): void {
  for (const name of names) {
    try {
      wasmModule(name);
    } catch (error) {
      if (!(error instanceof Error) || error.name !== 'CompileError') throw error;
    }
  }
}

/** The modules compiled so far, for another thread, which takes them with `adoptModules` before it asks for any. */
export function compiledModules(): ReadonlyMap<WasmName, WebAssembly.Module> {
  return compiled;
}

export function adoptModules(modules: ReadonlyMap<WasmName, WebAssembly.Module>): void {
  for (const [name, module] of modules) compiled.set(name, module);
}
