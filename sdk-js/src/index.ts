// The entry of the ESM and CommonJS builds for pages. Importing it has no effect, so
// it may be imported where there is no window; there the calls do nothing.

import { connect } from "./more";
import { consent as answer, identify as know, leave, page, persist, reset as renew, start, take } from "./page";
import { tell } from "./log";
import type { Config, Consent, Identity } from "./types";

const MAX_EARLY = 1000;

const early: [name: string, at: number, args: unknown[]][] = [];
const calls: { [name: string]: any } = {
  init(_: number, config: Config) {
    if (page.config_) return;
    start(config, config.endpoint!.replace(/(\/v1\/events)?\/*$/, ""));
    for (const [name, at, args] of early.splice(0)) run(name, at, args);
  },
  track: take,
  page: (at: number, payload: unknown) => take(at, "PAGE_VIEW", payload),
  consent: answer,
  reset: renew,
  identify: know,
  flush: leave,
};
let connected = false;

function run(name: string, at: number, args: unknown[]): any {
  if (typeof window == "undefined") return;
  if (!connected) {
    connected = true;
    connect(page, calls, persist);
  }
  try {
    if (page.config_ || name == "init" || name == "consent") return calls[name](at, ...args);
    if (early.length < MAX_EARLY) early.push([name, at, args]);
  } catch (error) {
    console.error("[tributary]", name, error);
  }
}

export function init(config: Config): void {
  if (typeof window != "undefined" && (!config || !config.endpoint)) return tell("endpoint", "nothing is sent: init() needs endpoint, the URL of your edge.");
  run("init", Date.now(), [config]);
}
export const track = (...args: unknown[]): void => run("track", Date.now(), args);
const view = (payload?: unknown): void => run("page", Date.now(), [payload]);
export { view as page };
export const identify = (who: Identity): void => run("identify", Date.now(), [who]);
export const reset = (): void => run("reset", Date.now(), []);
export const consent = (given: Consent): void => run("consent", Date.now(), [given]);
export const optOut = (): void => consent("denied");
export const optIn = (): void => consent("granted");
export const getVisitorId = async (): Promise<string | null> => run("getVisitorId", Date.now(), []) || null;
export const flush = async (): Promise<boolean> => (page.config_ ? run("flush", Date.now(), []) : true);
export const debug = (on: boolean = true): void => run("debug", Date.now(), [on]);
