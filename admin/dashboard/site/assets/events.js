// Shows events as they come: asks every two seconds what came after the page's cursor,
// unless it is paused or not looked at. After an error it asks again, later and later.
'use strict';
(() => {
  const main = document.getElementById('main');
  const at = (id) => document.getElementById(id);
  const list = at('events');
  const limit = Number(main.dataset.limit);
  let address = new URL(main.dataset.feed, location.href);
  let paused = false;
  let misses = 0;
  let timer = 0;
  let asking = false;
  let asked = 0;

  function state(name) {
    const live = at('live');
    live.classList.remove('idle');
    if (live.dataset.state === name) return;
    live.dataset.state = name;
    at('live-text').textContent = main.dataset['words' + name[0].toUpperCase() + name.slice(1)];
  }

  function later() {
    clearTimeout(timer);
    timer = setTimeout(ask, misses ? Math.min(30000, 1000 * 2 ** misses) : 2000);
  }

  async function ask() {
    if (paused || document.hidden || asking) return; // they begin again when that ends
    asking = true;
    try {
      const waiting = [...list.querySelectorAll('[data-waiting]')].slice(0, 100).map((line) => line.dataset.waiting);
      address.searchParams.set('waiting', waiting.join());
      // Now and then: is something not stored because its person was erased meanwhile?
      address.searchParams.delete('late');
      if (++asked % 5 === 0 && waiting.length) address.searchParams.set('late', '1');
      const answer = await fetch(address, {cache: 'no-store', redirect: 'error'});
      if (!answer.ok && answer.status < 500 && answer.status !== 429) { location.reload(); return; }
      if (!answer.ok) throw new Error(answer.status);
      show(await answer.json());
      misses = 0;
      state('on');
    } catch {
      misses++;
      if (misses > 1) {
        state('off');
        if (await loggedOut()) { location.reload(); return; }
      }
    } finally {
      asking = false;
    }
    if (!paused && !document.hidden) later();
  }

  async function loggedOut() {
    try {
      return (await fetch('/dashboard/session', {cache: 'no-store'})).status === 401;
    } catch {
      return false; // still offline
    }
  }

  function show(news) {
    address.searchParams.set('after', news.cursor);
    for (const id of news.stored || []) {
      for (const line of list.querySelectorAll(`[data-waiting="${CSS.escape(id)}"]`)) {
        delete line.dataset.waiting;
        line.querySelector('.not-yet').hidden = true;
        line.querySelector('.is-stored').hidden = false;
      }
    }
    for (const [id, html] of Object.entries(news.erased || {})) {
      for (const line of list.querySelectorAll(`[data-waiting="${CSS.escape(id)}"]`)) line.outerHTML = html;
    }
    if (news.skipped) {
      at('skipped').hidden = false;
      at('skipped').textContent = news.skipped;
    }
    if (!news.count) return;
    const before = list.firstElementChild;
    list.insertAdjacentHTML('afterbegin', news.html);
    for (let line = list.firstElementChild; line !== before; line = line.nextElementSibling) line.classList.add('new');
    while (list.children.length > limit) list.lastElementChild.remove();
    at('events-full').hidden = false;
    at('events-empty').hidden = true;
    offerCopies();
  }

  function offerCopies() {
    if (!navigator.clipboard) return;
    for (const button of list.querySelectorAll('button.copies[hidden]')) button.hidden = false;
  }

  list.addEventListener('click', async (press) => {
    const button = press.target.closest('button.copies');
    if (!button) return;
    try {
      await navigator.clipboard.writeText(button.parentElement.querySelector('code').textContent);
    } catch {
      return;
    }
    button.dataset.label ??= button.textContent;
    button.textContent = button.dataset.done;
    at('copied').textContent = button.dataset.done;
    setTimeout(() => { button.textContent = button.dataset.label; }, 2000);
  });

  at('pause').classList.remove('idle');
  at('pause').addEventListener('click', () => {
    paused = !paused;
    at('pause').textContent = paused ? main.dataset.wordsResume : main.dataset.wordsPause;
    if (paused) state('paused'); else ask();
  });
  document.addEventListener('visibilitychange', () => { if (!document.hidden) ask(); });
  addEventListener('online', () => { misses = 0; ask(); });
  offerCopies();
  ask();
})();
