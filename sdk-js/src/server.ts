// The entry of @tributary-io/sdk/server: for Node, Deno, Bun, workers, and sandboxes
// without a page (Shopify's web pixels). It uses no global but timers, crypto and, unless a
// transport is given, fetch; and those only when a client is used.

import { uuid } from "./id";
import { batchOf } from "./batch";
import type { ClientConfig, Extra, Identity, Storage, Transport } from "./server-types";

declare const VERSION: string; // set by the build

const BATCH = 50;
const CHUNK = 500000; // UTF-16 units of a request: the edge takes 1 MiB
const BASE = 1000; // ms
const MOST = 60000; // ms
const REFUSED = 60000; // ms: the least time between attempts with a key that was refused
const MAX_AGE = 7 * 86400000; // ms: what could not be sent for a week is given up

interface Entry {
  id: string;
  text: string;
}

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
  private config: ClientConfig;
  private url: string;
  private prefix: string;
  private storage: Storage;
  private transport: Transport;
  private entries = new Map<string, Entry>();
  private who: Identity | undefined;
  private stream = "";
  private seq = 0;
  private failures = 0;
  private closed = false;
  private timer: any;
  private due = 0;
  private busy: Promise<boolean> | undefined;
  private recovered: Promise<void> | undefined;
  private told = new Set<string>();

  constructor(config: ClientConfig) {
    if (!config.companyId || !config.endpoint) throw new TypeError("tributary: companyId and endpoint are needed");
    this.config = config;
    this.url = config.endpoint.replace(/\/+$/, "") + "/v1/events";
    this.prefix = "trb:" + config.companyId + ":";
    this.storage = config.storage || memory();
    this.transport = config.transport || overHTTP(config.apiKey);
    if (config.storage) this.recovered = this.recover();
  }

  /**
   * Takes an event at once, with its id and time, and hands it to the storage before it
   * returns. Returns the event's id, or undefined where it was not taken: the client is
   * closed, before_send dropped it, or too many wait.
   */
  track(name: string, payload?: object | null, identity?: Identity | null, extra: Extra = {}): string | undefined {
    if (this.closed || this.entries.size >= (this.config.maxEvents || 1000)) {
      this.tell("full", this.closed ? "not taken: the client is closed" : "not taken: too many events wait");
      return undefined;
    }
    const at = extra.timestamp === undefined ? Date.now() : +extra.timestamp;
    const id = extra.eventId || uuid(at);
    this.stream = this.stream || uuid(0).slice(24);
    let event: any = {
      event: name,
      payload,
      identity: this.who ? { ...this.who, ...identity } : identity,
      context: {
        stream: this.stream,
        seq: ++this.seq,
        library: { name: "sdk-js", version: VERSION },
        ...(this.config.context ? this.config.context() : undefined),
        ...extra.context,
      },
    };
    if (this.config.before_send) event = this.config.before_send(event);
    if (!event) return undefined;
    const text = (value: unknown) => (value === undefined || value === null ? null : JSON.stringify(value));
    const raw = JSON.stringify(["r1", id, new Date(at).toISOString(), event.event, text(event.payload), text(event.identity), event.context]);
    this.entries.set(id, { id, text: raw });
    this.keep(() => this.storage.set(this.prefix + id, raw));
    this.schedule(this.config.linger === undefined ? 1000 : this.config.linger);
    return id;
  }

  /** What is known of the shopper goes with the following events, until reset(). For a client of one shopper. */
  identify(who: Identity): void {
    this.who = { ...this.who, ...who };
  }

  reset(): void {
    this.who = undefined;
  }

  /** Sends what is queued. Resolves to true when nothing is left; an outage does not reject. */
  async flush(): Promise<boolean> {
    if (this.recovered) await this.recovered;
    return this.send();
  }

  /** Takes no more events and sends what is queued, once. Resolves as flush. */
  async close(): Promise<boolean> {
    this.closed = true;
    const done = await this.flush();
    clearTimeout(this.timer);
    return done;
  }

  private schedule(ms: number, mayEnd?: boolean): void {
    const at = Date.now() + ms;
    if (this.timer && this.due <= at) return;
    clearTimeout(this.timer);
    this.due = at;
    this.timer = setTimeout(() => {
      this.timer = undefined;
      this.send();
    }, ms);
    if (mayEnd && this.timer.unref) this.timer.unref(); // an outage keeps no process alive
  }

  private send(): Promise<boolean> {
    return (this.busy = this.busy || this.run().then((done) => ((this.busy = undefined), done)));
  }

  private async run(): Promise<boolean> {
    for (;;) {
      const batch: Entry[] = [];
      let room = CHUNK;
      for (const e of this.entries.values()) {
        if (batch.length == BATCH || (batch.length && (room -= e.text.length) < 0)) break;
        batch.push(e);
      }
      if (!batch.length) return true;
      const wait = await this.post(batch).catch(() => 0);
      if (wait < 0) {
        this.failures = 0;
        continue;
      }
      this.failures++;
      if (!this.closed) this.schedule(Math.max(wait, Math.random() * Math.min(MOST, BASE * 2 ** (this.failures - 1))), true); // full jitter
      return false;
    }
  }

  /** Resolves to -1 if the batch was answered, else to the least wait in milliseconds. */
  private async post(batch: Entry[]): Promise<number> {
    const texts = await this.canonical(batch);
    const { status, body, retryAfter } = await this.transport(this.url, batchOf(this.config.companyId, texts));
    let answer: any = {};
    try {
      answer = JSON.parse(body) || {};
    } catch {}
    if (status == 200 && Array.isArray(answer.results)) {
      let moved = false;
      for (const r of answer.results) {
        if (!this.entries.has(r.eventId) || !/^(ok|duplicate|rejected)$/.test(r.status)) continue;
        moved = true;
        this.remove(r.eventId);
        if (r.status == "rejected") this.tell(r.code, "rejected " + r.eventId + ": " + r.message + " (" + r.code + ")");
      }
      return moved ? -1 : 0;
    }
    if (status >= 400 && status < 500 && status != 408 && status != 429) {
      const { code, message } = answer.error || ({} as any);
      this.tell("" + (code || status), "refused: " + (message || "") + " (" + status + " " + (code || "without a code") + ")");
      if (code == "unauthorized") return REFUSED; // until the key is a right one
      for (const e of batch) this.remove(e.id);
      return -1;
    }
    return Math.min(MOST * 10, Math.max(0, Number(retryAfter) * 1000 || 0));
  }

  /** The canonical events, where a core is given. What it refuses is sent as it was taken: the edge keeps it with the reason. */
  private async canonical(batch: Entry[]): Promise<{ text_?: string }[]> {
    const { core } = this.config;
    if (core) {
      try {
        const { items } = JSON.parse((await core)("[" + batch.map((e) => e.text) + "]", Date.now()));
        if (items.length == batch.length) return batch.map((e, i) => ({ text_: items[i].event || e.text }));
      } catch {}
    }
    return batch.map((e) => ({ text_: e.text }));
  }

  private remove(id: string): void {
    this.entries.delete(id);
    this.keep(() => this.storage.remove(this.prefix + id));
  }

  /** Storage may fail: what is in memory is sent all the same. */
  private keep(f: () => unknown): void {
    try {
      Promise.resolve(f()).catch((error) => this.tell("storage", "the storage failed: " + error));
    } catch (error) {
      this.tell("storage", "the storage failed: " + error);
    }
  }

  /** Takes over what an earlier life of the host left in the storage. */
  private async recover(): Promise<void> {
    try {
      for (const key of await this.storage.keys()) {
        if (!key.startsWith(this.prefix)) continue;
        const id = key.slice(this.prefix.length);
        if (this.entries.has(id) || this.entries.size >= (this.config.maxEvents || 1000)) continue;
        const text = await this.storage.get(key);
        let raw: any;
        try {
          raw = JSON.parse(text!);
        } catch {}
        if (!raw || raw[1] != id || Date.now() - Date.parse(raw[2]) > MAX_AGE) this.keep(() => this.storage.remove(key));
        else this.entries.set(id, { id, text: text! });
      }
    } catch (error) {
      this.tell("storage", "the storage failed: " + error);
    }
    if (this.entries.size) this.schedule(0);
  }

  private tell(code: string, message: string): void {
    if (this.config.onError) return this.config.onError({ code, message });
    if (this.told.has(code)) return;
    this.told.add(code);
    console.error("[tributary] " + message);
  }
}
