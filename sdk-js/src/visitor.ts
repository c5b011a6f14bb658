// What more.ts adds to an envelope about the visitor. All of it is stored: it is
// called only where that is allowed.

import { uuid } from "./id";
import { attempt, del, get, keys, put, setCookie } from "./store";

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

/** How this document was opened: its address, as, where from; nothing where the browser does not know. */
const opened = (): Partial<PerformanceNavigationTiming> =>
  attempt(() => performance.getEntriesByType("navigation")[0] as PerformanceNavigationTiming) || {};

/** The address of a landing page that is no more shown, "" for none: that of this document, or the referrer. */
const before = (): string => {
  const { referrer } = document;
  return [opened().name, attempt(() => new URL(referrer).origin) == location.origin && referrer].find((url) => url && read(url)) || "";
};

/** A view that was missed. at is in Unix milliseconds. */
export interface Landing {
  at: number;
  url: string;
  referrer: string;
  title: string;
}

/**
 * The landing page's address, time and referrer, where it was left before the script was there: url, the
 * first view's, has no campaign and the landing has. What was seen is not missed: a page that is shown again, a
 * view that waits in storage, and what comes after in the same tab. The first page of a tab is no landing page's next.
 */
export function missed(url: string, prefix: string): Landing | undefined {
  const { name, type, responseStart } = opened();
  const landing = before();
  const own = landing == name;
  const again = attempt(() => sessionStorage.trb_n); // pages of this tab that more.ts has seen
  const stored = '"url":' + JSON.stringify(landing).slice(0, -1); // a referrer has no fragment
  if (!landing || read(url) || (again && !(own && type == "navigate"))) return;
  if (!own && (history.length < 2 || keys(prefix).some((key) => get(key)?.includes(stored)))) return;
  return { url: landing, at: Math.floor(performance.timeOrigin + (own ? responseStart! : -1)), referrer: own ? document.referrer : "", title: "" };
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
    const found = read(before());
    if (found) {
      keep(found);
      return found;
    }
  }
  looked = true;
  const kept = attempt(() => JSON.parse(text)) || {};
  return kept.session == session ? kept : {};
}
