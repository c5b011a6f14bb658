// Sends events to the edge by fetch, in batches, while the page is open. After an outage it
// tries again as long as the page is open, and the next page goes on.

import { FOREIGN, foreign, refusal, type Refusal, TOO_LARGE } from "./answer";
import { batchOf } from "./batch";
import { canonical, type Canonical } from "./core";
import { Halving } from "./halve";
import { advice, log, tell } from "./log";
import type { Lost } from "./lost";
import type { Entry, Page } from "./page";
import { attempt } from "./store";

const CHUNK = 60000; // bytes of a batch
const ASK = 500; // ids
const BASE = 1000; // ms
const MOST = 60000; // ms
const TIMEOUT = 30000; // ms, of one attempt
const HELD = 200; // ms: after that a page view that waits for its title is looked at again
const UNANSWERED = 10000; // ms: after that it is asked whether a beacon of this page arrived

export interface Answer {
  status: number;
  /** Where it came from, if that is another address. */
  from: string;
  json: any;
  /** ms */
  wait: number;
}

export class Sender {
  private busy_: Promise<boolean> | undefined;
  private timer_: any;
  private due_ = 0;
  private failures_ = 0;
  private asked_?: boolean; // without credentials, once a page
  private askAt_ = 0; // when to ask for what went by beacon
  private halving_ = new Halving<Entry>(
    (e) => {
      this.page_.entries_.delete(e.id_);
      this.page_.entries_.set(e.id_, e);
    },
    (e) => {
      this.lost_.add_("refused", 1);
      this.remove_(e);
      tell("413", "dropped " + e.raw_[3] + TOO_LARGE);
    },
  );

  constructor(
    private page_: Page,
    private allowed_: () => boolean,
    private remove_: (e: Entry) => void,
    private held_: (e: Entry) => boolean,
    private refused_: (why: Refusal) => void,
    private lost_: Lost,
  ) {}

  /** The page was hidden or left: what went by beacon is asked for later. */
  left_(): void {
    this.askAt_ = Date.now() + UNANSWERED;
    if (this.waiting_().length) this.schedule_(UNANSWERED);
  }

  private waiting_(): Entry[] {
    return [...this.page_.entries_.values()].filter((e) => e.text_);
  }

  /** Sends after ms, or sooner if an earlier call asked for that. */
  schedule_(ms: number): void {
    const at = Date.now() + ms;
    if (this.timer_ && this.due_ <= at) return;
    clearTimeout(this.timer_);
    this.due_ = at;
    this.timer_ = setTimeout(() => {
      this.timer_ = 0;
      this.send_();
    }, ms);
  }

  /** Makes an attempt now. Resolves to true when nothing is left. */
  send_(): Promise<boolean> {
    return (this.busy_ = this.busy_ || this.run_().then((done) => ((this.busy_ = undefined), done)));
  }

  private async run_(): Promise<boolean> {
    for (;;) {
      if (!this.allowed_()) return !this.page_.entries_.size;
      const beacons = this.waiting_().filter((e) => e.sent_);
      const ask = beacons.length && Date.now() >= this.askAt_ ? beacons.slice(0, ASK) : [];
      const fresh = this.waiting_().filter((e) => !e.sent_);
      const batch = this.chunk_(fresh.filter((e) => !this.held_(e)));
      if (!ask.length && !batch.length) {
        if (beacons.length) this.schedule_(Math.max(0, this.askAt_ - Date.now()));
        if (fresh.length) this.schedule_(HELD);
        return !this.page_.entries_.size;
      }
      const wait = await (batch.length ? this.post_(batch) : this.ask_(ask)).catch((error) => (log("not sent, will be tried again", error), 0));
      if (wait < 0) {
        this.failures_ = 0;
        continue;
      }
      if (this.page_.halted_) return false;
      this.failures_++;
      this.schedule_(Math.max(wait, Math.random() * Math.min(MOST, BASE * 2 ** (this.failures_ - 1)))); // full jitter
      return false;
    }
  }

