// The entry of the package @tributary-io/core-wasm: the core for Node, Deno, Bun and
// workers. Importing it has no effect.

import { instantiate, type Core } from "./reactor";

/** Loads the core. bytes are those of core.wasm, for hosts that cannot read files. */
export async function load(bytes?: BufferSource): Promise<Core> {
  return instantiate(await WebAssembly.compile(bytes || ((await (await import("node:fs/promises")).readFile(beside())) as any)));
}

/** Where core.wasm is. */
export const beside = (): URL => new URL("./core.wasm", import.meta.url);
