// Package processor applies the records of events.v1 and commerce.v1. Each
// partition has one owner, who stores the facts, computes the outcomes of the
// orders that they concern, and moves the offsets, all in one transaction.
//
// It holds the way of a record (read, apply, publish), its metrics and its health.
// The rules of attribution are in internal/attribution. Kafka and Postgres are
// known by the interfaces Log, Results, Store and Tx only; cmd/tributary connects
// them.
package processor
