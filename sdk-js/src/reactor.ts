// Runs the core's WebAssembly module (wasm/doc.go), in a page's worker and in Node.

/** Turns a body of raw envelopes into canonical events, JSON text. now is in Unix milliseconds. */
export type Core = (body: string, now: number) => string;

/** The WASI calls that Go's runtime makes. They give it no access to anything outside. */
function wasi(memory: () => ArrayBuffer): (name: string) => unknown {
  const view = () => new DataView(memory());
  const none = () => 0;
  const sizes = (count: number, size: number) => {
    view().setUint32(count, 0, true);
    view().setUint32(size, 0, true);
    return 0;
  };
  const calls: any = {
    args_sizes_get: sizes,
    environ_sizes_get: sizes,
    clock_time_get(clock: number, _precision: bigint, out: number) {
      const ns = BigInt(Math.round((clock ? performance.now() : Date.now()) * 1e6));
      view().setBigUint64(out, ns, true);
      return 0;
    },
    random_get(at: number, n: number) {
      for (let i = 0; i < n; i += 65536) crypto.getRandomValues(new Uint8Array(memory(), at + i, Math.min(65536, n - i)));
      return 0;
    },
    fd_write(_fd: number, vectors: number, n: number, written: number) {
      let bytes = 0; // only a crash of Go's runtime writes; the caller learns of it by the exception
      for (let i = 0; i < n; i++) bytes += view().getUint32(vectors + 8 * i + 4, true);
      view().setUint32(written, bytes, true);
      return 0;
    },
    proc_exit(code: number) {
      throw new Error("exit " + code);
    },
  };
  return (name: string) => calls[name] || none;
}

/** Starts a compiled module. */
export async function instantiate(module: WebAssembly.Module): Promise<Core> {
  let wasm: any;
  const calls = wasi(() => wasm.memory.buffer);
  const imports: any = {};
  for (const { module: from, name } of WebAssembly.Module.imports(module)) (imports[from] = imports[from] || {})[name] = calls(name);
  wasm = (await WebAssembly.instantiate(module, imports)).exports;
  wasm._initialize();
  const unicode = new TextEncoder();
  const text = new TextDecoder();
  return (body, now) => {
    const bytes = unicode.encode(body);
    const at = wasm.trb_input(bytes.length);
    if (!at) return "null"; // more than 1 MiB
    new Uint8Array(wasm.memory.buffer, at, bytes.length).set(bytes);
    const n = wasm.trb_canonical(bytes.length, now);
    return text.decode(new Uint8Array(wasm.memory.buffer, wasm.trb_output(), n));
  };
}
