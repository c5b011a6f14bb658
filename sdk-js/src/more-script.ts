// The entry of the file that tributary.js fetches when the page is idle.

import { connect } from "./more";

const found = (window as any).tributary;
if (found && found._) {
  const [page, calls, drain, persist] = found._;
  delete found._;
  connect(page, calls, persist);
  drain(); // what waited for this file
}
