// Lets a short URL be copied with one press, where the browser allows it.
'use strict';
(() => {
  if (!navigator.clipboard) return;
  for (const button of document.querySelectorAll('button.copy')) {
    button.hidden = false;
    button.addEventListener('click', async () => {
      try {
        await navigator.clipboard.writeText(button.dataset.copy);
      } catch {
        return;
      }
      button.textContent = 'Copied';
      document.getElementById('copied').textContent = 'Copied ' + button.dataset.copy;
      setTimeout(() => { button.textContent = 'Copy'; }, 2000);
    });
  }
})();
