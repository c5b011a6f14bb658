package processor

// This file goes on with what the merchant has asked for: erasures and statements.

import (
	"context"
	"errors"
	"slices"

	"github.com/tributary-io/tributary/internal/ledger"
	"github.com/tributary-io/tributary/internal/upkeep/statements"
)

// storeAsked stores statements and erasures that are asked for, payments and withholdings. Statements are
// closed and persons erased between two batches (stepNext), so the company is queued.
func (a *application) storeAsked(ctx context.Context) error {
	if err := a.tx.Statements.Insert(ctx, a.company, a.statements); err != nil {
		return err
	}
	if len(a.erasures) > 0 { // admin has stored them
		if err := a.tx.Erased.BeginErasures(ctx, a.company, a.erasures); err != nil {
			return err
		}
	}
	if asked := len(a.statements) + len(a.erasures); asked > 0 {
		a.done.asked += asked
		if err := a.tx.Queue.QueueCompany(ctx, a.company); err != nil {
			return err
		}
	}
	if err := a.tx.Statements.InsertWithholdings(ctx, a.company, a.withheld); err != nil {
		return err
	}
	if err := a.tx.Statements.InsertPayments(ctx, a.company, a.payments); err != nil {
		return err
	}
	if a.closedDay != "" {
		if err := errors.Join(a.tx.Statements.CloseDay(ctx, a.company, a.closedDay), a.tx.Queue.QueueCompany(ctx, a.company)); err != nil {
			return err
		}
	}
	return a.postEntries(ctx)
}

// postEntries stores manual entries, and posts each once: of two with one id the first counts. In a replay one that is in a
// statement is in the ledger already.
func (a *application) postEntries(ctx context.Context) error {
	if len(a.entries) == 0 {
		return nil
	}
	first := map[string]bool{}
	entries := slices.DeleteFunc(slices.Clone(a.entries), func(e statements.Entry) bool {
		again := first[e.EntryID]
		first[e.EntryID] = true
		return again
	})
	stored, err := a.tx.Statements.InsertEntries(ctx, a.company, entries)
	if err != nil {
		return err
	}
	entries = slices.DeleteFunc(entries, func(e statements.Entry) bool { return !stored[e.EntryID] })
	accounts := make([]string, len(entries))
	for i := range entries {
		accounts[i] = entries[i].Account()
	}
	posted, err := a.tx.Outcomes.Ledgers(ctx, a.company, accounts)
	if err != nil {
		return err
	}
	var postings []ledger.Posting
	for i := range entries {
		if len(posted[accounts[i]]) == 0 {
			postings = append(postings, entries[i].Posting())
		}
	}
	return a.tx.Outcomes.AppendLedger(ctx, a.company, a.now, a.index.Rev(), postings)
}

// askedNext is the id of what the company's merchant has asked for and that is to be done next;
// "" where nothing is.
func (a *application) askedNext(ctx context.Context) (string, error) {
	e, err := a.tx.Erasure.NextErasure(ctx, a.company)
	if err != nil {
		return "", err
	}
	if e != nil {
		return e.ErasureID, nil
	}
	s, err := a.tx.Statements.Next(ctx, a.company)
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
	if more, err := a.agreementsNext(ctx); err != nil {
		return err
	} else if more { // a statement has what is owed by its day
		return a.tx.Queue.QueueCompany(ctx, a.company)
	}
	return a.closeNext(ctx, chunk)
}

// closeNext goes on with the company's statements. Where something is left to do, the company
// stays queued.
func (a *application) closeNext(ctx context.Context, limit int) error {
	closed, more, err := statements.CloseNext(ctx, a.tx.Statements, a.company, a.now, limit)
	a.done.closed += closed
	if err != nil || !more {
		return err
	}
	return a.tx.Queue.QueueCompany(ctx, a.company)
}
