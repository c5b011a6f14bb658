// Package merchant has the SQL for what merchants set up: stores and companies,
// API keys, people, influencers with their campaigns, links, coupons and costs,
// and additional costs. It also has idempotent answers, and the outbox: the
// records for Kafka, written in the transaction of the change that they report.
//
// What belongs here: statements on these tables, which keep the rules of
// docs/notes/tables.md. No facts of the processor, no reports, no rule of attribution.
package merchant
