// What the console is told. What a developer must mend is said without debug mode,
// once a page; the rest only in debug mode.

const told: { [what: string]: 1 } = {};
const lines: unknown[][] = [];
const MAX_LINES = 200; // that the overlay can show

let on = false;
let watcher: ((line: unknown[]) => void) | undefined;

/** Turns debug mode on or off. */
export function setDebug(to: unknown): void {
  on = !!to && to != "false";
  if (on) for (const line of lines) console.log(...line);
}

/** Hands every line to f, those that were written before too. */
export function watchLog(f: (line: unknown[]) => void): void {
  watcher = f;
  lines.forEach(f);
}

export function log(...what: unknown[]): void {
  const line = ["[tributary]", ...what];
  if (lines.length < MAX_LINES) lines.push(line);
  if (on) console.log(...line);
  if (watcher) watcher(line);
}

/** Says what is wrong and what to do about it, once for each name. */
export function tell(name: string, what: string): void {
  log(what);
  if (told[name]) return;
  told[name] = 1;
  console.error("[tributary] " + what);
}

export const COMPANY = "data-company of the script's tag, or companyId of init().";

/** What to do about a code of the edge, where its own message does not say so. */
const ADVICE: { [code: string]: string } = {
  unknown_company: "Check " + COMPANY,
  company_id_required: "Set " + COMPANY,
  not_found: "Check data-endpoint of the script's tag, or endpoint of init(): the path /v1/events is added to it.",
  invalid_event_name: "Use one of the five standard names, or your own: [A-Z][A-Z0-9_]{0,63}.",
  payload_items_required: "Add items: [{ item_id: string, item_quantity: whole number from 1 }].",
  invalid_payload: "Each item needs item_id, a text, and item_quantity, a whole number from 1.",
};

export const advice = (code: string): string => (ADVICE[code] ? " " + ADVICE[code] : "");
