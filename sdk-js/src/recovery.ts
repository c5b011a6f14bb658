// Events that earlier pages, closed tabs or a killed browser left.

import type { Entry, Page } from "./page";
import type { Lost } from "./lost";
import type { Mirror } from "./mirror";
import { setNetworks } from "./networks";
import { attempt, del, get, keys } from "./store";

const LIVE = 3000; // ms: a younger event belongs to a page that is open
const MAX_AGE = 7 * 86400000; // ms: what could not be sent for a week is given up

/** Takes over what others left. Resolves to whether there was anything. */
export async function recover(page: Page, mirror: Mirror, lost: Lost): Promise<boolean> {
  const now = Date.now();
  let found = false;
  const gone = new Set<string>();
  const visitor = page.visitor_ || get("trb_id"); // a page that has taken nothing has read none
  const take = (key: string, text: string | undefined): void => {
    const id = key.slice(key.lastIndexOf(":") + 1);
    const age = now - parseInt(id.replace("-", "").slice(0, 12), 16); // the time in the UUIDv7
    if (page.entries_.has(id) || age < LIVE) return;
    const raw = attempt(() => {
      const raw = JSON.parse(text!);
      setNetworks(raw[6], page.answer_, 1); // the answer may be another one since
      raw[6].visitorId ||= visitor; // a page that ended in its first moments had none yet: this one's is the same
      return raw;
    });
    if (!raw || raw[1] != id || age > MAX_AGE) {
      if (!gone.has(id)) lost.add_(age > MAX_AGE ? "expired" : "unreadable", 1); // the mirror has it too
      gone.add(id);
      del(key); // broken: it would make its whole batch unreadable
      mirror.set(key, null);
    } else if (raw[6].visitorId && page.entries_.size < 1000) { // one without waits for a page that has it
      found = true;
      // It may have been sent: by beacon, or by a page that another tab or a kill has kept from removing it.
      const entry: Entry = { id_: id, key_: key, raw_: raw, text_: JSON.stringify(raw), sent_: 1 };
      page.entries_.set(id, entry);
    }
  };
  for (const key of keys(page.prefix_)) take(key, get(key));
  // What is gone from localStorage since the mirror was read is acknowledged.
  for (const [key, text] of await mirror.all(page.prefix_)) take(key, text);
  return found;
}
