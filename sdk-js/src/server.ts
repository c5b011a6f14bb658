// The entry of @tributary-io/sdk/server: for Node, Deno, Bun, workers, and sandboxes
// without a page (Shopify's web pixels). It uses no global but timers, crypto if there is one, and, unless a
// transport is given, fetch; and those only when a client is used.

import { FOREIGN, foreign, refusal, TOO_LARGE } from "./answer";
import { batchOf } from "./batch";
import { Halving } from "./halve";
import { uuid } from "./id";
import { Lost, type Reason } from "./lost";
import type { Identity } from "./event-types";
import type { ClientConfig, Extra, Storage, Transport } from "./server-types";

declare const VERSION: string; // set by the build

const node = (globalThis as any).process?.versions?.node;
if (parseInt(node) < 20) throw new Error("@tributary-io/sdk needs Node 20 or later, not " + node);

const CHUNK = 300000; // UTF-16 units of a request, of at most 3 bytes each: the edge takes 1 MiB
const LARGEST = 32640; // bytes of what an event says; with its id and time that is the edge's bound of 32 KiB
const LEAST = 1e11; // ms: the edge's least time; one in seconds is less
const BASE = 1000; // ms
const MOST = 60000; // ms
const CLOSING = 5000; // ms: the same within close
const REFUSED = 60000; // ms: the least time between attempts with a key that was refused
const TOLD = 1000; // ms: how long drops wait for others, to be told of together
const MAX_AGE = 7 * 86400000; // ms: what could not be sent for a week is given up

interface Entry {
  id: string;
  text: string;
  large_?: 1;
}

/** An id. Shopify's strict sandbox has no crypto; an id need not be a secret. */
const newID = (at: number): string => uuid(at, globalThis.crypto ? undefined : Uint8Array.from({ length: 9 }, () => Math.random() * 256));

const memory = (): Storage => {
  const all = new Map<string, string>();
  return { get: (key) => all.get(key), set: (key, value) => void all.set(key, value), remove: (key) => void all.delete(key), keys: () => Array.from(all.keys()) };
};

