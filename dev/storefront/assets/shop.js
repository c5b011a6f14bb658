// What a shop writes to use Tributary: the snippet in <head>, then track().
(function () {
  "use strict";
  var page = document.body.dataset.page;
  var data = JSON.parse(document.getElementById("track").textContent);

  function track(event) {
    tributary.track(event, { items: data.items }, data.identity);
  }

  if (page === "product") {
    track("PRODUCT_VIEW");
    document.getElementById("add-form").addEventListener("submit", function () { track("ADD_TO_CART"); });
  } else if (page === "checkout") {
    track("INITIATE_CHECKOUT");
  } else if (page === "thanks" && sessionStorage.getItem("done") !== data.orderId) {
    sessionStorage.setItem("done", data.orderId); // a reload is no second purchase
    track("CHECKOUT_COMPLETED");
  }
})();
