// A page on which something is still being done asks for itself every two seconds while it
// is looked at, and shows what came once that is done. What somebody has opened to fill in
// is left alone.
'use strict';
(() => {
  const {again: address, then} = document.querySelector('[data-again]').dataset;
  const busy = () => document.hidden || document.querySelector('main details[open] form');
  async function ask() {
    if (!busy()) {
      try {
        const answer = await fetch(address, {cache: 'no-store', redirect: 'error'});
        const done = answer.ok && !(await answer.text()).includes('data-again="');
        if ((done || answer.status < 500 && !answer.ok) && !busy()) { location.replace(then || address); return; }
      } catch { /* offline, or logged out: asked again */ }
    }
    setTimeout(ask, 2000);
  }
  setTimeout(ask, 1000);
})();
