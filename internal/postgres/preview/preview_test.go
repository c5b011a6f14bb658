package preview_test

import (
	"context"
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
	pgpreview "github.com/tributary-io/tributary/internal/postgres/preview"
	"github.com/tributary-io/tributary/test/fixtures/reporttest"
)

func open(t *testing.T) (*reporttest.Fixture, *postgres.DB, *pgpreview.Store) {
	t.Helper()
	f := reporttest.New(t)
	db, err := postgres.Open(t.Context(), f.DSN)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return f, db, pgpreview.New(db)
}

// Orders and events refer to the company's row: they are stored while a change is tried.
func TestOrdersDoNotWaitForADryRun(t *testing.T) {
	t.Parallel()
	f, _, store := open(t)
	company := f.Store.Live.CompanyID
	_, err := store.Try(t.Context(), company, func(ctx context.Context) error {
		if err := f.DB.SetUnproven(ctx, commerce.Author{CompanyID: company, At: time.Now()}, "nobody", commerce.UnprovenPay); !errors.Is(err,
			commerce.ErrNotFound) {
			t.Errorf("the change sees %v", err)
		}
		f.Put(reporttest.Order{CompanyID: company, ID: "1"}) //nolint:contextcheck // another connection: it waits for ever if it has to wait
		f.Event(company, "PAGE_VIEW", time.Now())            //nolint:contextcheck // likewise
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if sale, err := f.DB.ExplainedSale(t.Context(), company, "1"); err != nil || sale.Sale.OrderID != "1" {
		t.Errorf("%+v, %v", sale.Sale, err)
	}
}

// A dry run gives up where another change holds the company's row.
func TestADryRunWaitsForAnotherChangeOnlySoLong(t *testing.T) {
	t.Parallel()
	f, db, store := open(t)
	company := f.Store.Live.CompanyID
	err := db.InTx(t.Context(), func(tx pgx.Tx) error {
		if _, err := tx.Exec(t.Context(), `select 1 from company where company_id = $1 for no key update`, company); err != nil {
			return err
		}
		_, err := store.TryWithin(t.Context(), company, func(context.Context) error {
			t.Error("the change was made beside another")
			return nil
		}, 10*time.Millisecond, time.Hour)
		if !errors.Is(err, commerce.ErrUnavailable) {
			t.Errorf("beside another change: %v, want ErrUnavailable", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Try(t.Context(), company, func(context.Context) error { return nil }); err != nil {
		t.Error(err)
	}
}

// A dry run that takes too long ends, and others go on.
func TestADryRunHoldsTheLockOnlySoLong(t *testing.T) {
	t.Parallel()
	f, _, store := open(t)
	company := f.Store.Live.CompanyID
	_, err := store.TryWithin(t.Context(), company, func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}, time.Second, 10*time.Millisecond)
	if !errors.Is(err, commerce.ErrUnavailable) {
		t.Errorf("a change that does not end: %v, want ErrUnavailable", err)
	}
	author := commerce.Author{CompanyID: company, Actor: "test", At: time.Now()}
	if _, err := f.DB.RegisterInfluencer(t.Context(), author, commerce.Registration{Name: "Ana"}, rand.Reader); err != nil {
		t.Error(err)
	}
}

// What changed between the first look at the rules and the lock is no part of a dry run.
func TestADryRunBeginsWithTheRulesUnderItsLock(t *testing.T) {
	t.Parallel()
	f, db, store := open(t)
	company := f.Store.Live.CompanyID
	ctx, author := t.Context(), commerce.Author{CompanyID: f.Store.Live.CompanyID, Actor: "test", At: time.Now()}
	register := func(ctx context.Context, name string) error {
		_, err := f.DB.RegisterInfluencer(ctx, author, commerce.Registration{Name: name}, rand.Reader)
		return err
	}
	tx, err := db.Pool().Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := register(postgres.WithTransactor(ctx, within{tx}), "Ana"); err != nil {
		t.Fatal(err)
	}
	type result struct {
		before, after int
		err           error
	}
	done := make(chan result, 1)
	go func() {
		tried, err := store.TryWithin(ctx, company, func(ctx context.Context) error { return register(ctx, "Beto") }, time.Minute, time.Minute)
		if err != nil {
			done <- result{err: err}
			return
		}
		done <- result{len(tried.Before.Influencers), len(tried.After.Influencers), nil}
	}()
	f.AwaitWaiting(1)
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if got := <-done; got.err != nil || got.before != 1 || got.after != 2 {
		t.Errorf("%+v, want one influencer before and two after", got)
	}
}

type within struct{ tx pgx.Tx }

func (w within) InTx(_ context.Context, f func(tx pgx.Tx) error) error { return f(w.tx) }
