// Sends events to the edge: batches by fetch while the page is open, beacons when
// it may be about to close. What is refused (4xx) is never sent again. After
// an outage it is sent again as long as the page is open, and by the next page.

import { Canonical, canonical } from "./core";
import { Entry, Queue } from "./queue";
import { attempt } from "./store";

const CHUNK = 60000; // bytes: browsers refuse beacons of 64 KiB
const BATCH = 50;
const BASE = 1000; // ms
const MOST = 60000; // ms
const TIMEOUT = 30000; // ms, of one attempt
const UNANSWERED = 30000; // ms: what was sent by beacon is sent again after this, to get an answer

export class Sender {
  private url: string;
  private busy: Promise<boolean> | undefined;
  private timer: any;
  private due = 0;
  private failures = 0;
  private asked = false; // without credentials, once a page
  private told = 0; // the last refusal's status, which the console was told

  constructor(
    private company: string,
    endpoint: string,
    private queue: Queue,
    private allowed: () => boolean,
    private log: (...what: unknown[]) => void,
  ) {
    this.url = endpoint + "/v1/events";
  }

  private body(events: string[]): string {
    return '{"companyId":' + JSON.stringify(this.company) + ',"sentAt":"' + new Date().toISOString() + '","events":[' + events.join() + "]}";
  }

  /** Returns entries of at most CHUNK bytes and BATCH events. A UTF-16 unit has at most three bytes. */
  private chunk(entries: Entry[]): Entry[] {
    let room = CHUNK - 200;
    const out: Entry[] = [];
    for (const e of entries) {
      const size = e.raw.length > CHUNK / 3 - 200 ? new Blob([e.raw]).size : e.raw.length * 3;
      if (out.length == BATCH || (out.length && size > room)) break;
      room -= size + 1;
      out.push(e);
    }
    return out;
  }

  private waiting(): Entry[] {
    const all = this.queue.entries;
    return Object.keys(all).map((id) => all[id]);
  }

  /** Sends after ms, or sooner if an earlier call asked for that. */
  schedule(ms: number): void {
    const at = Date.now() + ms;
    if (this.timer && this.due <= at) return;
    clearTimeout(this.timer);
    this.due = at;
    this.timer = setTimeout(() => {
      this.timer = 0;
      this.send();
    }, ms);
  }

  /** Makes an attempt now. Resolves to true when nothing is left. */
  send(): Promise<boolean> {
    return (this.busy = this.busy || this.run().then((done) => ((this.busy = undefined), done)));
  }

  private async run(): Promise<boolean> {
    for (;;) {
      const batch = this.allowed() ? this.chunk(this.waiting().filter((e) => !(e.beaconed! > Date.now() - UNANSWERED))) : [];
      if (!batch.length) return !this.waiting().length;
      const wait = await this.post(batch).catch((error) => (this.log("not sent, will be tried again", error), 0));
      if (wait < 0) {
        this.failures = 0;
        continue;
      }
      this.failures++;
      const ceiling = Math.min(MOST, BASE * 2 ** (this.failures - 1));
      this.schedule(Math.max(wait, Math.random() * ceiling)); // full jitter
      return false;
    }
  }

  /** Makes one attempt. Resolves to -1 if it was answered, else to the least wait in milliseconds. Rejects if the edge does not answer. */
  private async post(batch: Entry[]): Promise<number> {
    const raws = batch.map((e) => e.raw);
    const core = await canonical("[" + raws.join() + "]");
    const events = core && core.items && core.items.length == batch.length ? this.texts(core, batch) : raws;
    const ask = (credentials: RequestCredentials) =>
      fetch(this.url, {
        method: "POST",
        body: this.body(events),
        credentials,
        headers: { "Content-Type": "text/plain" }, // needs no preflight
        signal: attempt(() => AbortSignal.timeout(TIMEOUT)), // older browsers have their own timeout
      });
    // With the server's visitor cookie. A page whose origin is not listed can read
    // that only where it sends none.
    const response = await ask("include").catch((error) => {
      if (this.asked) throw error;
      this.asked = true;
      return ask("omit");
    });
    const answer: any = (await response.json().catch(() => 0)) || {};
    const status = response.status;
    if (status == 200 && answer.results) {
      let moved = false;
      for (const r of answer.results) {
        if (/^(ok|duplicate|rejected)$/.test(r.status)) {
          moved = moved || !!this.queue.entries[r.eventId];
          this.queue.remove(r.eventId);
          this.log(r.status, r.eventId, r.code || "", r.message || "");
        }
      }
      return moved ? -1 : 0;
    }
    if (status >= 400 && status < 500 && status != 408 && status != 429) {
      const { code, message } = answer.error || ({} as any);
      this.log("refused", status, code);
      if (this.told != status) console.error("[tributary] refused", (this.told = status), code, message);
      if (code == "origin_not_allowed") return 0; // it may be allowed soon: the message says how
      for (const e of batch) this.queue.remove(e.id);
      this.queue.dropped += batch.length;
      return -1;
    }
    const after = response.headers.get("Retry-After") || "";
    this.log(status, "will be tried again");
    return Math.min(MOST * 10, Math.max(0, +after * 1000 || Date.parse(after) - Date.now() || 0));
  }

  /** Returns the canonical events. What the core refuses is sent as it was taken, and the edge keeps it with the reason. */
  private texts(core: Canonical, batch: Entry[]): string[] {
    return core.items.map((item, i) => item.event || (this.log("invalid", batch[i].id, item.code, item.field, item.message), batch[i].raw));
  }

  /** Sends what is not acknowledged by beacon, when the page may be about to close. It stays stored. */
  beacon(): void {
    if (!this.allowed()) return;
    let left = this.waiting().filter((e) => !e.beaconed);
    if (left.length) setTimeout(() => this.send(), UNANSWERED + 1);
    while (left.length) {
      const part = this.chunk(left);
      left = left.slice(part.length);
      const body = this.body(part.map((e) => e.raw));
      const sent = attempt(() => navigator.sendBeacon(this.url, new Blob([body], { type: "text/plain" })));
      for (const e of part) e.beaconed = sent ? Date.now() : 0;
      if (!sent) attempt(() => fetch(this.url, { method: "POST", body, keepalive: true, credentials: "include", headers: { "Content-Type": "text/plain" } }).catch(() => {}));
    }
  }
}
