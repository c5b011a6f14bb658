"use client";

import Link from "next/link";
import { useEffect } from "react";
import { cart, keep, products } from "../../shop";

export function Product({ id }) {
  useEffect(() => void tributary.track("PRODUCT_VIEW", { items: [{ item_id: id }] }), [id]);
  const add = () => {
    const now = cart();
    now.items.push({ item_id: id, item_quantity: 1 });
    keep(now);
    tributary.track("ADD_TO_CART", { items: [{ item_id: id, item_quantity: 1 }] }, { cart_token: now.token });
  };
  return (
    <>
      <h1>{products[id]}</h1>
      <button data-test="add" onClick={add}>
        Add to the cart
      </button>
      <Link href="/cart" data-test="cart">
        Cart
      </Link>
    </>
  );
}
