// Hands the visitor over to the shop's other domains: a link to one of them gets the
// visitor's id and the time, and the page there takes the id over.

import { attempt, cookie, put, setCookie } from "./store";

const NAME = "_trb";
const FRESH = 120000; // ms: an address that was copied brings nobody's visitor along

const listed = (host: string, domains: readonly string[]): boolean => domains.some((domain) => host == domain || host.endsWith("." + domain));

/** Adds the visitor to links that lead to another of the domains. */
export function decorate(domains: readonly string[], visitor: () => string | undefined): void {
  const add = (event: Event): void => {
    attempt(() => {
      const link = (event.target as Element).closest("a") as HTMLAnchorElement | null;
      const id = visitor();
      if (!link || !id || link.hostname == location.hostname || !listed(link.hostname, domains)) return;
      const url = new URL(link.href);
      url.searchParams.set(NAME, id + "." + Date.now());
      link.href = url.href;
    });
  };
  for (const type of ["mousedown", "keydown", "click"]) addEventListener(type, add, true);
}

/** The visitor that a link of another of the domains has brought, once. */
export function handedOver(domains: readonly string[]): string | undefined {
  return attempt(() => {
    const url = new URL(location.href);
    const [id, at] = (url.searchParams.get(NAME) || "").split(".");
    if (!id) return;
    url.searchParams.delete(NAME);
    history.replaceState(history.state, "", url.href);
    const from = attempt(() => new URL(document.referrer).hostname) || "";
    if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id) || !listed(from, domains) || Math.abs(Date.now() - +at) > FRESH) return;
    setCookie("trb_id", id);
    put("trb_id", id);
    return cookie("trb_id") == id ? id : undefined;
  });
}
