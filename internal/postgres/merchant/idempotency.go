package merchant

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
)

// claimAttempts bounds the claims of one key: a row may be freed between the
// statement that meets it and the one that reads it.
const claimAttempts = 3

// ClaimKey takes an idempotency key, or gives the answer stored under it. A
// key of another request is commerce.ErrKeyMismatch, one whose request is under
// way commerce.ErrKeyInProgress. All times are the database's.
func (s *Store) ClaimKey(ctx context.Context, c commerce.Claim) (commerce.Claimed, error) {
	fail := func(err error) (commerce.Claimed, error) {
		return commerce.Claimed{}, fmt.Errorf("postgres: claim idempotency key: %w", err)
	}
	lease, err := uuid.NewRandom()
	if err != nil {
		return fail(err)
	}
	for range claimAttempts {
		tag, err := s.db.Pool().Exec(ctx, `
			insert into idempotency as i (company_id, idempotency_key, fingerprint, lease, leased_until, expires_at)
			values ($1, $2, $3, $4, now() + $5, now() + $6)
			on conflict (company_id, idempotency_key) do update
				set fingerprint = excluded.fingerprint, lease = excluded.lease, leased_until = excluded.leased_until,
					expires_at = excluded.expires_at, answer = null
				where i.expires_at <= now()
					or i.answer is null and i.leased_until <= now() and i.fingerprint = excluded.fingerprint`,
			c.CompanyID, c.Key, c.Fingerprint[:], lease.String(), c.Lease, c.Keep)
		if err != nil {
			return fail(postgres.Translate(err))
		}
		if tag.RowsAffected() == 1 {
			return commerce.Claimed{Attempt: &attempt{db: s.db, claim: c, lease: lease.String()}}, nil
		}
		var same bool
		var answer []byte
		err = s.db.Pool().QueryRow(ctx, `select fingerprint = $3, answer from idempotency where company_id = $1 and idempotency_key = $2`,
			c.CompanyID, c.Key, c.Fingerprint[:]).Scan(&same, &answer)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			continue
		case err != nil:
			return fail(postgres.Translate(err))
		case !same:
			return fail(commerce.ErrKeyMismatch)
		case answer == nil:
			return fail(commerce.ErrKeyInProgress)
		}
		return commerce.Claimed{Answer: answer}, nil
	}
	return fail(commerce.ErrKeyInProgress)
}

// attempt is a claimed key. Its transaction, where a change was made within it,
// stays open until the answer is in it too.
type attempt struct {
	db    *postgres.DB
	claim commerce.Claim
	lease string
	tx    pgx.Tx // nil until a change is made
	done  bool   // the answer is stored
}

func (a *attempt) Within(ctx context.Context) context.Context {
	return postgres.WithTransactor(ctx, a)
}

// InTx runs f in the attempt's transaction; an error of f undoes all of it.
func (a *attempt) InTx(ctx context.Context, f func(tx pgx.Tx) error) error {
	if a.tx == nil {
		tx, err := a.db.Pool().Begin(ctx)
		if err != nil {
			return err
		}
		a.tx = tx
	}
	err := f(a.tx)
	if err != nil {
		a.rollback(ctx)
	}
	return err
}

// rollback gives the connection back. What it says against that is of no use:
// a broken connection is closed, and its changes are undone by the server.
func (a *attempt) rollback(ctx context.Context) {
	if a.tx != nil {
		_ = a.tx.Rollback(ctx)
		a.tx = nil
	}
}

func (a *attempt) Finish(ctx context.Context, answer json.RawMessage) error {
	err := a.InTx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `
			update idempotency set answer = $4, expires_at = now() + $5
			where company_id = $1 and idempotency_key = $2 and lease = $3 and answer is null`,
			a.claim.CompanyID, a.claim.Key, a.lease, []byte(answer), a.claim.Keep)
		if err == nil && tag.RowsAffected() == 0 {
			err = commerce.ErrKeyInProgress // the lease was over, and another attempt has begun
		}
		return err
	})
	if err == nil {
		err = a.tx.Commit(ctx)
		a.tx, a.done = nil, err == nil
	}
	if err != nil {
		return fmt.Errorf("postgres: store an idempotent answer: %w", postgres.Translate(err))
	}
	return nil
}

func (a *attempt) Abandon(ctx context.Context) error {
	if a.done {
		return nil
	}
	a.rollback(ctx)
	_, err := a.db.Pool().Exec(ctx, `
		delete from idempotency where company_id = $1 and idempotency_key = $2 and lease = $3 and answer is null`,
		a.claim.CompanyID, a.claim.Key, a.lease)
	if err != nil {
		return fmt.Errorf("postgres: free an idempotency key: %w", postgres.Translate(err))
	}
	return nil
}

// ForgetAnswers removes up to limit expired answers of the first company after
// one, in the order of their ids, and names it; "" when there is none left.
func (s *Store) ForgetAnswers(ctx context.Context, after string, limit int) (companyID string, removed int, err error) {
	err = s.db.Pool().QueryRow(ctx, `select company_id from idempotency where company_id > $1 order by company_id limit 1`, after).Scan(&companyID)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", 0, nil
	}
	if err == nil {
		var tag int64
		tag, err = s.forgetAnswersOf(ctx, companyID, limit)
		removed = int(tag)
	}
	if err != nil {
		return "", 0, fmt.Errorf("postgres: forget idempotent answers: %w", postgres.Translate(err))
	}
	return companyID, removed, nil
}

func (s *Store) forgetAnswersOf(ctx context.Context, companyID string, limit int) (int64, error) {
	// Expired rows that a new claim or another process holds are left to it.
	tag, err := s.db.Pool().Exec(ctx, `
		delete from idempotency where company_id = $1 and idempotency_key in (
			select idempotency_key from idempotency where company_id = $1 and expires_at <= now()
			order by expires_at limit $2 for update skip locked)`, companyID, limit)
	return tag.RowsAffected(), err
}
