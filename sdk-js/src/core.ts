// The page's side of the worker that runs the core: it makes canonical events of
// raw envelopes. It starts when the page is loaded and idle. Where it does not
// start nothing is lost: the edge runs the same core.

import { log } from "./log";
import { attempt, trusted } from "./store";

export interface Canonical {
  items: { eventId?: string; event?: string; code?: string; field?: string; message?: string }[];
}

declare const WORKER: string; // file names, set by the build
declare const WASM: string;

const TIMEOUT = 2000; // ms: a worker that does not answer in this time is stopped

let worker: Worker | undefined;
let waiting: { [call: number]: (answer: Canonical | null) => void } = {};
let calls = 0;

function stop(): void {
  if (worker) worker.terminate();
  worker = undefined;
  const left = waiting;
  waiting = {};
  for (const call in left) left[call](null);
}

/**
 * Whether the worker pays its way: from the second page of a visit on, and never where
 * 465 KB are dear. Somebody who leaves after one page has no use for it.
 */
export function worthIt(pages: number): boolean {
  const { connection = {}, deviceMemory } = navigator as any;
  return (
    pages > 1 &&
    !connection.saveData &&
    !/2g|3g/.test(connection.effectiveType) &&
    connection.type != "cellular" && // most are metered; desktop browsers name no type
    !(deviceMemory < 4) && // GiB
    !(matchMedia && matchMedia("(prefers-reduced-data: reduce)").matches)
  );
}

/** Starts the worker when the page has nothing else to do; base ends in "/". */
export function start(base: string): void {
  if (typeof Worker == "undefined" || typeof WebAssembly == "undefined") return log("no worker here");
  const begin = () =>
    attempt(() => {
      // A worker's script must have the page's origin. Scripts that it imports need not. The core comes at the same time.
      const load = [
        'trbWasm=fetch("' + base + WASM + '");let u="' + base + WORKER + '";' + // Trusted Types hold in a worker too
          'try{u=trustedTypes.createPolicy("tributary",{createScriptURL:u=>u}).createScriptURL(u)}catch{}importScripts(u)',
      ];
      const url = URL.createObjectURL(new Blob(load, { type: "text/javascript" }));
      const starting = new Worker(trusted(url));
      const failed = (why: string) => {
        log("the worker failed: " + why);
        starting.terminate();
        stop();
      };
      starting.onerror = (e) => failed(e.message);
      starting.onmessage = ({ data }) => {
        if (data.ready) {
          URL.revokeObjectURL(url);
          worker = starting;
          log("the worker is ready");
        } else if (data.failed) {
          failed(data.failed);
        } else if (waiting[data.call]) {
          waiting[data.call](attempt(() => JSON.parse(data.answer)) || null);
          delete waiting[data.call];
        }
      };
      starting.postMessage({ wasm: base + WASM });
    });
  const idle = () => ((window as any).requestIdleCallback || ((f: () => void) => setTimeout(f, 500)))(begin, { timeout: 5000 });
  if (document.readyState == "complete") idle();
  else addEventListener("load", idle);
}

/** Resolves to the canonical events of a body of raw envelopes, or to null without a worker. */
export function canonical(body: string): Promise<Canonical | null> {
  return new Promise((resolve) => {
    if (!worker) return resolve(null);
    const call = ++calls;
    waiting[call] = resolve;
    worker.postMessage({ call, body, now: Date.now() });
    setTimeout(() => waiting[call] && stop(), TIMEOUT);
  });
}
