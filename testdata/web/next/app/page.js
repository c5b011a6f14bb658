import Link from "next/link";
import { products } from "./shop";

export default function List() {
  return (
    <ul>
      {Object.entries(products).map(([id, name]) => (
        <li key={id}>
          <Link href={"/product/" + id} data-test={id}>
            {name}
          </Link>
        </li>
      ))}
    </ul>
  );
}
