// Uses of the SDK that must compile under tsc --strict.
import { getVisitorId, identify, init, track } from "@tributary-io/sdk";
import { Client } from "@tributary-io/sdk/server";
import { load } from "@tributary-io/core-wasm";

interface Line {
  item_id: string;
  item_quantity: number;
  price: number;
}
interface Sale {
  items: Line[];
  total: number;
  coupon?: string;
}
const sale: Sale = { items: [{ item_id: "a", item_quantity: 1, price: 2 }], total: 3 };
track("CHECKOUT_COMPLETED", sale, { email: "a@example.com" });
track("CHECKOUT_COMPLETED", { items: [{ item_id: "a", item_quantity: 1 }], total: 5 });
track("ADD_TO_CART", { items: [{ item_id: "a", item_quantity: 1, color: "red" }] });
track("ADD_TO_CART");
track("PAGE_VIEW", null);
track("MY_EVENT", { a: 1 });
track("MY_EVENT");
track("purchase", sale);
const name: string = "X";
track(name, { a: 1 });
identify({ email: "a@example.com" });
init({ companyId: "c", worker: "auto", before_send: (event) => (event.event == "X" ? null : event) });
window.tributary.track("PAGE_VIEW");
window.tributary.init({ before_send: (event) => event });
tributary.identify({ phone: "1" });
const visitor: Promise<string | null | undefined> = getVisitorId();
void visitor;

const client = new Client({ companyId: "c", endpoint: "https://collect.example.com", core: load(), context: () => ({ url: "" }) });
const id: string | undefined = client.track("MY_EVENT", { a: 1 }, null, { timestamp: new Date(), context: { visitorId: "v" } });
void id;
void client.close().then((done: boolean) => done);
const item = { item_id: "a", item_quantity: 1 };
client.track("CHECKOUT_COMPLETED", { items: [item] }, { email: "a@example.com", verified: true }, { context: { page: { url: "https://a.example/", title: null } } });
client.track("CHECKOUT_COMPLETED", sale);
client.track(name, { a: 1 }, null, { timestamp: Date.now() });
client.track("ADD_TO_CART");
