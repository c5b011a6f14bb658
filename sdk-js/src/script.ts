// The entry of tributary.js: takes over the stub's calls, starts by itself if its tag has
// data-company, and fetches the rest when the page is idle.

import { consent, identify, leave, page, persist, reset, start, take } from "./page";
import type { Config } from "./types";

declare const MORE: string; // a file's name, set by the build

/** A call as the stub keeps it. */
type Call = [name: string, at: number, args: ArrayLike<any>];

declare const window: any;
const tag = document.currentScript as HTMLScriptElement | null;
const found = window.tributary;

// If the script is included twice, the second does nothing.
if (!found?.loaded) {
  let queue: Call[] = found?.pop ? found : []; // an element of the page with that id is no stub
  const config: any = {};
  // {edge}/sdk/v1/tributary.js → {edge}
  const edge = (endpoint?: string): string => (endpoint || tag!.src).replace(/\/(sdk\/v1\/.*)?$/, "");
  const calls: any = {
    init(_: number, given?: Config) {
      given = { ...config, ...given } as Config; // what is said beside the tag counts more
      if (given.companyId && !page.config_) {
        start(given, edge(given.endpoint));
        drain();
      }
    },
    track: take,
    page: (at: number, payload: unknown) => take(at, "PAGE_VIEW", payload),
    consent,
    optOut: () => consent(0, "denied"),
    optIn: () => consent(0, "granted"),
    reset,
    identify,
    flush: leave,
    getVisitorId: () => page.visitor_,
    debug: 0, // waits for more.ts
  };
  const run = ([name, at, args]: Call): unknown => {
    try {
      if (calls[name] && (page.config_ || /nit|con/.test(name))) return calls[name](at, ...(args as any)); // init, consent
      queue[999] || queue.push([name, at, args]);
    } catch (e) {
      console.error("tributary", e);
    }
  };
  const drain = () => queue.splice(0).forEach(run);
  const api: any = { loaded: true, push: run, _: [page, calls, drain, persist] };
  for (const name in calls) api[name] = async (...args: any[]) => run([name, Date.now(), args]);
  window.tributary = api;
  for (const name in tag?.dataset) {
    const value = tag!.dataset[name]; // data-page-views is pageViews
    config[name] = value == "false" ? 0 : value || 1;
  }
  config.companyId = config.company;
  // First the answer to the consent question, then the start by the page or by the tag, and with it the rest.
  queue = queue.filter((call) => call[0] != "consent" || run(call));
  drain();
  api.init();
  (window.requestIdleCallback || setTimeout)(
    () => {
      const more = document.createElement("script");
      more.src = edge(page.edge_) + "/sdk/v1/" + MORE;
      more.nonce = tag?.nonce;
      document.head.append(more);
    },
    { timeout: 3e3 },
  );
}
