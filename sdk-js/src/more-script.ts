// The entry of the file that tributary.js fetches when the page is idle.

import { connect } from "./more";

const found = (window as any).tributary;
if (found && found._) {
  const [page, calls, drain, persist] = found._;
  delete found._;
  connect(page, calls, persist);
  calls.optOut = () => calls.consent(0, "denied");
  calls.optIn = () => calls.consent(0, "granted");
  drain(); // what waited for this file
}
