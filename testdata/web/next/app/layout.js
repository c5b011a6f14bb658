import { stub } from "./stub";

export const metadata = { title: "Shop", icons: { icon: "data:," } };

export default function Layout({ children }) {
  return (
    <html lang="en">
      <head>
        <script dangerouslySetInnerHTML={{ __html: stub }} />
        <script async src={process.env.NEXT_PUBLIC_EDGE + "/sdk/v1/tributary.js"} data-company={process.env.NEXT_PUBLIC_COMPANY} />
      </head>
      <body>{children}</body>
    </html>
  );
}
