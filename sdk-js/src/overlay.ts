// ?trb_debug=1: a box in the page that shows what the SDK does, line by line.

const watch = (window as any).tributaryOverlay as ((f: (line: unknown[]) => void) => void) | undefined;
const MAX = 200;

/** Red is what a developer must mend, green what the edge has. */
const colour = (text: string): string => (/^(rejected|refused|nothing|invalid)/.test(text) ? "#ff9e95" : /^(ok|duplicate|arrived)/.test(text) ? "#a5e0a8" : "#eee");

if (watch && document.body) show();
else if (watch) addEventListener("DOMContentLoaded", show);

function show(): void {
  const host = document.createElement("div");
  host.id = "tributary-overlay";
  // Set by the object model, which a content policy for styles does not forbid.
  Object.assign(host.style, {
    position: "fixed", right: "8px", bottom: "8px", width: "min(480px, 90vw)", maxHeight: "40vh", overflow: "auto", zIndex: "2147483647",
    background: "#111", color: "#eee", font: "12px/1.4 monospace", padding: "8px", borderRadius: "6px", whiteSpace: "pre-wrap", wordBreak: "break-word",
  });
  const head = document.createElement("button");
  head.textContent = "Tributary: close";
  Object.assign(head.style, { position: "sticky", top: "0", background: "#111", border: "1px solid #888", borderRadius: "4px", color: "inherit", font: "inherit", fontWeight: "bold", cursor: "pointer" });
  head.onclick = () => host.remove();
  host.append(head);
  document.body.append(host);
  watch!((line) => {
    const row = document.createElement("div");
    const text = line.slice(1).map((part) => (typeof part == "string" ? part : JSON.stringify(part))).join(" ");
    row.textContent = text;
    Object.assign(row.style, { color: colour(text), borderTop: "1px solid #333", marginTop: "4px", paddingTop: "4px" });
    host.append(row);
    while (host.childElementCount > MAX) host.children[1].remove();
    host.scrollTop = host.scrollHeight;
  });
}
