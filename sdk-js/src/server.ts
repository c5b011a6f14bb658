// The entry of @tributary-io/sdk/server: for Node, Deno, Bun, workers, and sandboxes
// without a page (Shopify's web pixels). It uses no global but timers, crypto if there is one, and, unless a
// transport is given, fetch; and those only when a client is used.

import { uuid } from "./id";
import { batchOf } from "./batch";
import { Lost } from "./lost";
import type { ClientConfig, Extra, Identity, Storage, Transport } from "./server-types";

declare const VERSION: string; // set by the build

const node = (globalThis as any).process?.versions?.node;
if (parseInt(node) < 20) throw new Error("@tributary-io/sdk needs Node 20 or later, not " + node);

const BATCH = 50;
const CHUNK = 500000; // UTF-16 units of a request: the edge takes 1 MiB
const BASE = 1000; // ms
const MOST = 60000; // ms
/** Codes by which the edge refuses all of a client's requests: its settings must be mended. */
const SETTINGS = /^(unknown_company|company_archived|insufficient_scope|key_in_browser|origin_not_allowed|not_found)$/;
const REFUSED = 60000; // ms: the least time between attempts with a key that was refused
const MAX_AGE = 7 * 86400000; // ms: what could not be sent for a week is given up

interface Entry {
  id: string;
  text: string;
}

/** An id. Shopify's strict sandbox has no crypto; an id need not be a secret. */
const newID = (at: number): string => uuid(at, globalThis.crypto ? undefined : Uint8Array.from({ length: 9 }, () => Math.random() * 256));

const memory = (): Storage => {
  const all = new Map<string, string>();
  return { get: (key) => all.get(key), set: (key, value) => void all.set(key, value), remove: (key) => void all.delete(key), keys: () => Array.from(all.keys()) };
};

const overHTTP =
  (apiKey?: ClientConfig["apiKey"]): Transport =>
  async (url, body) => {
    const headers: Record<string, string> = { "Content-Type": "text/plain" };
    if (apiKey) headers.Authorization = "Bearer " + (typeof apiKey == "string" ? apiKey : await apiKey());
    const response = await fetch(url, { method: "POST", body, headers, keepalive: !apiKey && body.length < 20000 });
    return { status: response.status, body: await response.text(), retryAfter: response.headers.get("Retry-After") };
  };

/** Takes events, keeps them until they are acknowledged, and sends them in batches. */
export class Client {
  private config_: ClientConfig;
  private url_: string;
  private prefix_: string;
  private storage_: Storage;
  private transport_: Transport;
  private entries_ = new Map<string, Entry>();
  private who_: Identity | undefined;
  private stream_ = "";
  private seq_ = 0;
  private failures_ = 0;
  private closed_ = false;
  private halted_ = false; // every request would be refused
  private lost_ = new Lost();
  private timer_: any;
  private due_ = 0;
  private busy_: Promise<boolean> | undefined;
  private recovered_: Promise<void> | undefined;
  private told_ = new Set<string>();

  constructor(config: ClientConfig) {
    if (!config.companyId || !config.endpoint) throw new TypeError("tributary: companyId and endpoint are needed");
    this.config_ = config;
    this.url_ = config.endpoint.replace(/\/+$/, "") + "/v1/events";
    this.prefix_ = "trb:" + config.companyId + ":";
    this.storage_ = config.storage || memory();
    this.transport_ = config.transport || overHTTP(config.apiKey);
    if (config.storage) this.recovered_ = this.recover_();
  }

  /**
   * Takes an event at once, with its id and time, and hands it to the storage before it
   * returns. Returns the event's id, or undefined where it was not taken: the client is
   * closed, before_send dropped it, or too many wait.
   */
  track(name: string, payload?: object | null, identity?: Identity | null, extra: Extra = {}): string | undefined {
    if (this.closed_ || this.entries_.size >= (this.config_.maxEvents || 1000)) {
      if (!this.closed_) {
        this.seq_++; // so that it can be seen that one is lost
        this.lost_.add_("queue_full", 1);
      }
      this.tell_("full", this.closed_ ? "not taken: the client is closed" : "not taken: too many events wait");
      return undefined;
    }
    const at = extra.timestamp === undefined ? Date.now() : +extra.timestamp;
    const id = extra.eventId || newID(at);
    this.stream_ = this.stream_ || newID(0).slice(24);
    let event: any = {
      event: name,
      payload,
      identity: this.who_ ? { ...this.who_, ...identity } : identity,
      context: {
        stream: this.stream_,
        seq: ++this.seq_,
        library: { name: "sdk-js", version: VERSION },
        ...(this.config_.context ? this.config_.context() : undefined),
        ...extra.context,
      },
    };
    if (this.config_.before_send) event = this.config_.before_send(event);
    if (!event) {
      this.seq_--;
      return undefined;
    }
    const text = (value: unknown) => (value === undefined || value === null ? null : JSON.stringify(value));
    const raw = JSON.stringify(["r1", id, new Date(at).toISOString(), event.event, text(event.payload), text(event.identity), event.context]);
    this.entries_.set(id, { id, text: raw });
    this.keep_(() => this.storage_.set(this.prefix_ + id, raw));
    this.schedule_(this.config_.linger === undefined ? 1000 : this.config_.linger);
    return id;
  }

  /** What is known of the shopper goes with the following events, until reset(). For a client of one shopper. */
  identify(who: Identity): void {
    this.who_ = { ...this.who_, ...who };
  }

  reset(): void {
    this.who_ = undefined;
  }

