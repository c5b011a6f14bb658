// Package merchant is the SQL of what merchants say: stores and companies,
// API keys, people, influencers with their campaigns, links, coupons and costs,
// additional costs, idempotent answers, and the outbox that tells Kafka of
// every change in the transaction of the change.
//
// What belongs here: statements on these tables. No facts of the processor,
// no reports, no rule of attribution.
package merchant
