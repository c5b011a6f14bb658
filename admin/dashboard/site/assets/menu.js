// Closes an open menu when something else is pressed, and with Escape. Without
// this the menus open and close by their own summary.
'use strict';
(() => {
  const menus = () => document.querySelectorAll('details.menu[open]');
  document.addEventListener('click', (event) => {
    for (const menu of menus()) if (!menu.contains(event.target)) menu.open = false;
  });
  document.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape') return;
    for (const menu of menus()) {
      menu.open = false;
      menu.querySelector('summary').focus();
    }
  });
})();
