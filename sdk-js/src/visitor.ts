import { uuid } from "./id";
import { attempt, cookie, del, get, put, setCookie, tabDel, tabGet, tabPut } from "./store";

const ID = "trb_id";
const SESSION = "trb_s";
const KEPT = "trb_c";
const PROBE = "trb_f";
const MAX_AGE = 400 * 86400; // seconds: browsers keep a cookie no longer (RFC 6265bis)
const IDLE = 1800000; // ms: a session ends after half an hour without an event

type Values = { [name: string]: string };

const UTM: Values = { utm_source: "source", utm_medium: "medium", utm_campaign: "name", utm_content: "content", utm_term: "term" };
declare const CLICK_IDS: string; // the core's list with "|" between, set by the build
const CLICK = RegExp("^(" + CLICK_IDS + ")$");

/** The visitor's id: kept in a first-party cookie and in localStorage. */
export function visitor(): string {
  const known = cookie(ID) || get(ID);
  const id = known || uuid(Date.now());
  if (cookie(ID) != id) setCookie(ID, id, MAX_AGE);
  if (get(ID) != id) put(ID, id);
  return id;
}

/**
 * Whether this page is in a frame of another site's page. Another origin of its
 * own site it knows only where it may store something, and where the browser
 * names the pages around.
 */
export function framed(store: boolean): boolean {
  const around = location.ancestorOrigins;
  if (!around) return top != window && !attempt(() => top!.location.href);
  return Array.from(around).some((origin) => {
    if (origin == location.origin) return false;
    const site = store && setCookie(PROBE, "1", 1);
    return !site || !("." + origin.split(/\/|:\d/)[2]).endsWith("." + site);
  });
}

export function forget(): void {
  setCookie(ID, "", 0);
  del(ID);
  del(SESSION);
  tabDel(KEPT);
}

/** The session's id. It is only a hint: the processor divides visits into sessions itself. */
export function session(now: number): string {
  const known = (get(SESSION) || "").split(" ");
  const id = known[0] && now - +known[1] < IDLE ? known[0] : uuid(now);
  put(SESSION, id + " " + now);
  return id;
}

/**
 * The campaign and click ids that brought the visitor, for the pages after the
 * landing: kept for this window and session. A URL that has its own needs
 * none beside it, the core reads them there.
 */
export function arrival(url: string, session: string): { campaign?: Values; clickIds?: Values } {
  const campaign: Values = {};
  const clickIds: Values = {};
  let found = false;
  const cut = url.indexOf("?");
  if (cut >= 0 && typeof URLSearchParams != "undefined") {
    new URLSearchParams(url.slice(cut).split("#")[0]).forEach((value, name) => {
      const to = UTM[name] ? campaign : CLICK.test(name) ? clickIds : null;
      const key = UTM[name] || name;
      if (to && value && !to[key]) {
        to[key] = value.slice(0, 256);
        found = true;
      }
    });
  }
  if (found) {
    tabPut(KEPT, JSON.stringify({ session, campaign, clickIds }));
    return {};
  }
  try {
    const kept = JSON.parse(tabGet(KEPT) || "{}");
    return kept.session == session ? { campaign: kept.campaign, clickIds: kept.clickIds } : {};
  } catch {
    return {};
  }
}
