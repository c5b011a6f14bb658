// The worker runs the core. The page keeps every event that the worker has, too.

import { instantiate, type Core } from "./reactor";

const scope = self as any;
let core: Core;

/** early is the answer that the page has asked for before this script was there. */
async function load(url: string, early?: Promise<Response>): Promise<void> {
  const streaming = async (from: Promise<Response>): Promise<WebAssembly.Module> => WebAssembly.compileStreaming(from);
  // It may not be there (Safari 14), and it takes application/wasm alone.
  const module = await streaming(early || fetch(url)).catch(async () => {
    const response = await fetch(url);
    if (!response.ok) throw new Error("status " + response.status);
    return WebAssembly.compile(await response.arrayBuffer());
  });
  core = await instantiate(module);
}

scope.onmessage = ({ data }: MessageEvent) => {
  if (data.wasm) {
    load(data.wasm, scope.trbWasm).then(
      () => scope.postMessage({ ready: 1 }),
      (error) => scope.postMessage({ failed: String(error) }),
    );
    return;
  }
  scope.postMessage({ call: data.call, answer: core(data.body, data.now) });
};
