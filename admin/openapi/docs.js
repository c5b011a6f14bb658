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
