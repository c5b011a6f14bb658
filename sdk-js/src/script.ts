// The entry of tributary.js: takes over the stub's calls, starts by itself if its tag has
// data-company, and fetches the rest when the page is idle.

import { attempt } from "./store";
import { consent, identify, page, persist, reset, start, take } from "./page";
import type { Config } from "./types";

declare const MORE: string; // a file's name, set by the build

/** A call as the stub keeps it. done takes its answer; of a stub of before there is none, and attempt of an answer does nothing. */
type Call = [name: string, at: number, args: ArrayLike<any>, done?: (answer?: unknown) => void];

declare const window: any;
// A module is no current script.
const tag = (document.currentScript || document.querySelector("[data-company]")) as HTMLScriptElement | null;
const found = window.tributary;

// If the script is included twice, the second does nothing.
if (!found?.loaded) {
  let now = /ns/; // of the calls that may be made before the start: consent, then init too
  let queue: Call[] = found?.pop ? found : []; // an element of the page with that id is no stub
  const config: any = {};
  // {edge}/sdk/v1/tributary.js → {edge}
  const edge = (endpoint?: string): string => (endpoint || tag!.src).replace(/\/(sdk\/v1\/.*|v1\/events)?$/, "");
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
    flush: 0, // waits for more.ts, as the next two; a page that is left before sends its beacon
    getVisitorId: 0,
    debug: 0,
  };
  const say = (e: unknown) => console.error("[tributary]", e);
  const run = ([name, at, args, done = attempt as any]: Call): void => {
    try {
      if (calls[name] && (page.config_ || now.test(name))) return done(calls[name](at, ...(args as any)));
      queue[999] || queue.push([name, at, args, done]);
    } catch (e) {
      say(e);
    }
  };
  const drain = () => queue.splice(0).map(run);
  const api: any = { loaded: true, push: run, _: [page, calls, drain, persist] };
  // more.ts may never come: then the answer is undefined.
  for (const name in calls) api[name] = (...args: any[]) => new Promise((done) => setTimeout(done, 5e3, run([name, Date.now(), args, done])));
  window.tributary = api;
  // data-page-views is pageViews
  for (const name in tag?.dataset) config[name] = tag!.dataset[name] != "false" && (tag!.dataset[name] || 1);
  config.companyId = config.company;
  // First the answer to the consent question, then the start by the page or by the tag, and with it the rest.
  drain();
  now = /n[is]/;
  drain();
  api.init();
  // import() takes the tag's nonce along, and needs no policy of Trusted Types.
  (window.requestIdleCallback || setTimeout)(() => attempt(() => import(edge(page.edge_) + "/sdk/v1/" + MORE).catch(say)), { timeout: 3e3 });
}
