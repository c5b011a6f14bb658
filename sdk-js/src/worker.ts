// The worker runs the core. The page keeps every event that the worker has, too.

import { instantiate, type Core } from "./reactor";

const scope = self as any;
let core: Core;

async function load(url: string): Promise<void> {
  const response = await fetch(url);
  if (!response.ok) throw new Error("status " + response.status);
  const module = await (WebAssembly.compileStreaming
    ? WebAssembly.compileStreaming(response.clone()).catch(async () => WebAssembly.compile(await response.arrayBuffer()))
    : WebAssembly.compile(await response.arrayBuffer()));
  core = await instantiate(module);
}

scope.onmessage = ({ data }: MessageEvent) => {
  if (data.wasm) {
    load(data.wasm).then(
      () => scope.postMessage({ ready: 1 }),
      (error) => scope.postMessage({ failed: String(error) }),
    );
    return;
  }
  scope.postMessage({ call: data.call, answer: core(data.body, data.now) });
};
