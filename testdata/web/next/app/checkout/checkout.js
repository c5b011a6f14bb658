"use client";

import { useEffect, useState } from "react";
import { cart } from "../shop";

export function Checkout() {
  const [order, setOrder] = useState("");
  useEffect(() => void tributary.track("INITIATE_CHECKOUT", { items: cart().items }, { cart_token: cart().token }), []);
  const place = async (event) => {
    event.preventDefault();
    const { token, items } = cart();
    const email = new FormData(event.target).get("email");
    tributary.identify({ email });
    const answer = await fetch("/orders", { method: "POST", body: JSON.stringify({ cartToken: token, userId: await tributary.getVisitorId(), email, items }) });
    tributary.track("CHECKOUT_COMPLETED", { items }, { cart_token: token });
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
