package merchant

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/wire"
)

// PayStatement records that a statement was paid. A repeat of the payment that is
// recorded changes nothing. Errors: commerce.ErrNotFound, commerce.ErrNotClosed,
// commerce.ErrCarried, commerce.ErrPaidOtherwise, commerce.ErrRestored.
func (s *Store) PayStatement(ctx context.Context, author commerce.Author, p commerce.StatementPayment) error {
	return s.PayStatements(ctx, author, []commerce.StatementPayment{p})
}

// PayStatements records that statements were paid: all of them, or none. Its errors are PayStatement's, and
// *commerce.StaleError where one was changed since it was shown; a list has at most commerce.MostPaidAtOnce.
func (s *Store) PayStatements(ctx context.Context, author commerce.Author, list []commerce.StatementPayment) error {
	if len(list) > commerce.MostPaidAtOnce {
		return commerce.ErrTooManyStatements
	}
	err := s.db.InTx(ctx, func(tx pgx.Tx) error {
		if err := lockCompany(ctx, tx, author.CompanyID); err != nil {
			return err
		}
		var due []commerce.StatementPayment
		for _, p := range list {
			done, err := payable(ctx, tx, author.CompanyID, p)
			if err != nil {
				return fmt.Errorf("statement %s: %w", p.StatementID, err)
			}
			if !done {
				due = append(due, p)
			}
		}
		if len(due) == 0 {
			return nil
		}
		rev, now, _, err := bumpAny(ctx, tx, author.CompanyID)
		if err != nil {
			return err
		}
		for _, p := range due {
			change := Change{CompanyID: author.CompanyID, Rev: rev, At: now, Actor: author.Actor, Action: "statement.pay", Subject: p.StatementID,
				Detail: map[string]any{"paid_at": p.PaidAt.UTC(), "reference": p.Reference}}
			if err := pay(ctx, tx, change, p); err != nil {
				return fmt.Errorf("statement %s: %w", p.StatementID, err)
			}
		}
		return nil
	})
	return postgres.Wrapf(err, "postgres: pay statements of %s", author.CompanyID)
}

// pay stores a payment with its record and its row of the audit log. A statement that is there twice is a conflict.
func pay(ctx context.Context, tx pgx.Tx, change Change, p commerce.StatementPayment) error {
	if err := insertAll(ctx, tx, 1, `
		insert into statement_payment (company_id, statement_id, rev, paid_at, reference, recorded_at, actor)
		values (@company_id, @statement_id, @rev, @paid_at, @reference, @now, @actor) on conflict do nothing returning statement_id::text`,
		pgx.NamedArgs{"company_id": change.CompanyID, "statement_id": p.StatementID, "rev": change.Rev, "paid_at": p.PaidAt,
			"reference": p.Reference, "now": change.At, "actor": change.Actor}); err != nil {
		return err
	}
	if err := putCommerce(ctx, tx, change, wire.KindPayment, p.StatementID,
		wire.Payment{StatementID: p.StatementID, PaidAt: p.PaidAt.UTC(), Reference: p.Reference}); err != nil {
		return err
	}
	return audit(ctx, tx, change)
}

// payable returns nil where a statement may be paid; done where it has this very payment.
func payable(ctx context.Context, tx pgx.Tx, companyID string, p commerce.StatementPayment) (done bool, err error) {
	if p.Seen != "" {
		seen, err := commerce.ParseVersion(p.Seen)
		if err == nil && seen.Subject != p.StatementID {
			err = commerce.ErrConflict
		}
		if err == nil {
			err = checkVersion(commerce.WithVersion(ctx, seen), tx, companyID)
		}
		if err != nil {
			return false, err
		}
	}
	var closed, carried, restored bool
	var paidAt time.Time
	var reference string
	if err := tx.QueryRow(ctx, `
		select s.closed_at is not null, coalesce(s.carried, false), p.paid_at, coalesce(p.reference, ''), c.restored_at is not null
		from statement s join company c on c.company_id = s.company_id left join statement_payment p on p.company_id = s.company_id
		and p.statement_id = s.statement_id and p.undone_rev is null
		where s.company_id = @company_id and s.statement_id = @statement_id`,
		pgx.NamedArgs{"company_id": companyID, "statement_id": p.StatementID}).Scan(&closed, &carried, postgres.ZeroIfNull(&paidAt), &reference,
		&restored); err != nil {
		return false, err
	}
	switch {
	case !paidAt.IsZero():
		if paidAt.Equal(p.PaidAt) && reference == p.Reference {
			return true, nil
		}
		return false, commerce.ErrPaidOtherwise
	case !closed:
		return false, commerce.ErrNotClosed
	case carried:
		return false, commerce.ErrCarried
	case restored:
		return false, commerce.ErrRestored
	}
	return false, nil
}

// UndoPayment takes the payment of a statement back, which is to be paid again from then on; nothing is posted. Errors:
// commerce.ErrNotFound, commerce.ErrNotPaid, commerce.ErrRestored.
func (s *Store) UndoPayment(ctx context.Context, author commerce.Author, u commerce.PaymentUndo) error {
	err := s.db.InTx(ctx, func(tx pgx.Tx) error {
		rev, now, _, err := bumpAny(ctx, tx, author.CompanyID)
		if err != nil {
			return err
		}
		var paid int64 // the payment's revision
		var restored bool
		var reference string
		if err := tx.QueryRow(ctx, `
			select coalesce(p.rev, 0), coalesce(p.reference, ''), c.restored_at is not null
			from statement s join company c on c.company_id = s.company_id
			left join statement_payment p on p.company_id = s.company_id and p.statement_id = s.statement_id and p.undone_rev is null
			where s.company_id = @company_id and s.statement_id = @statement_id`,
			pgx.NamedArgs{"company_id": author.CompanyID, "statement_id": u.StatementID}).Scan(&paid, &reference, &restored); err != nil {
			return err
		}
		switch {
		case paid == 0:
			return commerce.ErrNotPaid
		case restored:
			return commerce.ErrRestored
		}
		if _, err := tx.Exec(ctx, `
			update statement_payment set undone_rev = @rev, undone_at = @now, undone_by = @actor, undo_reason = @reason
			where company_id = @company_id and statement_id = @statement_id and undone_rev is null`,
			pgx.NamedArgs{"company_id": author.CompanyID, "statement_id": u.StatementID, "rev": rev, "now": now, "actor": author.Actor,
				"reason": u.Reason}); err != nil {
			return err
		}
		change := Change{CompanyID: author.CompanyID, Rev: rev, At: now, Actor: author.Actor, Action: "statement.undo_payment",
			Subject: u.StatementID, Detail: map[string]any{"reference": reference, "reason": u.Reason}}
		if err := putCommerce(ctx, tx, change, wire.KindPayment, u.StatementID,
			wire.Payment{StatementID: u.StatementID, Undoes: paid, Reason: u.Reason}); err != nil {
			return err
		}
		return audit(ctx, tx, change)
	})
	return postgres.Wrapf(err, "postgres: undo the payment of statement %s", u.StatementID)
}
