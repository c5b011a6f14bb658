// Shows what has come, without a reload: asks every two seconds while the page is
// looked at, until both an event and an order have come. What says the same is left as it is: somebody may be on the way to it.
'use strict';
(() => {
  const steps = document.getElementById('signals');
  const show = (name, text) => {
    const step = document.getElementById('signal-' + name);
    if (!text || step.dataset.state === 'came') return;
    step.dataset.state = 'came';
    step.querySelector('[role=status]').textContent = text;
  };
  const waiting = () => steps.querySelector('[data-state=waiting]');
  async function ask() {
    if (!document.hidden) {
      try {
        const answer = await fetch(steps.dataset.signals, {cache: 'no-store', redirect: 'error'});
        if (!answer.ok) { location.reload(); return; }
        const signals = await answer.json();
        show('event', signals.event);
        show('order', signals.order);
        const refused = document.getElementById('refused');
        const now = document.createElement('template');
        now.innerHTML = signals.refused || '';
        const same = now.content.textContent === refused.textContent;
        if (!same && !refused.contains(document.activeElement)) refused.replaceChildren(now.content);
      } catch { /* offline: asked again */ }
    }
    if (waiting()) setTimeout(ask, 2000);
  }
  if (waiting()) setTimeout(ask, 2000);
})();
