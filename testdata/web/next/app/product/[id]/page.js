import { products } from "../../shop";
import { Product } from "./product";

export const generateStaticParams = () => Object.keys(products).map((id) => ({ id }));
export const generateMetadata = async ({ params }) => ({ title: products[(await params).id] });

export default async function Page({ params }) {
  return <Product id={(await params).id} />;
}
