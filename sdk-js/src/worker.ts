// The worker runs the WASM reactor. The page keeps every event that the worker
// has, too.

const scope = self as any;
const unicode = new TextEncoder();
const text = new TextDecoder();
let wasm: any;

/** The WASI calls that Go's runtime makes. They give it no access to anything outside. */
function wasi(): (name: string) => unknown {
  const view = () => new DataView(wasm.memory.buffer);
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
      for (let i = 0; i < n; i += 65536) crypto.getRandomValues(new Uint8Array(wasm.memory.buffer, at + i, Math.min(65536, n - i)));
      return 0;
    },
    fd_write(_fd: number, vectors: number, n: number, written: number) {
      let bytes = 0; // only a crash of Go's runtime writes; the page learns of it by the exception
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

async function load(url: string): Promise<void> {
  const response = await fetch(url);
  if (!response.ok) throw new Error("status " + response.status);
  const module = await (WebAssembly.compileStreaming
    ? WebAssembly.compileStreaming(response.clone()).catch(async () => WebAssembly.compile(await response.arrayBuffer()))
    : WebAssembly.compile(await response.arrayBuffer()));
  const calls = wasi();
  const imports: any = {};
  for (const { module: from, name } of WebAssembly.Module.imports(module)) (imports[from] = imports[from] || {})[name] = calls(name);
  wasm = (await WebAssembly.instantiate(module, imports)).exports;
  wasm._initialize();
}

scope.onmessage = ({ data }: MessageEvent) => {
  if (data.wasm) {
    load(data.wasm).then(
      () => scope.postMessage({ ready: 1 }),
      (error) => scope.postMessage({ failed: String(error) }),
    );
    return;
  }
  let answer = "null";
  const body = unicode.encode(data.body);
  const at = wasm.trb_input(body.length);
  if (at) {
    new Uint8Array(wasm.memory.buffer, at, body.length).set(body);
    const n = wasm.trb_canonical(body.length, data.now);
    answer = text.decode(new Uint8Array(wasm.memory.buffer, wasm.trb_output(), n));
  }
  scope.postMessage({ call: data.call, answer });
};
