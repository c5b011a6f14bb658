// Package cases is the SQL of what an order's decision reads: the company's
// rules, the order, where its keys lead, and what the visitors there did. The
// processor decides by it; previews and explanations can too.
//
// What belongs here: statements that only read. Limits come from the caller
// (facts.Limits); no rule of attribution.
package cases