  /** Returns entries of at most CHUNK bytes and BATCH events. A UTF-16 unit has at most three bytes. */
  private chunk_(entries: Entry[]): Entry[] {
    let room = CHUNK - 200;
    const out: Entry[] = [];
    for (const e of entries) {
      const text = e.text_!;
      const size = text.length > CHUNK / 3 - 200 ? new Blob([text]).size : text.length * 3;
      if (!this.halving_.fits_(e, out) || (out.length && size > room)) break;
      room -= size + 1;
      out.push(e);
    }
    return out;
  }

  /** Makes one request. Rejects if the edge does not answer. */
  private async request_(path: string, text: string): Promise<Answer> {
    const once = (credentials: RequestCredentials) =>
      fetch(this.page_.edge_ + path, {
        method: "POST",
        body: text, // as text/plain: a string is that, which needs no preflight
        credentials,
        signal: attempt(() => AbortSignal.timeout(TIMEOUT)), // older browsers have their own timeout
      });
    // With the server's visitor cookie. A page whose origin is not listed can read
    // that only where it sends none.
    const response = await once("include").catch((error) => {
      if (this.asked_) throw error;
      this.asked_ = true;
      return once("omit");
    });
    const after = response.headers.get("Retry-After") || "";
    return {
      status: response.status,
      from: response.redirected ? response.url : "",
      json: (await response.json().catch(() => 0)) || {},
      wait: Math.min(MOST * 10, Math.max(0, +after * 1000 || Date.parse(after) - Date.now() || 0)),
    };
  }

  /**
   * Asks which events that went by beacon have arrived, so that they need not be sent
   * again to get an answer. The others are sent as if they had not been, and so are all
   * where the edge cannot be asked. Resolves as post.
   */
  private async ask_(list: Entry[]): Promise<number> {
    const text = JSON.stringify({ companyId: this.page_.config_!.companyId, eventIds: list.map((e) => e.id_) });
    const answer = await this.request_("/v1/known", text).catch(() => undefined);
    if (answer && (answer.status >= 500 || answer.status == 408 || answer.status == 429)) return answer.wait;
    const known = new Set(answer && Array.isArray(answer.json.known) ? answer.json.known : []);
    for (const e of list) {
      if (known.has(e.id_)) {
        log("arrived by beacon", e.id_);
        this.remove_(e);
      } else e.sent_ = undefined;
    }
    return -1;
  }

  /** Makes one attempt. Resolves to -1 if it was answered, else to the least wait in milliseconds. */
  private async post_(batch: Entry[]): Promise<number> {
    const core = await canonical("[" + batch.map((e) => e.text_) + "]");
    const events = core && core.items && core.items.length == batch.length ? this.texts_(core, batch) : batch;
    const { status, from, json, wait } = await this.request_("/v1/events", batchOf(this.page_.config_!.companyId, events, this.lost_.tell_()));
    if (status == 200 && Array.isArray(json.results)) {
      this.lost_.told_();
      this.halving_.taken_();
      let moved = false;
      for (const r of json.results) {
        const e = this.page_.entries_.get(r.eventId);
        if (!e || !/^(ok|duplicate|rejected)$/.test(r.status)) continue;
        moved = true;
        this.remove_(e);
        if (r.status == "rejected") tell(r.code, "rejected " + e.raw_[3] + ": " + r.message + " (" + r.code + ")." + advice(r.code));
        else log(r.status, e.raw_[3], r.eventId);
      }
      return moved ? -1 : 0;
    }
    if (status == 413) return this.halving_.large_(batch) ? -1 : wait;
    const no = refusal(status, json);
    if (no) {
      tell(no.code, no.text + "." + advice(no.code));
      if (!no.all) {
        this.lost_.add_("refused", batch.length);
        for (const e of batch) this.remove_(e);
      }
      this.refused_(no);
      return -1;
    }
    if (foreign(status)) tell("answer", status + (from && " of " + from) + FOREIGN + advice("not_found"));
    log(status, "will be tried again");
    return wait;
  }

  /** The canonical events. What the core refuses is sent as it was taken, and the edge keeps it with the reason. */
  private texts_(core: Canonical, batch: Entry[]): { text_?: string }[] {
    return core.items.map((item, i) => ({
      text_: item.event || (log("invalid", batch[i].id_, item.code, item.field, item.message), batch[i].text_),
    }));
  }
}
