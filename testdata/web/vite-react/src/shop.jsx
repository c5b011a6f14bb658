import { getVisitorId, identify, track } from "@tributary-io/sdk";
import { useEffect, useState, useSyncExternalStore } from "react";

const products = { "tee-m": "T-shirt", "cap": "Cap" };

/** The cart of this visit. Its token is random, so that only this shopper has it. */
const cart = () => JSON.parse(sessionStorage.cart || "null") || { token: crypto.randomUUID(), items: [] };
const keep = (cart) => (sessionStorage.cart = JSON.stringify(cart));

/** A link that changes the address without loading the page. */
function Link({ to, ...rest }) {
  const go = (event) => {
    event.preventDefault();
    history.pushState({}, "", to);
    dispatchEvent(new Event("moved"));
  };
  return <a href={to} onClick={go} {...rest} />;
}

const watch = (look) => {
  addEventListener("moved", look);
  addEventListener("popstate", look);
  return () => {
    removeEventListener("moved", look);
    removeEventListener("popstate", look);
  };
};

export function Shop() {
  const path = useSyncExternalStore(watch, () => location.pathname);
  if (path.startsWith("/product/")) return <Product key={path} id={path.split("/")[2]} />;
  if (path.startsWith("/cart")) return <Cart />;
  if (path.startsWith("/checkout")) return <Checkout />;
  return <List />;
}

function List() {
  useEffect(() => void (document.title = "Shop"), []);
  return (
    <ul>
      {Object.entries(products).map(([id, name]) => (
        <li key={id}>
          <Link to={"/product/" + id} data-test={id}>
            {name}
          </Link>
        </li>
      ))}
    </ul>
  );
}

function Product({ id }) {
  useEffect(() => {
    document.title = products[id];
    track("PRODUCT_VIEW", { items: [{ item_id: id }] });
  }, [id]);
  const add = () => {
    const now = cart();
    now.items.push({ item_id: id, item_quantity: 1 });
    keep(now);
    track("ADD_TO_CART", { items: [{ item_id: id, item_quantity: 1 }] }, { cart_token: now.token });
  };
  return (
    <>
      <h1>{products[id]}</h1>
      <button data-test="add" onClick={add}>
        Add to the cart
      </button>
      <Link to="/cart" data-test="cart">
        Cart
      </Link>
    </>
  );
}

function Cart() {
  useEffect(() => void (document.title = "Cart"), []);
  return (
    <>
      <p>{cart().items.length} items</p>
      <Link to="/checkout" data-test="checkout">
        Check out
      </Link>
    </>
  );
}

function Checkout() {
  const [order, setOrder] = useState("");
  useEffect(() => {
    document.title = "Checkout";
    track("INITIATE_CHECKOUT", { items: cart().items }, { cart_token: cart().token });
  }, []);
  const place = async (event) => {
    event.preventDefault();
    const { token, items } = cart();
    const email = new FormData(event.target).get("email");
    identify({ email });
    const answer = await fetch("/orders", { method: "POST", body: JSON.stringify({ cartToken: token, userId: await getVisitorId(), email, items }) });
    track("CHECKOUT_COMPLETED", { items }, { cart_token: token });
    setOrder(await answer.text());
  };
  if (order) return <p data-test="order">{order}</p>;
  return (
    <form onSubmit={place}>
      <input name="email" type="email" defaultValue="ana@example.com" aria-label="E-mail" />
      <button data-test="place">Buy</button>
    </form>
  );
}
