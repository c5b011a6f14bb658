// Lets a short URL be copied with one press, where the browser allows it.
'use strict';
(() => {
  if (!navigator.clipboard) return;
  for (const button of document.querySelectorAll('button.copy')) {
    button.classList.remove('idle');
    button.addEventListener('click', async () => {
      try {
        await navigator.clipboard.writeText(button.dataset.copy || document.getElementById(button.dataset.from).textContent);
      } catch {
        return;
      }
      button.dataset.label ??= button.textContent;
      button.textContent = button.dataset.done;
      document.getElementById('copied').textContent = button.dataset.done + ': ' + (button.dataset.copy || '');
      setTimeout(() => { button.textContent = button.dataset.label; }, 2000);
    });
  }
})();
