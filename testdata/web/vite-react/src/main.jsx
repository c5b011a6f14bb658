import { init } from "@tributary-io/sdk";
import { createRoot } from "react-dom/client";
import { Shop } from "./shop.jsx";

init({ companyId: import.meta.env.VITE_COMPANY, endpoint: import.meta.env.VITE_EDGE });
createRoot(document.getElementById("root")).render(<Shop />);
