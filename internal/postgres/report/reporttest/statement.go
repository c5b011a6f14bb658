package reporttest

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/ledger"
	"github.com/tributary-io/tributary/internal/postgres/factstore"
)

// Ask stores a statement that is asked for, as admin does, and returns its id. Each is
// newer than those before.
func (f *Fixture) Ask(companyID, influencerID, currency, endDate string, minimumMinor int64) (statementID string) {
	f.t.Helper()
	id := uuid.NewString()
	f.exec(`insert into statement (company_id, statement_id, rev, influencer_id, currency, end_date, minimum_minor, asked_at, actor)
		select $1, $2, coalesce(max(rev), 0) + 1, $3, $4, $5::date, $6, now(), 'test' from statement where company_id = $1`,
		companyID, id, influencerID, currency, endDate, minimumMinor)
	return id
}

// Close closes all statements of a company that are asked for, as the processor does.
func (f *Fixture) Close(companyID string) {
	f.t.Helper()
	ctx := context.Background()
	err := factstore.New(f.db).Transact(ctx, func(tx *factstore.Tx) error {
		for {
			s, err := tx.NextStatement(ctx, companyID)
			if err != nil || s == nil {
				return err
			}
			if err := closeOne(ctx, tx, companyID, *s); err != nil {
				return err
			}
		}
	})
	if err != nil {
		f.t.Fatal(err)
	}
}

func closeOne(ctx context.Context, tx *factstore.Tx, companyID string, s facts.Statement) error {
	if _, err := tx.FreezeEntries(ctx, companyID, s, 1_000_000); err != nil {
		return err
	}
	before, err := tx.ClosedBefore(ctx, companyID, s)
	if err != nil {
		return err
	}
	sum := &ledger.Sum{}
	if _, err := tx.SumEntries(ctx, companyID, s.StatementID, sum, 10_000_000); err != nil {
		return err
	}
	return tx.CloseStatement(ctx, companyID, time.Now(), ledger.Close(s, before, sum))
}
