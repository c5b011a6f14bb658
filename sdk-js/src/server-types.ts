// The public types of @tributary-io/sdk/server. This file becomes dist/server.d.cts, so
// it has no code, and imports the event's types alone.

import type { Identity, PayloadOf, Payloads, Rest } from "./event-types";
export type { Identity, Item, ItemHint, ItemsHint, PayloadOf, Payloads, Rest } from "./event-types";

/** Where it happened: flat, or with the page as HTTP has it (docs/events.md, "Context"). */
export interface Context {
  url?: string | null;
  referrer?: string | null;
  title?: string | null;
  page?: { url?: string | null; referrer?: string | null; title?: string | null } | null;
  userAgent?: string | null;
  visitorId?: string | null;
  sessionId?: string | null;
  [more: string]: unknown;
}

/** Keeps texts by key. Each method may return a promise. What set has begun must survive the host's end. */
export interface Storage {
  get(key: string): Promise<string | null | undefined> | string | null | undefined;
  set(key: string, value: string): Promise<void> | void;
  remove(key: string): Promise<void> | void;
  keys(): Promise<readonly string[]> | readonly string[];
}

/** Posts a body of text/plain. It rejects where no answer came. The signal says that none is waited for any more. */
export type Transport = (url: string, body: string, signal?: AbortSignal) => Promise<{ status: number; body: string; retryAfter?: string | number | null }>;

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
  /** An API key, for a backend, or what returns it: asked at each attempt. Never in a page. It needs https, or a loopback host. */
  apiKey?: string | (() => string | Promise<string>);
  /** Where events are kept until they are acknowledged. Default: memory. */
  storage?: Storage;
  /** Default: fetch. */
  transport?: Transport;
  /** The core, of load() of @tributary-io/core-wasm. Without it the edge does its work. */
  core?: Promise<(body: string, now: number) => string>;
  /** What every event says of where it happened. */
  context?: () => Context;
  /** Changes an event before it is stored, or drops it: return null. */
  before_send?: (event: Draft) => Draft | null | undefined | false;
  /** Hears of what was refused, rejected or not taken. Default: the console, once for each code. */
  onError?: (error: ClientError) => void;
  /** How many events may wait. Default: 1000. */
  maxEvents?: number;
  /** How long an event waits for others, in milliseconds. Default: 1000. */
  linger?: number;
  /** How long a request may take, in milliseconds. Default: 10000. */
  timeout?: number;
}

/** What onError hears. */
export interface ClientError {
  code: string;
  message: string;
  /** Where it is about one event that was taken. */
  eventId?: string;
  /** The event's name, or that of the first of many. */
  event?: string;
  /** How many events it is about. */
  events?: number;
}

/** What one call says beside the payload. */
export interface Extra {
  /** A UUIDv7; made if absent. */
  eventId?: string;
  /** A Date, or Unix milliseconds. Default: now. */
  timestamp?: Date | number;
  context?: Context;
}

/** Takes events, keeps them until they are acknowledged, and sends them in batches. */
export declare class Client {
  constructor(config: ClientConfig);
  /** Takes an event at once, with its id and time. Returns the id, or undefined where it was not taken: onError has the reason. Never throws. */
  track<N extends keyof Payloads | (string & {}), P extends PayloadOf<N>>(name: N, ...rest: Rest<N, P, [extra?: Extra]>): string | undefined;
  /** What is known of the shopper goes with the following events, until reset(). For a client of one shopper. */
  identify(who: Identity): void;
  reset(): void;
  /** Sends what is queued. Resolves to true when nothing is left; an outage does not reject. */
  flush(): Promise<boolean>;
  /**
   * Takes no more events and sends what is queued, once, for at most timeout ms (default: 30000).
   * Resolves to true where nothing is left and none was lost in this client's life.
   */
  close(options?: { timeout?: number }): Promise<boolean>;
}
