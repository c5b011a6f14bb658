// The entry of the script build: takes over the stub's calls, and starts by
// itself if its tag has data-company.

import { consent, flush, init, reset, take, track } from "./client";
import { attempt } from "./store";
import type { Config } from "./types";

const scope = window as any;
const tag = document.currentScript as HTMLScriptElement | null;
const found = scope.tributary;

// If the script is included twice, the second does nothing.
if (!found || !found.loaded) {
  // {edge}/sdk/v1/tributary.js → {edge}
  const origin = tag && tag.src ? tag.src.replace(/\/sdk\/v1\/[^/]*$/, "") : "";
  const api = {
    loaded: true,
    init: (config: Config) => init(config, origin),
    track,
    consent,
    reset,
    flush,
    /** A call as the stub keeps it: [method, time of the call, arguments]. */
    push([method, at, args]: [string, number, ArrayLike<any>]) {
      if (method == "track") take(at, args[0], args[1], args[2]);
      else if (method != "push") attempt(() => (api as any)[method](...Array.from(args)));
    },
  };
  scope.tributary = api;
  const company = tag && tag.getAttribute("data-company");
  const calls: any[] = Array.isArray(found) ? found : [];
  // First the answer to the consent question, then the start, then the rest.
  for (const method of ["consent", "init", ""]) {
    if (method == "init" && company) api.init({ companyId: company, endpoint: tag!.getAttribute("data-endpoint") || undefined, debug: tag!.hasAttribute("data-debug"), requireConsent: tag!.hasAttribute("data-require-consent") });
    for (const call of calls) if (method ? call[0] == method : call[0] != "consent" && call[0] != "init") api.push(call);
  }
}