/** Nobody between here and there can read what is sent. */
const isPrivate = (endpoint: string): boolean => /^(https:|http:\/\/(localhost|127\.[\d.]+|\[::1])(:\d+)?([/?#]|$))/i.test(endpoint);

/** The length in UTF-8. A strict sandbox has neither TextEncoder nor encodeURI. */
const bytes = (text: string): number => text.replace(/[\u0800-\ud7ff\ue000-\uffff]/g, "___").replace(/[^\0-\x7f]/g, "__").length;

/** What any header may have; fetch's own error would say the key. */
const checked = (key: string): string => {
  if (/[^!-~]/.test(key)) throw new Error("tributary: apiKey has a space, a line break or a character outside ASCII");
  return key;
};

const overHTTP =
  (apiKey?: ClientConfig["apiKey"]): ((...of: Parameters<Transport>) => Promise<Awaited<ReturnType<Transport>> & { from?: string }>) =>
  async (url, body, signal) => {
    const headers: Record<string, string> = { "Content-Type": "text/plain" };
    if (apiKey) headers.Authorization = "Bearer " + checked(typeof apiKey == "string" ? apiKey : await apiKey());
    const response = await fetch(url, { method: "POST", body, headers, keepalive: !apiKey && body.length < 20000, signal });
    return { status: response.status, body: await response.text(), retryAfter: response.headers.get("Retry-After"), from: response.redirected ? response.url : "" };
  };

/** Takes events, keeps them until they are acknowledged, and sends them in batches. */
export class Client {
  private config_: ClientConfig;
  private url_: string;
  private prefix_: string;
  private storage_: Storage;
  private transport_: ReturnType<typeof overHTTP>;
  private entries_ = new Map<string, Entry>();
  private who_: Identity | undefined;
  private stream_?: string;
  private seq_ = 0;
  private failures_ = 0;
  private out_?: boolean; // an outage, which is told of
  private closed_?: boolean;
  private closing_?: boolean; // a fault is tried again until the time is over
  private halted_?: boolean; // every request would be refused
  private halving_ = new Halving<Entry>(
    (e) => {
      this.entries_.delete(e.id);
      this.entries_.set(e.id, e);
    },
    (e) => {
      this.lose_("refused", 1);
      this.remove_(e.id);
      this.tell_("too_large", "dropped " + e.id + TOO_LARGE, [e]);
    },
  );
  private lost_ = new Lost();
  private timer_: any;
  private due_ = 0;
  private busy_: Promise<boolean> | undefined;
  private recovered_: Promise<void> | undefined; // while it goes on
  private unread_ = 0; // stored by an earlier life, and too many for this one
  private gone_?: boolean; // an event was lost
  private abort_: (() => void) | undefined; // gives the request up
  private drops_: { [code: string]: { events: number; event?: string } } = {}; // not told of yet
  private dropTimer_: any;
  private told_ = new Set<string>();

  constructor(config: ClientConfig) {
    if (!config.companyId || !config.endpoint) throw new TypeError("tributary: companyId and endpoint are needed");
    if (!/^https?:\/\/[^/]/i.test(config.endpoint)) throw new TypeError("tributary: endpoint is an http or https URL, not " + config.endpoint);
    if (config.apiKey && !isPrivate(config.endpoint))
      throw new TypeError("tributary: apiKey needs an https endpoint or a loopback host: over http others could read the key");
    if (typeof config.apiKey == "string") checked(config.apiKey);
    this.config_ = config;
    this.url_ = config.endpoint.replace(/(\/v1\/events)?\/*$/, "") + "/v1/events";
    this.prefix_ = "trb:" + config.companyId + ":";
    this.storage_ = config.storage || memory();
    this.transport_ = config.transport || overHTTP(config.apiKey);
    if (config.storage) this.recovered_ = this.recover_().then(() => (this.recovered_ = undefined));
  }

  /**
   * Takes an event at once, with its id and time, and hands it to the storage before it
   * returns. Returns the event's id, or undefined where it was not taken: before_send dropped
   * it, or onError has the reason. It never throws.
   */
  track(name: string, payload?: object | null, identity?: Identity | null, extra?: Extra): string | undefined {
    try {
      return this.take_(name, payload, identity, extra || {});
    } catch (error) {
      const event = typeof name == "string" ? name : undefined;
      this.tell_("invalid_event", "not taken: " + event, [], event, error, 1);
      return undefined;
    }
  }

  private take_(name: string, payload: unknown, identity: Identity | null | undefined, extra: Extra): string | undefined {
    if (this.closed_) return this.drop_("closed", name);
    if (this.entries_.size >= (this.config_.maxEvents || 1000)) {
      this.seq_++; // so that it can be seen that one is lost
      this.lose_("queue_full", 1);
      return this.drop_("full", name);
    }
    const at = extra.timestamp === undefined ? Date.now() : +extra.timestamp;
    if (extra.timestamp !== undefined && at < LEAST) throw new TypeError("timestamp is not in milliseconds: " + at);
    const time = new Date(at).toISOString();
    const id = extra.eventId || newID(at);
    const who: any = this.object_(identity, "identity");
    let event: any = {
      event: name,
      payload,
      identity: this.who_ ? { ...this.who_, ...who } : who,
      context: { library: { name: "sdk-js", version: VERSION }, ...this.flat_(this.config_.context && this.config_.context()), ...this.flat_(extra.context) },
    };
    if (this.config_.before_send) event = this.config_.before_send(event);
    if (!event) return undefined;
    if (typeof event.event != "string") throw new TypeError("its name is no text");
    const text = (value: unknown) => (value === undefined || value === null ? null : JSON.stringify(value));
    const parts = ["r1", id, time, event.event, text(event.payload), text(event.identity)];
    let context = JSON.stringify({ ...event.context });
    if (parts.join(context).length > LARGEST || bytes(parts.slice(3).join() + context) > LARGEST) {
      this.tell_("event_too_large", "not taken: " + name + " is larger than 32 KiB", [], name);
      return undefined;
    }
    // Only what is taken is numbered: a gap in the numbers is a lost event.
    this.stream_ = this.stream_ || newID(0).slice(24);
    context = JSON.stringify({ stream: this.stream_, seq: ++this.seq_, ...JSON.parse(context) });
    const raw = JSON.stringify(parts).slice(0, -1) + "," + context + "]";
    this.entries_.set(id, { id, text: raw });
    this.keep_(() => this.storage_.set(this.prefix_ + id, raw));
    this.schedule_(this.config_.linger === undefined ? 1000 : this.config_.linger);
    return id;
  }

  /** What is known of the shopper goes with the following events, until reset(). For a client of one shopper. */
  identify(who: Identity): void {
    this.who_ = { ...this.who_, ...this.object_(who, "identity") };
  }

  reset(): void {
    this.who_ = undefined;
  }

  /** Sends what is queued. Resolves to true when nothing is left; an outage does not reject. */
  async flush(): Promise<boolean> {
    this.tellDrops_();
    if (this.recovered_) await this.recovered_;
    this.halted_ = false; // whoever flushes may have mended what was refused
    return this.send_();
  }

  /**
   * Takes no more events and sends what is queued, for at most timeout milliseconds: after a fault
   * it tries again. Resolves to true where nothing is left and nothing was lost in this client's
   * life; else onError hears how many are left, as it heard of each that was lost.
   */
  async close({ timeout = 30000 }: { timeout?: number } = {}): Promise<boolean> {
    this.closed_ = this.closing_ = true;
    this.failures_ = 0; // it waits no longer for an outage that was
    clearTimeout(this.timer_);
    this.timer_ = undefined;
    let timer: any;
    await Promise.race([this.flush(), new Promise((done) => (timer = setTimeout(done, timeout)))]);
    clearTimeout(timer);
    this.closing_ = false;
    this.halted_ = true; // the time is over
    if (this.abort_) this.abort_();
    this.tellDrops_();
    const left = this.entries_.size + this.unread_;
    if (left) this.tell_("left", (this.config_.storage ? "kept in the storage, not sent: " : "lost, not sent before the end: ") + left, [...this.entries_.values()], undefined, undefined, left);
    return !left && !this.recovered_ && !this.gone_;
  }

  /** What is no object would be spread into its letters: it is left out. */
  private object_(value: any, what: string): any {
    if (!value || (typeof value == "object" && !Array.isArray(value))) return value;
    this.tell_("invalid_argument", what + " is no object: left out");
  }

  /** A context as it is sent: the members of page stand beside the others. */
  private flat_(context: any): object {
    const { page, ...more } = this.object_(context, "context") || {};
    return { ...this.object_(page, "context.page"), ...more };
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
        if (!this.halving_.fits_(e, batch) || (batch.length && (room -= e.text.length) < 0)) break;
        batch.push(e);
      }
      if (!batch.length) return true;
      const wait = await this.post_(batch).catch((error) => {
        if (!this.halted_) this.unanswered_("no answer, the events are sent again", (error && error.cause) || error);
        return 0;
      });
      if (wait < 0) {
        this.failures_ = 0;
        this.out_ = false;
        continue;
      }
      if (this.halted_) return false;
      this.failures_++;
      const ms = Math.max(wait, Math.random() * Math.min(this.closing_ ? CLOSING : MOST, BASE * 2 ** (this.failures_ - 1))); // full jitter
      if (!this.closing_) {
        if (!this.closed_) this.schedule_(ms, true);
        return false;
      }
      let timer: any;
      await new Promise<void>((done) => (timer = setTimeout((this.abort_ = done), ms)));
      clearTimeout(timer);
    }
  }

  /** Resolves to -1 if the batch was answered, else to the least wait in milliseconds. */
  private async post_(batch: Entry[]): Promise<number> {
    const { status, body, retryAfter, from } = await this.within_(async (signal) => {
      const texts = await this.canonical_(batch);
      return this.transport_(this.url_, batchOf(this.config_.companyId, texts, this.lost_.tell_()), signal);
    });
    let answer: any = {};
    try {
      answer = JSON.parse(body) || {};
    } catch {}
    if (status == 200 && Array.isArray(answer.results)) {
      this.lost_.told_();
      this.halving_.taken_();
      let moved = false;
      for (const r of answer.results) {
        if (!this.entries_.has(r.eventId) || !/^(ok|duplicate|rejected)$/.test(r.status)) continue;
        moved = true;
        if (r.status == "rejected") {
          this.gone_ = true;
          this.tell_(r.code, "rejected " + r.eventId + ": " + r.message + " (" + r.code + ")", [this.entries_.get(r.eventId)!]);
        }
        this.remove_(r.eventId);
      }
      return moved ? -1 : 0;
    }
    if (status == 413 && this.halving_.large_(batch)) return -1;
    const no = refusal(status, answer);
    if (no) {
      this.out_ = false;
      this.tell_(no.code, no.text, batch);
      if (no.code == "unauthorized" && !this.closing_) return REFUSED; // until the key is a right one
      if (no.all) {
        this.halted_ = true; // the events are kept for a client, or a flush, with better settings
        return 0;
      }
      this.lose_("refused", batch.length);
      for (const e of batch) this.remove_(e.id);
      return -1;
    }
    this.unanswered_(status + (from ? " after a redirect to " + from : "") + (foreign(status) ? FOREIGN : ": the events are sent again"));
    return Math.min(MOST * 10, Math.max(0, Number(retryAfter) * 1000 || 0));
  }

  /** An attempt, which ends when the configured time is over or abort_ is called. What comes later is ignored. */
  private async within_<T>(attempt: (signal?: AbortSignal) => Promise<T>): Promise<T> {
    const most = this.config_.timeout || 10000;
    const stop = globalThis.AbortController && new AbortController();
    let timer: any;
    const end = new Promise<never>((_, reject) => {
      this.abort_ = () => {
        reject("none within " + most + " ms");
        if (stop) stop.abort();
      };
      timer = setTimeout(this.abort_, most);
    });
    try {
      return await Promise.race([attempt(stop && stop.signal), end]);
    } finally {
      clearTimeout(timer);
      this.abort_ = undefined;
    }
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
  private async keep_(f: () => unknown): Promise<void> {
    try {
      await f();
    } catch (error) {
      this.failed_(error);
    }
  }

  /** Once in an outage. */
  private unanswered_(message: string, error?: any): void {
    if (!this.out_) this.tell_("no_answer", message, [], undefined, (error && (error.message || error.code)) || error);
    this.out_ = true;
  }

  private failed_(error: unknown): void {
    this.tell_("storage", "the storage failed", [], undefined, error);
  }

  /** Takes over what an earlier life of the host left in the storage. */
  private async recover_(): Promise<void> {
    try {
      for (const key of await this.storage_.keys()) {
        if (!key.startsWith(this.prefix_)) continue;
        const id = key.slice(this.prefix_.length);
        if (this.entries_.has(id)) continue;
        if (this.entries_.size >= (this.config_.maxEvents || 1000)) {
          this.unread_++;
          continue;
        }
        const text = await this.storage_.get(key);
        let raw: any;
        try {
          raw = JSON.parse(text!);
        } catch {}
        if (raw && raw[1] == id && Date.now() - Date.parse(raw[2]) <= MAX_AGE) this.entries_.set(id, { id, text: text! });
        else {
          this.lose_(raw && raw[1] == id ? "expired" : "unreadable", 1);
          this.keep_(() => this.storage_.remove(key));
        }
      }
    } catch (error) {
      this.gone_ = true; // what it has is not known
      this.failed_(error);
    }
    if (this.entries_.size && !this.closed_) this.schedule_(0);
  }

  private lose_(reason: Reason, events: number): void {
    this.gone_ = true;
    this.lost_.add_(reason, events);
  }

  /** An event is not taken. Many are told of together. */
  private drop_(code: string, event: string): undefined {
    (this.drops_[code] = this.drops_[code] || { events: 0, event }).events++;
    this.dropTimer_ = this.dropTimer_ || setTimeout(() => this.tellDrops_(), TOLD);
  }

  private tellDrops_(): void {
    clearTimeout(this.dropTimer_);
    this.dropTimer_ = undefined;
    const drops = this.drops_;
    this.drops_ = {};
    for (const code in drops) {
      const { events, event } = drops[code];
      this.tell_(code, events + " not taken, the first " + event + ": " + (code == "full" ? "too many events wait" : "the client is closed"), [], event, undefined, events);
    }
  }

  /** Tells of entries, or of an event that is none. Whatever onError does, it never throws. */
  private tell_(code: string, message: string, entries: Entry[] = [], event?: string, error?: unknown, events = entries.length || (event === undefined ? undefined : 1)): void {
    try {
      if (error !== undefined) message += ": " + error;
    } catch {}
    try {
      const { onError } = this.config_;
      if (onError) {
        const [e] = entries;
        const told = { code, message, eventId: events == 1 && e ? e.id : undefined, event: events == 1 && e ? JSON.parse(e.text)[3] : event, events };
        Promise.resolve(onError(told)).catch(() => {});
      } else if (!this.told_.has(code)) {
        this.told_.add(code);
        console.error("[tributary] " + message);
      }
    } catch {}
  }
}
