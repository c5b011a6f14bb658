// Each call is wrong. The comment before it is what the compiler's message must name.
import { identify, init, track } from "@tributary-io/sdk";
import { Client } from "@tributary-io/sdk/server";

interface NoItems {
  total: number;
}
const noItems: NoItems = { total: 1 };

// arguments
track("CHECKOUT_COMPLETED");
// items
track("CHECKOUT_COMPLETED", { total: 1 });
// item_quantity
track("CHECKOUT_COMPLETED", { items: [{ item_id: "a" }] });
// item_id
track("CHECKOUT_COMPLETED", { items: [{ item_quantity: 1 }] });
// items
track("CHECKOUT_COMPLETED", noItems);
// number
track("CHECKOUT_COMPLETED", { items: [{ item_id: "a", item_quantity: "1" }] });
// string
track("ADD_TO_CART", { items: [{ item_id: true }] });
// object
track("MY_EVENT", "text");
// email
identify({ mail: "x" });
// companyId
init({ company: "c" });
// endpoint
const client = new Client({ companyId: "c" });
// arguments
client.track("CHECKOUT_COMPLETED");
// items
client.track("CHECKOUT_COMPLETED", { total: 1 }, { email: "x" });
// item_quantity
client.track("CHECKOUT_COMPLETED", { items: [{ item_id: "a" }] }, null, { timestamp: 1 });
// mail
client.track("MY_EVENT", {}, { mail: "x" });
// number
client.track("MY_EVENT", {}, { verified: 1 });
// string
client.track("MY_EVENT", {}, null, { context: { page: { url: 1 } } });
