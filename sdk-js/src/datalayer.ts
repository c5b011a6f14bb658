// GA4's ecommerce events in window.dataLayer, as Tag Manager and gtag() have them. The array is
// the shop's: nothing in it is changed, and nothing that is read from it may throw.

import { attempt } from "./store";

type Take = (name: string, payload: unknown) => void;

/** The events that are taken. Those that are not one of the five have the names of own events: VIEW_CART. */
const EVENTS =
  /^(view_item|add_to_cart|begin_checkout|purchase|view_cart|remove_from_cart|view_item_list|select_item|add_to_wishlist|add_(shipping|payment)_info|search|view_search_results)$/;
const OURS = /^(view_item|add_to_cart|begin_checkout|purchase)$/;
const FIELDS = ["transaction_id", "value", "currency", "coupon", "search_term"];
const ITEM = ["item_id", "id", "item_name", "item_variant", "price", "quantity"];
const ITEMS = 100; // of an event, so that it is not too large
const LENGTH = 128; // of a text, in UTF-16 units

/** A copy of the texts and numbers among the members of these names. */
const pick = (from: any, names: string[]): { [name: string]: unknown } => {
  const out: { [name: string]: unknown } = {};
  for (const name of names) {
    const value = from[name];
    if (typeof value == "number") out[name] = value;
    if (typeof value == "string") out[name] = value.slice(0, LENGTH);
  }
  return out;
};

/** Takes the events that are in the data layer, and those that come. Each entry and each transaction is taken once. */
export function listen(take: Take): void {
  const known = new WeakSet();
  const sold = new Set<unknown>();
  let busy = false; // what is pushed while an event is taken, by before_send, is none of the shop's

  const look = (entry: any): void => {
    if (busy || !entry || typeof entry != "object" || known.has(entry)) return;
    busy = true;
    attempt(() => {
      known.add(entry);
      const command = entry[0] == "event"; // gtag("event", name, params)
      const name = command ? entry[1] : entry.event;
      if (typeof name != "string" || !EVENTS.test(name)) return;
      const from = (command ? entry[2] : entry.ecommerce || entry) || {};
      const payload = pick(from, FIELDS);
      const sale = payload.transaction_id;
      if (name == "purchase" && sale) {
        if (sold.has(sale)) return;
        sold.add(sale);
      }
      const { items } = from;
      if (Array.isArray(items)) payload.items = Array.prototype.slice.call(items, 0, ITEMS).map((item) => pick(Object(item), ITEM));
      take(OURS.test(name) ? name : name.toUpperCase(), payload);
    });
    busy = false;
  };

  attempt(() => {
    const layer: any = ((window as any).dataLayer ||= []);
    if (!Array.isArray(layer)) return;
    const { push } = layer;
    layer.push = function (this: unknown) {
      const length = push.apply(this, arguments as any);
      for (const entry of arguments as any) look(entry);
      return length;
    };
    Array.prototype.slice.call(layer, 0, 1000).forEach(look);
  });
}
