// A page on which something is still being done asks for itself, at first every two seconds and
// then less and less often, while it is looked at, and shows what came once that is done. Parts
// that are marked show how far it is. What
// somebody has opened to fill in is left alone, and so is a page that is being left: a form that
// was sent has its answer.
'use strict';
(() => {
  const {again: address, then} = document.querySelector('[data-again]').dataset;
  let wait = 2000;
  let left = 0; // when the page was last left for another; a download leaves it there
  addEventListener('beforeunload', () => { left = Date.now(); });
  const busy = () => document.hidden || Date.now() - left < 30000 || document.querySelector('main details[open] form');
  async function ask() {
    if (!busy()) {
      try {
        const answer = await fetch(address, {cache: 'no-store', redirect: 'error'});
        const page = answer.ok && new DOMParser().parseFromString(await answer.text(), 'text/html');
        const done = page ? !page.querySelector('[data-again]') : answer.status < 500 && answer.status !== 429;
        if (done && !busy()) { location.replace(then || address); return; }
        for (const part of page ? document.querySelectorAll('[data-fresh]') : []) {
          const opened = [...part.querySelectorAll('details[open][id]')].map((details) => details.id);
          part.replaceChildren(...(page.getElementById(part.id)?.childNodes ?? part.childNodes));
          for (const id of opened) document.getElementById(id)?.setAttribute('open', '');
        }
      } catch { /* offline, or logged out: asked again */ }
      wait = Math.min(wait * 1.1, 30000);
    }
    setTimeout(ask, wait);
  }
  setTimeout(ask, 1000);
})();
