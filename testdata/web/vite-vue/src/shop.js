export const products = { "tee-m": "T-shirt", cap: "Cap" };

/** The cart of this visit. Its token is random, so that only this shopper has it. */
export const cart = () => JSON.parse(sessionStorage.cart || "null") || { token: crypto.randomUUID(), items: [] };
export const keep = (cart) => (sessionStorage.cart = JSON.stringify(cart));
