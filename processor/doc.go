// Package processor turns the two logs into facts and credits: it consumes
// events.v1 and commerce.v1, one owner a partition, and writes facts, the
// outcomes of the orders they concern and its own offsets in one transaction.
//
// What may enter: the corridor consume → facts → apply, its metrics and its
// health. Rules of attribution live in internal/attribution; Kafka and
// Postgres are known by the interfaces here only, wired in cmd.
package processor
