// Package factstore is the SQL verbs of one transaction of the processor:
// facts, by what they are found, outcomes, the ledger, the queue of orders to
// compute again, and the offsets behind all of it.
//
// What belongs here: statements, each on one company's rows. What is stored
// when, and why, is the processor's (processor/apply.go).
package factstore
