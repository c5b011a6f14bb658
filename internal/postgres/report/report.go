// Package report has the SQL for what pages and reports read: sales by day, and
// one sale with its explanation and its ledger.
//
// What belongs here: statements that only read, but for the reports of signs, which are
// kept; and that keep the rules of docs/tables.md.
package report

import "github.com/tributary-io/tributary/internal/postgres"

// Reader reads reports; safe for concurrent use.
type Reader struct {
	db      *postgres.DB
	known   *remembered
	signing chan struct{} // full while a report of signs is being made
	wanted  chan struct{} // holds an element where RenewSigns has one to make
}

// New makes a reader of a database.
func New(db *postgres.DB) *Reader {
	return &Reader{db: db, known: &remembered{}, signing: make(chan struct{}, 1), wanted: make(chan struct{}, 1)}
}
