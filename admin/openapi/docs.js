// Draws the reference from the document that this server serves beside it.
// What a reader tries out goes to the environment that the page is of.
async function draw() {
  const response = await fetch("openapi.json");
  if (!response.ok) throw new Error(`openapi.json: ${response.status}`);
  const spec = await response.json();
  const base = location.pathname.replace(/\/docs$/, "");
  spec.servers.sort((a, b) => (b.url === base) - (a.url === base));
  SwaggerUIBundle({
    spec,
    dom_id: "#reference",
    deepLinking: true,
    docExpansion: "list",
    defaultModelRendering: "example",
    defaultModelsExpandDepth: 0,
    defaultModelExpandDepth: 4,
    displayRequestDuration: true,
    validatorUrl: null,
  });
}

draw().catch((failure) => {
  document.getElementById("reference").textContent = `The document could not be read: ${failure.message}`;
});

// What Swagger UI leaves out for people who use a keyboard or a screen reader: names of
// its choices, a first heading, focus for what scrolls, and no link inside of a button.
function mend() {
  const set = (element, name, value) => {
    if (element.getAttribute(name) !== value) element.setAttribute(name, value);
  };
  for (const title of document.querySelectorAll(".info .title")) {
    set(title, "role", "heading");
    set(title, "aria-level", "1");
  }
  for (const choice of document.querySelectorAll("#servers")) set(choice, "aria-label", "Server");
  for (const choice of document.querySelectorAll(".examples-select-element")) set(choice, "aria-label", "Example");
  for (const choice of document.querySelectorAll("select.content-type:not([aria-label])")) set(choice, "aria-label", "Content type");
  for (const link of document.querySelectorAll(".opblock-summary-control a.nostyle")) link.removeAttribute("href");
  for (const area of document.querySelectorAll("pre.example, pre.microlight, .renderedMarkdown table, table.responses-table, table.parameters")) {
    if (area.scrollWidth > area.clientWidth || area.scrollHeight > area.clientHeight) set(area, "tabindex", "0");
  }
}

let mending = 0;
new MutationObserver(() => {
  cancelAnimationFrame(mending);
  mending = requestAnimationFrame(mend);
}).observe(document.getElementById("reference"), {childList: true, subtree: true});
