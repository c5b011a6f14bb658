// The public types of @tributary-io/sdk/server. This file becomes dist/server.d.ts, so
// it has no imports and no code.

/** What is known of the shopper. Only keyed hashes of it are kept, and they are made at the edge. */
export interface Identity {
  email?: string | null;
  phone?: string | null;
  customer_id?: string | null;
  cart_token?: string | null;
}

/** Keeps texts by key. Each method may return a promise. What set has begun must survive the host's end. */
export interface Storage {
  get(key: string): Promise<string | null | undefined> | string | null | undefined;
  set(key: string, value: string): Promise<void> | void;
  remove(key: string): Promise<void> | void;
  keys(): Promise<readonly string[]> | readonly string[];
}

/** Posts a body of text/plain. It rejects where no answer came. */
export type Transport = (url: string, body: string) => Promise<{ status: number; body: string; retryAfter?: string | number | null }>;

/** An event as before_send sees it. */
export interface Draft {
  event: string;
  payload?: unknown;
  identity?: Identity | null;
  context: { [more: string]: unknown };
}

export interface ClientConfig {
  companyId: string;
  /** The edge: origin and prefix. */
  endpoint: string;
  /** An API key, for a backend, or what returns it: asked at each attempt. Never in a page. */
  apiKey?: string | (() => string | Promise<string>);
  /** Where events are kept until they are acknowledged. Default: memory. */
  storage?: Storage;
  /** Default: fetch. */
  transport?: Transport;
  /** The core, of load() of @tributary-io/core-wasm. Without it the edge does its work. */
  core?: Promise<(body: string, now: number) => string>;
  /** What every event says of where it happened: url, referrer, title, visitorId, … (docs/wire.md, "Event (request)"). */
  context?: () => { [name: string]: unknown };
  /** Changes an event before it is stored, or drops it: return null. */
  before_send?: (event: Draft) => Draft | null | undefined | false;
  /** Hears of what was refused, rejected or not taken. Default: the console, once for each code. */
  onError?: (error: { code: string; message: string }) => void;
  /** How many events may wait. Default: 1000. */
  maxEvents?: number;
  /** How long an event waits for others, in milliseconds. Default: 1000. */
  linger?: number;
}

/** What one call says beside the payload. */
export interface Extra {
  /** A UUIDv7; made if absent. */
  eventId?: string;
  /** A Date, or Unix milliseconds. Default: now. */
  timestamp?: Date | number;
  /** visitorId, url, userAgent, … of this event. */
  context?: { [name: string]: unknown };
}

/** Takes events, keeps them until they are acknowledged, and sends them in batches. */
export declare class Client {
  constructor(config: ClientConfig);
  /** Takes an event at once, with its id and time. Returns the id, or undefined where it was not taken. */
  track(name: string, payload?: object | null, identity?: Identity | null, extra?: Extra): string | undefined;
  /** What is known of the shopper goes with the following events, until reset(). For a client of one shopper. */
  identify(who: Identity): void;
  reset(): void;
  /** Sends what is queued. Resolves to true when nothing is left; an outage does not reject. */
  flush(): Promise<boolean>;
  /** Takes no more events and sends what is queued, once. Resolves as flush. */
  close(): Promise<boolean>;
}
