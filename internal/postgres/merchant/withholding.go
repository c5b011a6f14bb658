package merchant

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/wire"
)

// Withhold enters what is withheld of a closed statement, and its invoice; w.Check has no violation. What is entered already
// changes nothing. Errors: commerce.ErrNotFound, commerce.ErrNotClosed, commerce.ErrCarried, commerce.ErrPaid,
// commerce.ErrAboveTotal, commerce.ErrRestored.
func (s *Store) Withhold(ctx context.Context, author commerce.Author, w commerce.Withholding) error {
	err := s.db.InTx(ctx, func(tx pgx.Tx) error {
		if err := lockCompany(ctx, tx, author.CompanyID); err != nil {
			return err
		}
		before, err := withholdable(ctx, tx, author.CompanyID, w)
		if err != nil || w.Same(before.Withheld, before.Invoice) {
			return err
		}
		rev, now, _, err := bumpAny(ctx, tx, author.CompanyID)
		if err != nil {
			return err
		}
		if err := insertAll(ctx, tx, 1, `
			insert into statement_withholding (company_id, statement_id, rev, list, total_minor, invoice, at, actor)
			values (@company_id, @statement_id, @rev, @list::text::jsonb, @total::bigint, @invoice, @now, @actor)
			on conflict do nothing returning statement_id::text`,
			pgx.NamedArgs{"company_id": author.CompanyID, "statement_id": w.StatementID, "rev": rev, "list": postgres.JSONList(w.List),
				"total": w.TotalMinor().IntPart(), "invoice": w.Invoice, "now": now, "actor": author.Actor}); err != nil {
			return err
		}
		change := Change{CompanyID: author.CompanyID, Rev: rev, At: now, Actor: author.Actor, Action: "statement.withhold",
			Subject: w.StatementID, Detail: map[string]any{"amount_minor": w.TotalMinor().IntPart(), "currency": before.Currency,
				"invoice": w.Invoice}}
		if err := putCommerce(ctx, tx, change, wire.KindWithholding, w.StatementID,
			wire.Withholding{StatementID: w.StatementID, Withheld: w.List, Invoice: w.Invoice}); err != nil {
			return err
		}
		return audit(ctx, tx, change)
	})
	return postgres.Wrapf(err, "postgres: withhold of statement %s", w.StatementID)
}

// withholdable returns what is withheld of a statement now, or why nothing can be entered. Its caller has locked the company.
func withholdable(ctx context.Context, tx pgx.Tx, companyID string, w commerce.Withholding) (before commerce.Statement, err error) {
	var closed, restored bool
	var paidAt time.Time
	var total decimal.Decimal
	err = tx.QueryRow(ctx, `
		select s.currency, s.closed_at is not null, coalesce(s.carried, false), coalesce(s.total_minor, 0), p.paid_at,
			w.list, coalesce(w.invoice, '')
		from statement s
		left join statement_payment p on p.company_id = s.company_id and p.statement_id = s.statement_id and p.undone_rev is null`+
		postgres.Withheld+`
		where s.company_id = @company_id and s.statement_id = @statement_id`,
		pgx.NamedArgs{"company_id": companyID, "statement_id": w.StatementID}).Scan(&before.Currency, &closed, &before.Carried, &total,
		postgres.ZeroIfNull(&paidAt), &before.Withheld, &before.Invoice)
	if err == nil {
		err = tx.QueryRow(ctx, `select restored_at is not null from company where company_id = $1`, companyID).Scan(&restored)
	}
	switch {
	case err != nil:
		return before, err
	case !closed:
		return before, commerce.ErrNotClosed
	case !paidAt.IsZero():
		return before, commerce.ErrPaid
	case before.Carried:
		return before, commerce.ErrCarried
	case restored:
		return before, commerce.ErrRestored
	case w.TotalMinor().GreaterThan(total):
		return before, commerce.ErrAboveTotal
	}
	return before, nil
}
