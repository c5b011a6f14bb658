// What more.ts adds to an envelope about the visitor. All of it is stored: it is
// called only where that is allowed.

import { uuid } from "./id";
import { attempt, del, get, put, setCookie } from "./store";

const SESSION = "trb_s";
const PROBE = "trb_f";
const FINE = 1000; // ms: how exactly its last event is known
const IDLE = 1800000; // ms: a session ends after half an hour without an event

type Values = { [name: string]: string };

const UTM: Values = { utm_source: "source", utm_medium: "medium", utm_campaign: "name", utm_content: "content", utm_term: "term" };
declare const CLICK_IDS: string; // the core's list with "|" between, set by the build
const CLICK = RegExp("^(" + CLICK_IDS + ")$");

/**
 * Whether this page is in a frame of another site's page. Another origin of its own
 * site it knows only where the browser names the pages around.
 */
export function framed(): boolean {
  const around = location.ancestorOrigins;
  if (!around) return top != window && !attempt(() => top!.location.href);
  return Array.from(around).some((origin) => {
    if (origin == location.origin) return false;
    const site = setCookie(PROBE, "1");
    setCookie(PROBE);
    return site === undefined || !("." + origin.split(/\/|:\d/)[2]).endsWith("." + (site || location.hostname));
  });
}

/** The session's id. It is only a hint: the processor divides visits into sessions itself. */
export function session(now: number): string {
  const [known, last] = (get(SESSION) || "").split(" ");
  const age = now - +last;
  const id = known && age < IDLE ? known : uuid(now);
  if (id != known || !(age < FINE)) put(SESSION, id + " " + now); // not once an event
  return id;
}

export const endSession = (): void => {
  looked = true;
  del(SESSION);
  attempt(() => delete sessionStorage.trb_c);
};

interface Arrival {
  campaign?: Values;
  clickIds?: Values;
}

/** What a URL says of a campaign and of clicks, undefined for nothing. */
function read(url: string): Arrival | undefined {
  const campaign: Values = {};
  const clickIds: Values = {};
  let found = false;
  const cut = url.indexOf("?");
  if (cut >= 0) {
    new URLSearchParams(url.slice(cut).split("#")[0]).forEach((value, name) => {
      const to = UTM[name] ? campaign : CLICK.test(name) ? clickIds : null;
      const key = UTM[name] || name;
      if (to && value && !to[key]) {
        to[key] = value.slice(0, 256);
        found = true;
      }
    });
  }
  return found ? { campaign, clickIds } : undefined;
}

let looked = false; // at the page before

/**
 * The campaign and click ids that brought the visitor, for the pages after the
 * landing: kept for this tab and session. A URL that has its own needs none beside
 * it, the core reads them there. Where the landing page was left before this script was
 * there, by a router or by a link, the browser still knows its address: as that of this document, or as
 * the referrer.
 */
export function arrival(url: string, session: string): Arrival {
  const keep = (found: Arrival) => attempt(() => (sessionStorage.trb_c = JSON.stringify({ session, ...found })));
  const own = read(url);
  if (own) {
    keep(own);
    return {};
  }
  const text = attempt(() => sessionStorage.trb_c);
  if (!text && !looked) {
    const landing = attempt(() => performance.getEntriesByType("navigation")[0].name) || "";
    const { referrer } = document;
    const before = read(landing) || (attempt(() => new URL(referrer).origin) == location.origin ? read(referrer) : undefined);
    if (before) {
      keep(before);
      return before;
    }
  }
  looked = true;
  const kept = attempt(() => JSON.parse(text)) || {};
  return kept.session == session ? { campaign: kept.campaign, clickIds: kept.clickIds } : {};
}
