// The SDK in a page: one client a page. Importing it has no effect, so it may be
// imported where there is no window.

import { start } from "./core";
import { uuid } from "./id";
import { Queue } from "./queue";
import { Sender } from "./sender";
import { get, put } from "./store";
import type { Config, Consent, Identity } from "./types";
import { arrival, forget, framed, session, visitor } from "./visitor";

declare const VERSION: string; // set by the build

const ANSWER = "trb_consent";
const RECOVER = 3000; // ms after the start, so that the page's own work is done first
const MAX_EARLY = 100;
const MAX_RAW = 64 << 10; // UTF-16 units of an envelope: the edge takes none beyond 64 KiB

let config: Config | undefined;
let queue: Queue;
let sender: Sender;
let answer: Consent | null | undefined;
let stream: string;
let seq = 0;
let visitorId = "";
let referrer = "";
let seen = ""; // the URL of the last page view
let early: [number, string, unknown, unknown][] = [];

const log = (...what: unknown[]): void => {
  if (config && config.debug) console.log("[tributary]", ...what);
};

/** Whether events may be stored and sent now. */
const free = (): boolean => answer == "granted" || (!answer && !config!.requireConsent);

export function init(options: Config, origin?: string): void {
  if (config || typeof window == "undefined") return;
  const endpoint = (options.endpoint || origin || "").replace(/\/+$/, "");
  if (!options.companyId || !endpoint) {
    console.error("[tributary] init needs companyId" + (endpoint ? "" : " and endpoint"));
    return;
  }
  config = options;
  answer = answer || (get(ANSWER) as Consent);
  stream = uuid(Date.now()).slice(-12);
  referrer = document.referrer;
  queue = new Queue(options.companyId, free);
  sender = new Sender(options.companyId, endpoint, queue, free, log);
  if (answer == "denied") deny(); // the answer may be older than the queue

  const leave = () => {
    queue.persist();
    sender.beacon();
  };
  addEventListener("pagehide", leave);
  document.addEventListener("visibilitychange", () => document.visibilityState == "hidden" && leave());
  addEventListener("online", () => sender.send());
  addEventListener("storage", (e) => e.key == ANSWER && consent(e.newValue as Consent)); // answered in another tab
  setTimeout(() => {
    if (free()) resume();
  }, RECOVER);
  if (options.worker !== false) start(endpoint + "/sdk/v1/", log);
  if (options.pageViews !== false) watch();

  const calls = early;
  early = [];
  for (const [at, name, payload, identity] of calls) take(at, name, payload, identity);
}

/** Takes page views: now, and at each change of a single-page shop's address. */
function watch(): void {
  const view = () => {
    if (location.href == seen) return;
    if (seen) referrer = seen;
    seen = location.href;
    take(Date.now(), "PAGE_VIEW");
  };
  for (const method of ["pushState", "replaceState"] as const) {
    const original = history[method];
    history[method] = function (this: History, ...args: any) {
      const result = original.apply(this, args);
      view();
      return result;
    };
  }
  addEventListener("popstate", view);
  addEventListener("pageshow", (e) => {
    if (!e.persisted) return; // shown again by the back-forward cache: another view
    seen = "";
    view();
  });
  view();
}

/** Takes an event. at is the time of the call in Unix milliseconds: a call of the stub is older than this one. */
export function take(at: number, name: string, payload?: unknown, identity?: unknown): void {
  if (typeof window == "undefined") return;
  if (!config) {
    if (early.length < MAX_EARLY) early.push([at, name, payload, identity]);
    return;
  }
  if (answer == "denied") return log("not taken, consent is denied", name);
  try {
    const id = uuid(at);
    const url = location.href;
    const context: any = {
      url,
      referrer,
      title: document.title,
      stream,
      seq: ++seq,
      locale: navigator.language,
      frame: framed(free()) || undefined,
      screen: screen.width + "x" + screen.height,
      library: { name: "sdk-js", version: VERSION },
    };
    const base = [id, new Date(at).toISOString(), name, text(payload), text(identity)];
    if (free()) know(context, url, at);
    const raw = JSON.stringify(["r1", ...base, context]);
    if (raw.length > MAX_RAW) return log("not taken, larger than 64 KiB", name);
    if (!queue.add(id, raw)) return log("dropped, too many events wait", name);
    log("taken", name, id, payload, identity);
    setTimeout(() => queue.persist());
    sender.schedule(config.linger === undefined ? 1000 : config.linger);
  } catch (error) {
    log("not taken", name, error);
  }
}

const text = (value: unknown): string | null => (value === undefined || value === null ? null : JSON.stringify(value));

/** Adds what is known of the visitor. All of it is stored: call it only where that is allowed. */
function know(context: any, url: string, at: number): void {
  context.visitorId = visitorId = visitorId || visitor();
  context.sessionId = session(at);
  if (answer) context.consent = answer;
  const { campaign, clickIds } = arrival(url, context.sessionId);
  context.campaign = campaign;
  context.clickIds = clickIds;
}

export function track(name: string, payload?: unknown, identity?: Identity | null): void {
  take(Date.now(), name, payload, identity);
}

export function consent(given: Consent): void {
  if (typeof window == "undefined" || (given != "granted" && given != "denied")) return;
  answer = given;
  put(ANSWER, given);
  if (!config) return;
  if (given == "denied") return deny();
  // Add the visitor to the events that were kept in memory: that is allowed now.
  for (const id in queue.entries) {
    const e = queue.entries[id];
    const raw = JSON.parse(e.raw);
    if (raw[6].visitorId) continue;
    know(raw[6], raw[6].url, Date.now());
    raw[6].frame = framed(true) || undefined;
    e.raw = JSON.stringify(raw);
  }
  queue.persist();
  resume();
}

function deny(): void {
  queue.clear();
  reset();
}

/** Sends what earlier pages left, and what is queued. */
const resume = (): unknown => queue.recover().then(() => sender.schedule(0));

export function reset(): void {
  visitorId = "";
  if (typeof window != "undefined") forget();
}

export function flush(): Promise<boolean> {
  return config ? sender.send() : Promise.resolve(true);
}
