package merchant

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
)

// SetSecondFactor turns a person's second factor on or off. The audit logs of all stores of the person have it. One that
// was changed meanwhile is commerce.ErrConflict, an unknown person commerce.ErrNotFound.
func (s *Store) SetSecondFactor(ctx context.Context, c account.SecondFactorChange) error {
	codes, action := c.RecoveryCodes, "person.factor_on"
	if codes == nil {
		codes = [][]byte{}
	}
	if len(c.Sealed) == 0 {
		c.Sealed, action = nil, "person.factor_off"
	}
	err := s.db.InTx(ctx, func(tx pgx.Tx) error {
		var same bool
		if err := tx.QueryRow(ctx, `select coalesce(second_factor, '') = coalesce($2::bytea, '') from person where person_id = $1 for update`,
			c.PersonID, c.Before).Scan(&same); err != nil {
			return err
		}
		if !same && !c.Any {
			return commerce.ErrConflict
		}
		if _, err := tx.Exec(ctx, `update person set second_factor = $2, second_factor_step = $3, recovery_codes = $4 where person_id = $1`,
			c.PersonID, c.Sealed, c.Step, codes); err != nil {
			return err
		}
		return auditPerson(ctx, tx, c.PersonID, c.Actor, action)
	})
	return postgres.Wrapf(err, "postgres: set second factor")
}

// auditPerson writes what concerns a person into the audit logs of the person's stores.
func auditPerson(ctx context.Context, tx pgx.Tx, personID, actor, action string) error {
	companies, err := postgres.Collect(ctx, tx, pgx.RowTo[string], `
		select c.company_id from membership m join company c using (store_id)
		where m.person_id = $1 and c.environment = 'live' order by c.company_id limit 200`, personID)
	if err != nil {
		return err
	}
	for _, company := range companies {
		if err := audit(ctx, tx, Change{CompanyID: company, Actor: actor, Action: action, Subject: personID}); err != nil {
			return err
		}
	}
	return nil
}

// UseCode uses the code of a step, once: a step that is not after the last, or a factor that is not before any more, is
// commerce.ErrNotFound. sealed replaces the factor: the same secret, perhaps encrypted anew.
func (s *Store) UseCode(ctx context.Context, personID string, step int64, before, sealed []byte) error {
	err := postgres.Hit(ctx, s.db.Pool(), `
		update person set second_factor_step = $2, second_factor = $4
		where person_id = $1 and second_factor_step < $2 and second_factor = $3`, personID, step, before, sealed)
	return postgres.Wrapf(postgres.Translate(err), "postgres: use a code")
}

// UseRecoveryCode uses a recovery code by its SHA-256, once: one that was used, or is none, is commerce.ErrNotFound.
func (s *Store) UseRecoveryCode(ctx context.Context, personID string, hash []byte) error {
	err := s.db.InTx(ctx, func(tx pgx.Tx) error {
		if err := postgres.Hit(ctx, tx, `
			update person set recovery_codes = array_remove(recovery_codes, $2::bytea) where person_id = $1 and $2::bytea = any(recovery_codes)`,
			personID, hash); err != nil {
			return err
		}
		return auditPerson(ctx, tx, personID, "user/"+personID, "person.recovery_code")
	})
	return postgres.Wrapf(err, "postgres: use a recovery code")
}

func passwordLinkColumns(l *account.PasswordLink) postgres.Columns {
	return postgres.Columns{
		postgres.Into("at", &l.At),
		postgres.Into("subject", &l.PersonID),
		postgres.Into("actor", &l.Actor),
		postgres.Into("action = 'person.password'", &l.Used),
	}
}

// PasswordLinks lists the links for new passwords of people that were made or used since an instant, as the audit log of
// a company has them, the newest first; at most limit.
func (s *Store) PasswordLinks(ctx context.Context, companyID string, people []string, since time.Time,
	limit int) ([]account.PasswordLink, error) {
	list, err := postgres.Collect(ctx, s.db.Pool(), postgres.Scan(passwordLinkColumns), `
		select `+postgres.List(passwordLinkColumns)+` from audit_log
		where company_id = $1 and subject = any($2::text[]) and at > $3 and action in ('person.reset_link', 'person.password')
		order by at desc, audit_id limit $4`, companyID, people, since, limit)
	return list, postgres.Wrapf(postgres.Translate(err), "postgres: links for passwords")
}