  /** Sends what is queued. Resolves to true when nothing is left; an outage does not reject. */
  async flush(): Promise<boolean> {
    if (this.recovered_) await this.recovered_;
    this.halted_ = false; // whoever flushes may have mended what was refused
    return this.send_();
  }

  /** Takes no more events and sends what is queued, once. Resolves as flush. */
  async close(): Promise<boolean> {
    this.closed_ = true;
    const done = await this.flush();
    clearTimeout(this.timer_);
    return done;
  }

  private schedule_(ms: number, mayEnd?: boolean): void {
    const at = Date.now() + ms;
    if (this.timer_ && this.due_ <= at) return;
    clearTimeout(this.timer_);
    this.due_ = at;
    this.timer_ = setTimeout(() => {
      this.timer_ = undefined;
      this.send_();
    }, ms);
    if (mayEnd && this.timer_.unref) this.timer_.unref(); // an outage keeps no process alive
  }

  private send_(): Promise<boolean> {
    return (this.busy_ = this.busy_ || this.run_().then((done) => ((this.busy_ = undefined), done)));
  }

  private async run_(): Promise<boolean> {
    for (;;) {
      if (this.halted_) return !this.entries_.size;
      const batch: Entry[] = [];
      let room = CHUNK;
      for (const e of this.entries_.values()) {
        if (batch.length == BATCH || (batch.length && (room -= e.text.length) < 0)) break;
        batch.push(e);
      }
      if (!batch.length) return true;
      const wait = await this.post_(batch).catch(() => 0);
      if (wait < 0) {
        this.failures_ = 0;
        continue;
      }
      if (this.halted_) return false;
      this.failures_++;
      if (!this.closed_) this.schedule_(Math.max(wait, Math.random() * Math.min(MOST, BASE * 2 ** (this.failures_ - 1))), true); // full jitter
      return false;
    }
  }

  /** Resolves to -1 if the batch was answered, else to the least wait in milliseconds. */
  private async post_(batch: Entry[]): Promise<number> {
    const texts = await this.canonical_(batch);
    const { status, body, retryAfter } = await this.transport_(this.url_, batchOf(this.config_.companyId, texts, this.lost_.tell_()));
    let answer: any = {};
    try {
      answer = JSON.parse(body) || {};
    } catch {}
    if (status == 200 && Array.isArray(answer.results)) {
      this.lost_.told_();
      let moved = false;
      for (const r of answer.results) {
        if (!this.entries_.has(r.eventId) || !/^(ok|duplicate|rejected)$/.test(r.status)) continue;
        moved = true;
        this.remove_(r.eventId);
        if (r.status == "rejected") this.tell_(r.code, "rejected " + r.eventId + ": " + r.message + " (" + r.code + ")");
      }
      return moved ? -1 : 0;
    }
    if (status >= 400 && status < 500 && status != 408 && status != 429) {
      const { code, message } = answer.error || ({} as any);
      this.tell_("" + (code || status), "refused: " + (message || "") + " (" + status + " " + (code || "without a code") + ")");
      if (code == "unauthorized") return REFUSED; // until the key is a right one
      if (SETTINGS.test(code)) {
        this.halted_ = true; // the events are kept for a client, or a flush, with better settings
        return 0;
      }
      this.lost_.add_("refused", batch.length);
      for (const e of batch) this.remove_(e.id);
      return -1;
    }
    return Math.min(MOST * 10, Math.max(0, Number(retryAfter) * 1000 || 0));
  }

  /** The canonical events, where a core is given. What it refuses is sent as it was taken: the edge keeps it with the reason. */
  private async canonical_(batch: Entry[]): Promise<{ text_?: string }[]> {
    const { core } = this.config_;
    if (core) {
      try {
        const { items } = JSON.parse((await core)("[" + batch.map((e) => e.text) + "]", Date.now()));
        if (items.length == batch.length) return batch.map((e, i) => ({ text_: items[i].event || e.text }));
      } catch {}
    }
    return batch.map((e) => ({ text_: e.text }));
  }

  private remove_(id: string): void {
    this.entries_.delete(id);
    this.keep_(() => this.storage_.remove(this.prefix_ + id));
  }

  /** Storage may fail: what is in memory is sent all the same. */
  private keep_(f: () => unknown): void {
    try {
      Promise.resolve(f()).catch((error) => this.tell_("storage", "the storage failed: " + error));
    } catch (error) {
      this.tell_("storage", "the storage failed: " + error);
    }
  }

  /** Takes over what an earlier life of the host left in the storage. */
  private async recover_(): Promise<void> {
    try {
      for (const key of await this.storage_.keys()) {
        if (!key.startsWith(this.prefix_)) continue;
        const id = key.slice(this.prefix_.length);
        if (this.entries_.has(id) || this.entries_.size >= (this.config_.maxEvents || 1000)) continue;
        const text = await this.storage_.get(key);
        let raw: any;
        try {
          raw = JSON.parse(text!);
        } catch {}
        if (raw && raw[1] == id && Date.now() - Date.parse(raw[2]) <= MAX_AGE) this.entries_.set(id, { id, text: text! });
        else {
          this.lost_.add_(raw && raw[1] == id ? "expired" : "unreadable", 1);
          this.keep_(() => this.storage_.remove(key));
        }
      }
    } catch (error) {
      this.tell_("storage", "the storage failed: " + error);
    }
    if (this.entries_.size) this.schedule_(0);
  }

  private tell_(code: string, message: string): void {
    if (this.config_.onError) return this.config_.onError({ code, message });
    if (this.told_.has(code)) return;
    this.told_.add(code);
    console.error("[tributary] " + message);
  }
}
