// Package postgres is the adapter to PostgreSQL that its subpackages
// share: the pool, transactions, the translation of driver errors into
// internal/commerce's kinds, rows as arguments, and the schema's migrations.
//
//	merchant   what merchants set up: stores, keys, people, influencers, costs; the outbox
//	factstore  the SQL verbs of one transaction of the processor
//	cases      what an order's decision reads; for the processor, previews and explanations
//	erasure    the erasure of persons; factstore hands it out, as
//	retention  the removal of old events
//	report     what pages and reports read
//
// No HTTP, no Kafka, no rule of attribution.
package postgres
