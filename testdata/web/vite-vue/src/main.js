import { init } from "@tributary-io/sdk";
import { createApp } from "vue";
import App from "./App.vue";

init({ companyId: import.meta.env.VITE_COMPANY, endpoint: import.meta.env.VITE_EDGE });
createApp(App).mount("#app");
