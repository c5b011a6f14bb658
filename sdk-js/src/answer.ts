// What an answer is. All clients have one rule (docs/events.md, "Retrying"): a refusal has the edge's own form and a
// code of these. Whatever else answers, a firewall or a proxy, has not refused the events: they are sent again.

/** The batch is refused: it would be again. */
const BATCH = /^(invalid_(json|field|timestamp|payload|encoding|request)|company_id_required|mixed_companies|no_events|too_many_events|unsupported_(media_type|encoding))$/;
/** All of this client's requests are refused until something is mended. */
const CLIENT = /^(unknown_company|company_archived|unauthorized|insufficient_scope|key_in_browser|origin_not_allowed|not_found|headers_too_large)$/;

export interface Refusal {
  code: string;
  /** The client's requests are refused, whatever they carry. */
  all: boolean;
  /** For people. */
  text: string;
}

/** Reads an answer's body. Undefined for what is no refusal. */
export const refusal = (status: number, body: any): Refusal | undefined => {
  const { code, message } = (body && body.error) || ({} as any);
  const all = CLIENT.test(code);
  if (all || BATCH.test(code)) return { code, all, text: "refused: " + (message || "") + " (" + status + " " + code + ")" };
};

/** Whether an answer that is none needs somebody's hand; load and faults end by themselves. */
export const foreign = (status: number): boolean => status < 500 && status != 408 && status != 429;

export const FOREIGN = " is no answer of the edge: something else is at its address. The events are kept and sent again.";

export const TOO_LARGE = ": too large for what is before the edge (413)";
