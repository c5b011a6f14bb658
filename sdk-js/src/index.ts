// The entry of the ESM and CommonJS builds.

import { init as start } from "./client";
import type { Config } from "./types";

export { consent, flush, reset, track } from "./client";

export function init(config: Config): void {
  start(config);
}
