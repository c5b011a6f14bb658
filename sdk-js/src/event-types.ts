// The types of an event, for pages and servers. This file becomes dist/events.d.cts, so it
// has no imports and no code. A test compares it with docs/event.schema.json.

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
  PAGE_VIEW: object | null | undefined;
  PRODUCT_VIEW: ItemsHint | null | undefined;
  ADD_TO_CART: ItemsHint | null | undefined;
  INITIATE_CHECKOUT: ItemsHint | null | undefined;
  CHECKOUT_COMPLETED: { items: readonly Item[] };
}

/** What is known of the shopper. Only keyed hashes of it are kept, and they are made at the edge. */
export interface Identity {
  email?: string | null;
  phone?: string | number | null;
  customer_id?: string | number | null;
  cart_token?: string | number | null;
  /** The shopper is logged in. It is believed from a sender with an API key. */
  verified?: boolean | null;
}

/** What the payload of an event must have. Further members are welcome. */
export type PayloadOf<N> = N extends keyof Payloads ? Payloads[N] : object | null | undefined;

/** A call's payload and identity: both may be left out where the event needs no payload. */
export type Rest<N, P, More extends unknown[] = []> = N extends "CHECKOUT_COMPLETED"
  ? [payload: P, identity?: Identity | null, ...more: More]
  : [payload?: P, identity?: Identity | null, ...more: More];
