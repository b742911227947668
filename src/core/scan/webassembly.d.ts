/** The part of the WebAssembly API that is used here: it is in TypeScript's browser library, which a server has no use for. */
declare namespace WebAssembly {
  class Module {
    constructor(bytes: Uint8Array);
  }

  class Memory {
    /** `initial` and `maximum` in pages of 64 KiB. */
    constructor(descriptor: { readonly initial: number; readonly maximum?: number });
    readonly buffer: ArrayBuffer;
    /** Adds pages of zeros at the end; `buffer` is another one from then on, and views of the old one are empty. */
    grow(pages: number): number;
  }

  class Instance {
    constructor(module: Module, imports?: Readonly<Record<string, Readonly<Record<string, unknown>>>>);
    readonly exports: Readonly<Record<string, unknown>>;
  }
}
