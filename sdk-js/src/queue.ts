// Keeps events from the call until the edge has acknowledged them: in memory, and
// in one localStorage key each, "trb:<company>:<tab>:<event id>". An event is
// deleted only when it is acknowledged or refused, or above the limits below.

import { uuid } from "./id";
import { attempt, del, get, keys, put, tabDel, tabGet, tabPut } from "./store";

/** Limits, so that the shop's own storage is never filled. */
const MAX_EVENTS = 1000;
const MAX_BYTES = 512 << 10;
const TAB = "trb_t"; // the sessionStorage key of the tab's name
const ORPHAN = 60000; // ms: an event of this age is taken over from a tab that is gone

export interface Entry {
  id: string;
  /** The raw envelope, JSON text. */
  raw: string;
  stored?: boolean;
  /** When it was sent by a beacon, which has no answer; Unix milliseconds. */
  beaconed?: number;
}

export class Queue {
  entries: { [id: string]: Entry } = {};
  dropped = 0;
  private prefix: string;
  private tab = "";
  private bytes = 0;
  private count = 0;

  constructor(company: string, private durable: () => boolean) {
    this.prefix = "trb:" + company + ":";
    for (const key of keys(this.prefix)) this.grow(get(key), 1);
  }

  /** The prefix of this tab's keys. It stores the tab's name: call it only where that is allowed. */
  private own(): string {
    if (!this.tab) tabPut(TAB, (this.tab = tabGet(TAB) || uuid(Date.now()).slice(-12)));
    return this.prefix + this.tab + ":";
  }

  private grow(raw: string | null | undefined, by: number): void {
    this.count += by;
    this.bytes += by * (raw || "").length * 2; // UTF-16 in storage
  }

  /** Adds an event. False when it is dropped since too many are queued. */
  add(id: string, raw: string): boolean {
    if (Object.keys(this.entries).length >= MAX_EVENTS) {
      this.dropped++;
      return false;
    }
    this.entries[id] = { id, raw };
    return true;
  }

  /** Stores what is only in memory, up to the limits. */
  persist(): void {
    if (!this.durable()) return;
    for (const id in this.entries) {
      const e = this.entries[id];
      if (!e.stored && this.count < MAX_EVENTS && this.bytes + e.raw.length * 2 <= MAX_BYTES && put(this.own() + id, e.raw)) {
        e.stored = true;
        this.grow(e.raw, 1);
      }
    }
  }

  /** Removes an event that is acknowledged or refused. */
  remove(id: string): void {
    const e = this.entries[id];
    if (!e) return;
    if (e.stored) {
      del(this.own() + id);
      this.grow(e.raw, -1);
    }
    delete this.entries[id];
  }

  /** Takes over the events that earlier pages of this tab, or closed tabs, left. */
  async recover(): Promise<void> {
    const take = () => {
      for (const key of keys(this.prefix)) {
        const id = key.slice(key.lastIndexOf(":") + 1);
        const raw = get(key);
        const mine = key.indexOf(this.own()) == 0;
        const age = Date.now() - parseInt(id.replace("-", "").slice(0, 12), 16); // the time in the UUIDv7
        if (this.entries[id] || (!mine && age < ORPHAN)) continue;
        if (!raw || attempt(() => JSON.parse(raw)[1]) != id) {
          del(key); // broken: it would make its whole batch unreadable
          continue;
        }
        if (!mine) {
          if (!put(this.own() + id, raw)) continue;
          del(key);
        }
        this.entries[id] = { id, raw, stored: true };
      }
    };
    const locks = (navigator as any).locks;
    if (!locks) return take();
    // One tab at a time.
    await locks.request("trb:recover", { ifAvailable: true }, async (lock: unknown) => lock && take()).catch(take);
  }

  clear(): void {
    for (const id in this.entries) this.remove(id);
    for (const key of keys(this.prefix)) del(key);
    tabDel(TAB);
    this.tab = "";
    this.count = this.bytes = 0;
  }
}
