// Keeps a day's page as it stands in the store: opens the websocket with the
// cursor that the page was rendered at, and puts what comes into the page.
// Messages may come twice or late; each says how new it is.
'use strict';
(() => {
  const main = document.getElementById('main');
  const day = main.dataset;
  if (day.watch !== 'true' || !('WebSocket' in window)) return;
  const at = (id) => document.getElementById(id);
  const feed = at('orders');
  let cursor = day.cursor;
  let asOf = Number(day.asOf);
  let socket = null;
  let misses = 0;
  let retry = 0;

  function state(name, text) {
    const live = at('live');
    live.classList.remove('idle');
    if (live.dataset.state === name) return;
    live.dataset.state = name;
    at('live-text').textContent = text;
  }

  function open() {
    clearTimeout(retry);
    if (socket) return;
    const query = new URLSearchParams({company: day.company, day: day.day, lang: document.documentElement.lang, cursor});
    const ws = socket = new WebSocket(location.origin.replace(/^http/, 'ws') + '/dashboard/live?' + query);
    ws.onopen = () => { misses = 0; state('on', day.wordsOn); };
    ws.onmessage = (message) => show(JSON.parse(message.data));
    ws.onclose = () => {
      if (socket !== ws) return;
      socket = null;
      closed();
    };
  }

  // A lost connection is tried again, at first at once; a lost log-in leads to the log-in.
  async function closed() {
    misses++;
    if (misses > 1) {
      state('off', day.wordsOff);
      try {
        const answer = await fetch('/dashboard/session', {cache: 'no-store'});
        if (answer.status === 401) { location.reload(); return; }
      } catch { /* still offline */ }
    }
    const wait = Math.min(30000, 250 * 2 ** Math.min(misses, 7));
    retry = setTimeout(open, wait / 2 + Math.random() * wait / 2);
  }

  function show(update) {
    if (update.cursor && newer(update.cursor, cursor)) cursor = update.cursor;
    if (update.asOf >= asOf) {
      asOf = update.asOf;
      for (const tile of update.tiles) showTile(tile);
      showInfluencers(update.influencers, update.hidden || '');
    }
    let last = null;
    for (const id of update.gone || []) {
      const row = rowOf(id);
      if (row) row.remove();
    }
    for (let i = update.orders.length - 1; i >= 0; i--) { // oldest first: the feed grows upwards
      if (place(update.orders[i])) last = update.orders[i];
    }
    while (feed.children.length > Number(day.limit)) feed.lastElementChild.remove();
    at('orders-full').hidden = feed.children.length === 0;
    at('orders-empty').hidden = feed.children.length > 0;
    if (last) at('news').textContent = day.wordsNews.replace('{0}', last.name).replace('{1}', last.total).replace('{2}', last.credited);
  }

  // Cursors are "<microseconds>.<order id>".
  function newer(a, b) {
    if (!b) return true;
    const [x, y] = [Number(a.split('.', 1)[0]), Number(b.split('.', 1)[0])];
    return x > y || (x === y && a > b);
  }

  const rows = new Map();
  for (const row of feed.children) rows.set(row.dataset.id, row);
  function rowOf(id) {
    const row = rows.get(id);
    if (row && !row.isConnected) { rows.delete(id); return undefined; }
    return row;
  }

  // place puts an order where its time belongs; true when it is new or changed.
  function place(order) {
    let row = rowOf(order.id);
    if (row && Number(row.dataset.rev) >= order.rev) return false;
    const fresh = !row;
    if (fresh) {
      row = at('order-row').content.firstElementChild.cloneNode(true);
      row.dataset.id = order.id;
      rows.set(order.id, row);
    }
    row.dataset.rev = order.rev;
    fill(row, order);
    row.querySelector('time').setAttribute('datetime', order.stamp);
    row.querySelector('a.name').setAttribute('href', order.href);
    row.querySelector('.total').className = sized('total', order.size);
    row.querySelector('.status').className = 'status ' + order.status;
    row.querySelector('.evidence').className = 'evidence ' + order.evidence;
    if (fresh || Number(row.dataset.at) !== order.at) {
      row.dataset.at = order.at;
      let next = feed.firstElementChild;
      while (next && (next === row || before(order, next))) next = next.nextElementSibling;
      feed.insertBefore(row, next);
    }
    row.classList.remove('new');
    void row.offsetWidth; // so that the highlight starts again
    row.classList.add('new');
    return row.isConnected;
  }

  // before tells whether the order is older than the row, and so goes below it.
  function before(order, row) {
    const other = Number(row.dataset.at);
    return order.at < other || (order.at === other && order.id < row.dataset.id);
  }

  function fill(element, values) {
    for (const slot of element.querySelectorAll('[data-f]')) slot.textContent = values[slot.dataset.f] || '';
    for (const slot of element.querySelectorAll('[data-href]')) {
      const href = values[slot.dataset.href];
      if (href) slot.setAttribute('href', href);
      else slot.removeAttribute('href');
    }
  }

  // sized is a class, with the one by which a long amount is shown smaller.
  function sized(name, size) { return size ? name + ' ' + size : name; }

  function lines(element, list) {
    element.replaceChildren(...list.map((text) => {
      const line = document.createElement('span');
      line.className = 'line';
      line.textContent = text;
      return line;
    }));
  }

  function showTile(tile) {
    const element = at('tile-' + tile.id);
    if (!element) return;
    const figure = element.querySelector('.figure');
    const was = figure.textContent;
    lines(figure, tile.lines);
    figure.className = sized('figure', tile.size);
    element.querySelector('.note').textContent = tile.note;
    if (figure.textContent !== was) {
      element.classList.remove('new');
      void element.offsetWidth;
      element.classList.add('new');
    }
  }

  function showInfluencers(list, hidden) {
    at('influencers').replaceChildren(...list.map((values) => {
      const row = at('influencer-row').content.firstElementChild.cloneNode(true);
      fill(row, values);
      row.classList.toggle('nobody', Boolean(values.nobody));
      for (const cell of row.querySelectorAll('[data-lines]')) lines(cell, values[cell.dataset.lines]);
      row.querySelector('[data-part=coupon]').setAttribute('width', values.couponPart);
      row.querySelector('[data-part=link]').setAttribute('x', values.couponPart);
      row.querySelector('[data-part=link]').setAttribute('width', values.linkPart);
      return row;
    }));
    at('hidden-influencers').textContent = hidden;
    at('influencers-full').hidden = list.length === 0;
    at('influencers-empty').hidden = list.length > 0;
  }

  addEventListener('online', () => { misses = 0; open(); });
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden && !socket) { misses = 0; open(); }
  });
  if (day.endsIn) setTimeout(() => location.reload(), Number(day.endsIn)); // a new day has begun
  open();
})();
