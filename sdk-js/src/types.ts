// The public types. This file becomes dist/tributary.d.cts, so it has no code, and imports
// the event's types alone.

import type { Identity, PayloadOf, Payloads, Rest } from "./event-types";
export * from "./event-types";

/** "granted meta,ga4": sales may be told to these destinations. */
export type Consent = "granted" | "denied" | `granted ${string}`;

/** An event as before_send sees it. */
export interface Draft {
  event: string;
  payload?: unknown;
  identity?: Identity | null;
  context: { url: string; referrer: string; title: string; [more: string]: unknown };
}

export interface Config {
  companyId: string;
  /** The edge: origin and prefix. Default: where the script was loaded from. */
  endpoint?: string;
  /** Take page views automatically, also in single-page shops. Default: true. */
  pageViews?: boolean;
  /** Keep events in memory and store nothing until consent("granted"). Default: false. */
  requireConsent?: boolean;
  /** Take a browser's Global Privacy Control for a denial until the shopper answers. Default: false. */
  honorGPC?: boolean;
  /** Run the core in a worker: "auto" from the second page of a visit on, where data and memory are not scarce. Default: "auto". */
  worker?: boolean | "auto";
  /** Of the script's tag: take GA4's ecommerce events of window.dataLayer too, also those pushed before. Default: false. */
  datalayer?: boolean;
  /** Explain each event in the console. Default: false. */
  debug?: boolean;
  /** How long an event waits for others, in milliseconds. Default: 1000. */
  linger?: number;
  /** Your other domains, to which a click hands the visitor over. */
  domains?: readonly string[] | string;
  /** Changes an event before it is stored, or drops it: return null. */
  before_send?: (event: Draft) => Draft | null | undefined | false;
}

/** Starts the SDK. The second and later calls do nothing. */
export declare function init(config: Config): void;
/**
 * Takes an event at once, with its id and time; it is sent soon after. The name is one
 * of the five standard ones, your own ([A-Z][A-Z0-9_]{0,63}), or another tool's spelling
 * of a standard one.
 */
export declare function track<N extends keyof Payloads | (string & {}), P extends PayloadOf<N>>(name: N, ...rest: Rest<N, P>): void;
/** Takes a page view, where pageViews is false. */
export declare function page(payload?: object | null): void;
/** What is known of the shopper goes with the following events of the visit, until reset() or a denial. */
export declare function identify(who: Identity): void;
/** A new visitor and session, as at a log-out. */
export declare function reset(): void;
/** The shopper's answer. "denied" deletes the visitor's id and the events not yet sent. */
export declare function consent(answer: Consent): void;
/** consent("denied"). */
export declare function optOut(): void;
/** consent("granted"). */
export declare function optIn(): void;
/** The visitor's id, for an order's userId: null where it may not be stored, undefined where the script does not come. */
export declare function getVisitorId(): Promise<string | null | undefined>;
/** Sends what is queued. Resolves after the attempt: true when nothing is left, undefined where the script does not come. */
export declare function flush(): Promise<boolean | undefined>;
/** Turns debug mode on, or off. */
export declare function debug(on?: boolean): void;

/** `window.tributary`, of the script's tag. The calls may be made before the script has loaded. */
export interface Tributary {
  /** Adds to the attributes of the tag. */
  init(config: Partial<Config>): void;
  track: typeof track;
  page: typeof page;
  identify: typeof identify;
  reset: typeof reset;
  consent: typeof consent;
  optOut: typeof optOut;
  optIn: typeof optIn;
  getVisitorId: typeof getVisitorId;
  flush: typeof flush;
  debug: typeof debug;
}

declare global {
  interface Window {
    tributary: Tributary;
  }
  var tributary: Tributary;
}
