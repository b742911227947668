/** The strict check of a stream in WebAssembly: assembly/validator does the work, this copies bytes in and findings out. */
import type { Finding, FindingCode, StreamValidator } from './stream-validator.js';

/** f64 of one finding, and what is added to the code of a torn line; assembly/validator/layout.ts. */
const FINDING_WORDS = 4;
const TORN = 256;

type ValidatorExports = {
  readonly memory: WebAssembly.Memory;
  readonly WINDOW: { readonly value: number };
  readonly WINDOW_BYTES: { readonly value: number };
  readonly FINDINGS: { readonly value: number };
  reset(offset: number): void;
  /** Checks bytes of the window; returns how many were taken before findings have to be. */
  run(length: number): number;
  end(): void;
  /** Returns how many findings lie in the table, and empties it. */
  takeFindings(): number;
};

/** One instance checks one stream at a time and can be reset for the next; about 200 kB. */
export class WasmValidator implements StreamValidator {
  readonly #module: ValidatorExports;
  readonly #window: Uint8Array;
  readonly #table: Float64Array;
  #findings: Finding[] = [];

  /** @param module assembly/validator.wasm, compiled */
  constructor(module: WebAssembly.Module) {
    this.#module = new WebAssembly.Instance(module).exports as unknown as ValidatorExports;
    const { memory, WINDOW, WINDOW_BYTES, FINDINGS } = this.#module;
    // The memory never grows, so that these views stay attached.
    this.#window = new Uint8Array(memory.buffer, WINDOW.value, WINDOW_BYTES.value);
    this.#table = new Float64Array(memory.buffer, FINDINGS.value);
    this.#module.reset(0);
  }

  reset(offset: number): void {
    this.#module.reset(offset);
  }

  feed(bytes: Uint8Array): void {
    const windowBytes = this.#window.length;
    for (let start = 0; start < bytes.length; ) {
      const length = Math.min(windowBytes, bytes.length - start);
      this.#window.set(length === bytes.length ? bytes : bytes.subarray(start, start + length));
      start += this.#module.run(length);
      this.#collect();
    }
  }

  end(): void {
    this.#module.end();
    this.#collect();
  }

  takeFindings(): Finding[] {
    const taken = this.#findings;
    // Nearly always empty: a new array a piece is for damaged streams only.
    if (taken.length > 0) this.#findings = [];
    return taken;
  }

  #collect(): void {
    const words = this.#module.takeFindings() * FINDING_WORDS;
    for (let at = 0; at < words; at += FINDING_WORDS) {
      const code = this.#table[at + 3] as number;
      this.#findings.push({
        lineStart: this.#table[at] as number,
        lineEnd: this.#table[at + 1] as number,
        offset: this.#table[at + 2] as number,
        code: (code & (TORN - 1)) as FindingCode,
        isTorn: (code & TORN) !== 0,
      });
    }
  }
}
