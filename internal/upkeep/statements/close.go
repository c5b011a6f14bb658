// Package statements closes the statements that a merchant asks for (docs/attribution.md,
// "Statements"): it takes the records, puts ledger entries into the first statement that is open,
// sums them, and says what the closed statement has and carries.
//
// It takes manual entries too, which go into the ledger as they come.
//
// The processor stores the records with a batch, and calls CloseNext between two batches.
// internal/postgres/upkeep has the SQL. There is no clock and no rule of attribution here.
package statements

import (
	"context"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/ledger"
)

// Store works on the statements of companies, in one transaction. Each method works on the rows of
// one company. internal/postgres/upkeep.Statements is one, and describes each method.
type Store interface {
	Insert(ctx context.Context, companyID string, asked []Statement) error
	InsertPayments(ctx context.Context, companyID string, payments []Payment) error
	InsertWithholdings(ctx context.Context, companyID string, list []Withholding) error
	InsertEntries(ctx context.Context, companyID string, entries []Entry) (stored map[string]bool, err error)
	CloseDay(ctx context.Context, companyID, day string) error
	TakeAgreements(ctx context.Context, companyID string, limit int) (list []ledger.Agreement, closed string, more bool, err error)
	Next(ctx context.Context, companyID string) (*Statement, error)
	Freeze(ctx context.Context, companyID string, s Statement, limit int) (int, error)
	ClosedBefore(ctx context.Context, companyID string, s Statement) (*Closed, error)
	Sum(ctx context.Context, companyID, statementID string, sum *Sum, limit int) (int, error)
	Parties(ctx context.Context, companyID, influencerID string) (commerce.Parties, error)
	KeepSum(ctx context.Context, companyID, statementID string, sum *Sum) error
	Close(ctx context.Context, companyID string, now time.Time, c Closed) error
}

// leastOfStatement is how many ledger entries each statement counts for at least, where
// entries bound a transaction: to close one without any takes some time, too.
const leastOfStatement = 100

// CloseNext goes on with the company's statements that are not closed, the first one first:
// it puts entries into them, sums them, and closes those that are summed; at most limit entries.
// It is called when the orders that waited since it was asked for are computed, so that the
// ledger is what the facts said then. more: something may be left to do.
func CloseNext(ctx context.Context, store Store, companyID string, now time.Time, limit int) (closed int, more bool, err error) {
	for left := limit; left > 0; {
		s, err := store.Next(ctx, companyID)
		if err != nil || s == nil {
			return closed, false, err
		}
		n, done, err := closeSome(ctx, store, companyID, now, s, left)
		if err != nil {
			return closed, false, err
		}
		if done {
			closed++
		}
		left -= max(n, leastOfStatement)
	}
	return closed, true, nil
}

// closeSome goes on with a statement and looks at limit entries at most, once when they are
// put into it and once when they are summed. It returns how many it looked at, and whether the
// statement is closed.
func closeSome(ctx context.Context, store Store, companyID string, now time.Time, s *Statement, limit int) (n int, closed bool, err error) {
	sum := s.Summed
	if sum == nil {
		if n, err = store.Freeze(ctx, companyID, *s, limit); err != nil || n == limit {
			return n, false, err
		}
		sum = &Sum{}
	}
	summed, err := store.Sum(ctx, companyID, s.StatementID, sum, limit)
	if err != nil {
		return n, false, err
	}
	if n += summed; summed == limit {
		return n, false, store.KeepSum(ctx, companyID, s.StatementID, sum)
	}
	before, err := store.ClosedBefore(ctx, companyID, *s)
	if err != nil {
		return n, false, err
	}
	parties, err := store.Parties(ctx, companyID, s.InfluencerID)
	if err != nil {
		return n, false, err
	}
	return n, true, store.Close(ctx, companyID, now, Close(*s, before, sum, parties))
}
