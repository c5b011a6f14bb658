package processor

// This file closes statements.

import (
	"context"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/ledger"
)

// storeStatements stores statements that are asked for, and payments. Statements are
// closed by closeNext, between two batches.
func (a *application) storeStatements(ctx context.Context) error {
	if err := a.tx.InsertStatements(ctx, a.company, a.statements); err != nil {
		return err
	}
	a.done.statements += len(a.statements)
	if len(a.erasures) > 0 { // admin has stored them; they are done between two batches
		a.done.statements += len(a.erasures)
		if err := a.tx.Erased().BeginErasures(ctx, a.company, a.erasures); err != nil {
			return err
		}
		if err := a.tx.QueueCompany(ctx, a.company); err != nil {
			return err
		}
	}
	return a.tx.InsertPayments(ctx, a.company, a.payments)
}

// askedNext is the id of what the company's merchant has asked for and that is to be done next;
// "" where nothing is.
func (a *application) askedNext(ctx context.Context) (string, error) {
	e, err := a.tx.Erasure().NextErasure(ctx, a.company)
	if err != nil {
		return "", err
	}
	if e != nil {
		return e.ErasureID, nil
	}
	s, err := a.tx.NextStatement(ctx, a.company)
	if err != nil || s == nil {
		return "", err
	}
	return s.StatementID, nil
}

// stepNext goes on with it; chunk bounds the ledger entries that it puts into a statement.
func (a *application) stepNext(ctx context.Context, chunk int) error {
	if found, err := a.eraseNext(ctx); found || err != nil {
		return err
	}
	return a.closeNext(ctx, chunk)
}

// leastOfStatement is how many ledger entries each statement counts for at least, where
// entries bound a transaction: to close one without any takes some time, too.
const leastOfStatement = 100

// closeNext goes on with the company's statements that are not closed, the first one first:
// it puts entries into them, sums them, and closes those that are summed; at most limit entries.
// It is called when the orders that waited since it was asked for are computed, so that the
// ledger is what the facts said then. Where something is left to do, the company stays queued.
func (a *application) closeNext(ctx context.Context, limit int) error {
	for left := limit; left > 0; {
		s, err := a.tx.NextStatement(ctx, a.company)
		if err != nil || s == nil {
			return err
		}
		n, err := a.closeSome(ctx, s, left)
		if err != nil {
			return err
		}
		left -= max(n, leastOfStatement)
	}
	return a.tx.QueueCompany(ctx, a.company)
}

// closeSome goes on with a statement and looks at limit entries at most, once when they are
// put into it and once when they are summed. It returns how many it looked at.
func (a *application) closeSome(ctx context.Context, s *facts.Statement, limit int) (n int, err error) {
	sum := &ledger.Sum{}
	if s.Summed == nil {
		if n, err = a.tx.FreezeEntries(ctx, a.company, *s, limit); err != nil || n == limit {
			return n, err
		}
	} else if kept, err := ledger.UnpackSum(s.Summed); err == nil {
		sum = kept // else another version of the program wrote it: the sum begins anew
	}
	summed, err := a.tx.SumEntries(ctx, a.company, s.StatementID, sum, limit)
	if err != nil {
		return n, err
	}
	if n += summed; summed == limit {
		return n, a.tx.KeepSum(ctx, a.company, s.StatementID, sum)
	}
	before, err := a.tx.ClosedBefore(ctx, a.company, *s)
	if err != nil {
		return n, err
	}
	a.done.closed++
	return n, a.tx.CloseStatement(ctx, a.company, a.now, ledger.Close(*s, before, sum))
}
