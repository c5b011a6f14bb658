// Package cases has the SQL that reads what the decision about an order depends on:
// the company's rules, the order, where its keys lead, and what the visitors there
// did. The processor uses it; previews and explanations can too.
//
// Its statements only read. The caller gives the limits (facts.Limits); there is no
// rule of attribution here.
package cases
