// The entry of the ESM and CommonJS builds for pages. Importing it has no effect, so
// it may be imported where there is no window; there the calls do nothing.

import { connect } from "./more";
import { consent as answer, identify as know, page, persist, reset as renew, start, take } from "./page";
import { tell } from "./log";
import type { Config } from "./types";

const MAX_EARLY = 1000;

const early: [name: string, at: number, args: unknown[]][] = [];
const calls: { [name: string]: any } = {
  init(_: number, config: Config) {
    if (page.config_) return;
    start(config, config.endpoint!.replace(/(\/v1\/events)?\/*$/, ""));
    for (const [name, at, args] of early.splice(0)) run(name, args, at);
  },
  track: take,
  page: (at: number, payload: unknown) => take(at, "PAGE_VIEW", payload),
  consent: answer,
  reset: renew,
  identify: know,
};
let connected = false;

function run(name: string, args: unknown[], at = Date.now()): any {
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
  run("init", [config]);
}
const call =
  (name: string) =>
  (...args: unknown[]): any =>
    run(name, args);
export const track = call("track");
const view = call("page");
export { view as page };
export const identify = call("identify");
export const reset = call("reset");
export const consent = call("consent");
export const optOut = (): void => consent("denied");
export const optIn = (): void => consent("granted");
export const getVisitorId = async (): Promise<string | null> => run("getVisitorId", []) || null;
export const flush = async (): Promise<boolean> => (page.config_ ? run("flush", []) : true);
export const debug = call("debug");
