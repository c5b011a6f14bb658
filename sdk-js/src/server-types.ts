// The public types of @tributary-io/sdk/server. This file becomes dist/server.d.cts, so
// it has no code, and imports the event's types alone.

import type { Context, Identity, PayloadOf, Payloads, Rest } from "./event-types";
export * from "./event-types";

/** What set has begun must survive the host's end. */
export interface Storage {
  get(key: string): Promise<string | null | undefined> | string | null | undefined;
  set(key: string, value: string): Promise<void> | void;
  remove(key: string): Promise<void> | void;
  keys(): Promise<readonly string[]> | readonly string[];
}

/** Posts text/plain; rejects where no answer came. After the signal none is waited for. */
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
  /** For a backend, never in a page: the key, or what returns it at each attempt. It needs https or a loopback host. */
  apiKey?: string | (() => string | Promise<string>);
  /** Where events are kept until they are acknowledged. Default: memory. */
  storage?: Storage;
  /** Default: fetch. */
  transport?: Transport;
  /** The core, of load() of @tributary-io/core-wasm. Without it the edge does its work. */
  core?: Promise<(body: string, now: number) => string>;
  /** What every event says of where it happened. */
  context?: () => Context;
  /** Changes an event, or drops it: return null. */
  before_send?: (event: Draft) => Draft | null | undefined | false;
  /** Default: the console, once for each code. */
  onError?: (error: ClientError) => void;
  /** Of events that wait. Default: 1000. */
  maxEvents?: number;
  /** How long an event waits for others. Default: 1000 ms. */
  linger?: number;
  /** Of a request. Default: 10000 ms. */
  timeout?: number;
}

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

export interface Extra {
  /** A UUIDv7; made if absent. */
  eventId?: string;
  /** A Date, or Unix milliseconds. Default: now. */
  timestamp?: Date | number;
  context?: Context;
}

export declare class Client {
  constructor(config: ClientConfig);
  /** Takes an event at once. Returns its id, or undefined where it was not taken: onError has the reason. Never throws. */
  track<N extends keyof Payloads | (string & {}), P extends PayloadOf<N>>(name: N, ...rest: Rest<N, P, [extra?: Extra]>): string | undefined;
  /** Goes with the following events, until reset(). For a client of one shopper. */
  identify(who: Identity): void;
  reset(): void;
  /** Sends what is queued. Resolves to true when nothing is left; an outage does not reject. */
  flush(): Promise<boolean>;
  /**
   * Takes no more events and sends what is queued, again after a fault, for at most timeout ms (default: 30000).
   * Resolves to true where nothing is left and none was lost in this client's life.
   */
  close(options?: { timeout?: number }): Promise<boolean>;
}
