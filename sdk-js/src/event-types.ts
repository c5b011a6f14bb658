// The types of an event, for pages and servers. Made of docs/event.schema.json by sdk-js/build; do not edit.
// This file becomes dist/events.d.cts, so it has no imports and no code.

/** Where it happened. Longer texts are cut. */
export interface Context {
  locale?: string | null;
  page?: { referrer?: string | null; title?: string | null; url?: string | null } | null;
  referrer?: string | null;
  screen?: string | null;
  /** A hint: sessions are cut by the service. */
  sessionId?: string | number | null;
  title?: string | null;
  /** Counts where page has no url; so do referrer and title. */
  url?: string | null;
  userAgent?: string | null;
  /** The browser or device. */
  visitorId?: string | number | null;
  [more: string]: unknown;
}

/** Who the shopper is. Hashed with the installation's secret before anything is written. */
export interface Identity {
  cart_token?: string | number | null;
  customer_id?: string | number | null;
  email?: string | null;
  phone?: string | number | null;
  /** True where the shopper is logged in. It is believed from a sender with an API key. */
  verified?: boolean | null;
}

/** One thing sold. GA4's `quantity` is understood too. */
export interface Item {
  item_id: string | number;
  /** A whole number from 1. */
  item_quantity: number;
}

/** One thing looked at or put into the cart. */
export interface ItemHint {
  item_id?: string | number;
  item_quantity?: number;
}

export interface ItemsHint {
  items?: readonly ItemHint[];
}

/** Payloads of the standard events. Further members are welcome; a custom name matches [A-Z][A-Z0-9_]{0,63}. */
export interface Payloads {
  ADD_TO_CART?: ItemsHint | null;
  CHECKOUT_COMPLETED: { items: readonly Item[] };
  INITIATE_CHECKOUT?: ItemsHint | null;
  PAGE_VIEW?: object | null;
  PRODUCT_VIEW?: ItemsHint | null;
}

/** What the payload of an event must have. */
export type PayloadOf<N> = N extends keyof Payloads ? Payloads[N] : object | null | undefined;

/** A call's payload and identity: both may be left out where the event needs no payload. */
export type Rest<N, P, More extends unknown[] = []> = N extends "CHECKOUT_COMPLETED"
  ? [payload: P, identity?: Identity | null, ...more: More]
  : [payload?: P, identity?: Identity | null, ...more: More];
