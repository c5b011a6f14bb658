import Link from "next/link";

export const metadata = { title: "Cart" };

export default function Cart() {
  return (
    <Link href="/checkout" data-test="checkout">
      Check out
    </Link>
  );
}
