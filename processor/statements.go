package processor

// This file closes statements.

import (
	"context"

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
		if err := a.tx.BeginErasures(ctx, a.company, a.erasures); err != nil {
			return err
		}
		if err := a.tx.QueueCompany(ctx, a.company); err != nil {
			return err
		}
	}
	return a.tx.InsertPayments(ctx, a.company, a.payments)
}

// closeNext goes on with the company's first statement that is not closed: it puts at
// most limit entries into it, and closes it where there are no more. It is called when
// no order of the company is queued, so that the ledger is what the facts say. Where
// something is left to do, the company stays queued.
func (a *application) closeNext(ctx context.Context, limit int) error {
	s, err := a.tx.NextStatement(ctx, a.company)
	if err != nil || s == nil {
		return err
	}
	n, err := a.tx.FreezeEntries(ctx, a.company, *s, limit)
	if err != nil {
		return err
	}
	if n < limit {
		before, err := a.tx.ClosedBefore(ctx, a.company, *s)
		if err != nil {
			return err
		}
		sum, err := a.tx.SumStatement(ctx, a.company, s.StatementID)
		if err != nil {
			return err
		}
		if err := a.tx.CloseStatement(ctx, a.company, a.now, ledger.Close(*s, before, sum)); err != nil {
			return err
		}
		a.done.closed++
	}
	return a.tx.QueueCompany(ctx, a.company)
}
