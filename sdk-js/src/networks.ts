// How advertising networks know the browser: by cookies of their own, which are looked for where
// the shopper agreed to that network (docs/events.md, "Context"), and never before.

import { uuid } from "./id";
import { attempt, cookie, del, get, put, setCookie } from "./store";

/** By the name in an event, which is the cookie's after "_": the network as a consent names it. */
const NETWORKS: { [name: string]: string } = { ga: "ga4", ga_session: "ga4", fbp: "meta", ttp: "tiktok" };

/** The GA4 sessions of the page's streams: _ga_AB12CD34EF=GS2.1.s1762344000$o1… (before May 2025: GS1.1.1762344000.1…) is "AB12CD34EF.1762344000". */
const sessions = (): string | undefined =>
  attempt(() =>
    [...document.cookie.matchAll(/(?:^|; )_ga_([A-Z\d]{4,11})=GS\d\.\d+\.(?:[^;]*?\$)?s?(1\d{9})\b/g)].slice(0, 4).map((found) => found[1] + "." + found[2]).join(" "),
  );

/**
 * Sets what an answer to the consent question allows of the page's cookies. again: of what the event has, which then agrees to no more than
 * the answer. The edge looks at the forms.
 */
export const setNetworks = (context: any, answer: unknown, again?: unknown): void => {
  const agreed = ("" + answer).split(/[ ,]+/);
  const found: any = {};
  for (const name in NETWORKS)
    if (agreed.includes(NETWORKS[name])) found[name] = again ? context.networkIds?.[name] : name == "ga_session" ? sessions() : cookie("_" + name)?.replace(/^GA.*\.(?=\d+\.)/, "");
  context.networkIds = agreed[1] && found;
  const { consent } = context;
  if (again && / /.test(consent)) {
    const left = consent.split(/[ ,]+/).slice(1).filter((name: string) => agreed.includes(name));
    context.consent = "granted" + (left[0] ? " " + left : "");
  }
};

// The visitor who agreed to networks, also as a cookie, which a page of another of the shop's hosts can read. A denial deletes what begins with
// "trb" and keeps this until it is told.
const AGREED = "tr_agreed";

/** Remembers who agreed to networks. */
export const noteAgreed = (answer: unknown, visitor: string): void => {
  if (!/ /.test("" + answer)) return;
  put(AGREED, visitor);
  if (cookie(AGREED) != visitor) setCookie(AGREED, visitor);
};

/** Who agreed to networks, or undefined. The cookie is never older: another host may have written it since. */
export const whoAgreed = (): string | undefined => cookie(AGREED) || get(AGREED);

/** The withdrawal of a visitor was told. Who agreed anew meanwhile stays. */
export const forgetAgreed = (visitor: string): void => {
  if (get(AGREED) == visitor) del(AGREED);
  if (cookie(AGREED) == visitor) setCookie(AGREED);
};

/** The body that tells the edge that a visitor agrees no more. */
export const withdrawal = (companyId: string, visitorId: string): string => {
  const at = new Date();
  return JSON.stringify({ companyId, sentAt: at, events: [["r1", uuid(+at), at, "CONSENT_WITHDRAWN", "{}", "{}", { visitorId, consent: "denied" }]] });
};
