// The public types. This file becomes dist/tributary.d.ts, so it has no imports
// and no code.

/** One thing sold or looked at. GA4's `quantity` is understood too. */
export interface Item {
  item_id: string;
  /** A whole number from 1. */
  item_quantity: number;
  [more: string]: unknown;
}

/** Payloads of the standard events; a custom name matches [A-Z][A-Z0-9_]{0,63}. */
export interface Payloads {
  PAGE_VIEW: Record<string, unknown> | null | undefined;
  PRODUCT_VIEW: { items?: Partial<Item>[]; [more: string]: unknown } | null | undefined;
  ADD_TO_CART: { items?: Partial<Item>[]; [more: string]: unknown } | null | undefined;
  INITIATE_CHECKOUT: { items?: Partial<Item>[]; [more: string]: unknown } | null | undefined;
  CHECKOUT_COMPLETED: { items: Item[]; [more: string]: unknown };
}

/** What the page knows of the shopper. Only keyed hashes of it are kept. */
export interface Identity {
  email?: string;
  phone?: string;
  customer_id?: string;
  cart_token?: string;
}

export type Consent = "granted" | "denied";

export interface Config {
  companyId: string;
  /** The edge: origin and prefix. Default: where the script was loaded from. */
  endpoint?: string;
  /** Take page views automatically, also in single-page shops. Default: true. */
  pageViews?: boolean;
  /** Keep events in memory and store nothing until consent("granted"). Default: false. */
  requireConsent?: boolean;
  /** Run the core in a worker. Default: true. */
  worker?: boolean;
  /** Explain each event in the console. Default: false. */
  debug?: boolean;
  /** How long an event waits for others, in milliseconds. Default: 1000. */
  linger?: number;
}

/** Starts the SDK. The second and later calls do nothing. */
export declare function init(config: Config): void;
/** Takes an event at once, with its id and time; it is sent soon after. */
export declare function track<N extends keyof Payloads>(
  name: N,
  ...rest: undefined extends Payloads[N]
    ? [payload?: Payloads[N], identity?: Identity | null]
    : [payload: Payloads[N], identity?: Identity | null]
): void;
/** Your own event: [A-Z][A-Z0-9_]{0,63}, or another tool's spelling of a standard one. */
export declare function track<N extends string>(
  name: N extends keyof Payloads ? never : N,
  payload?: Record<string, unknown> | null,
  identity?: Identity | null,
): void;
/** The shopper's answer. "denied" deletes the visitor's id and the events not yet sent. */
export declare function consent(answer: Consent): void;
/** A new visitor and session, as at a log-out. */
export declare function reset(): void;
/** Sends what is queued. Resolves after the attempt: true when nothing is left. */
export declare function flush(): Promise<boolean>;
