// Package factstore has the SQL of one transaction of the processor: facts, the
// keys by which orders are found, outcomes, the ledger, the queue of orders to
// compute again, and the offsets.
//
// It holds statements only. Each works on the rows of one company. What is stored
// when, and why, is in processor/apply.go.
package factstore
