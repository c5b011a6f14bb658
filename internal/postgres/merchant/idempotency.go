package merchant

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/postgres"
)

// claimAttempts bounds the claims of one key: between the statements of a claim
// another request may free the key, or take it.
const claimAttempts = 3

// ClaimKey takes an idempotency key, or returns the answer stored under it. A
// key that another request used is account.ErrKeyMismatch, one whose request
// has not ended account.ErrKeyInProgress. Where the claim has a former key, both are taken. All times are the database's.
func (s *Store) ClaimKey(ctx context.Context, c account.Claim) (account.Claimed, error) {
	lease, err := uuid.NewRandom()
	if err != nil {
		return account.Claimed{}, fmt.Errorf("postgres: claim idempotency key: %w", err)
	}
	claims := []account.Claim{c}
	if c.Former != nil {
		former := c
		former.Key, former.Fingerprint = c.Former.Key, c.Former.Fingerprint
		claims = append(claims, former)
	}
	a := &attempt{db: s.db, claim: c, lease: lease.String()}
	for _, one := range claims {
		answer, err := s.claimOne(ctx, one, a.lease)
		if err == nil && answer == nil {
			a.keys = append(a.keys, one.Key)
			continue
		}
		if len(a.keys) > 0 {
			err = errors.Join(err, a.Abandon(ctx))
		}
		return account.Claimed{Answer: answer}, postgres.Wrapf(err, "postgres: claim idempotency key")
	}
	return account.Claimed{Attempt: a}, nil
}

// claimOne takes one key, or returns the answer stored under it.
func (s *Store) claimOne(ctx context.Context, c account.Claim, lease string) (answer []byte, err error) {
	free := false // the key has a row, and may be taken again
	for range claimAttempts {
		taken, err := s.takeKey(ctx, c, lease, free)
		if err != nil {
			return nil, postgres.Translate(err)
		}
		if taken {
			return nil, nil
		}
		known, err := postgres.One(ctx, s.db.Pool(), postgres.Scan(knownKeyColumns), `
			select `+postgres.List(knownKeyColumns)+` from idempotency where company_id = @company_id and idempotency_key = @key`,
			pgx.NamedArgs{"company_id": c.CompanyID, "key": c.Key, "fingerprint": c.Fingerprint[:]})
		free = known.free
		switch {
		case errors.Is(err, pgx.ErrNoRows), err == nil && free:
			continue
		case err != nil:
			return nil, postgres.Translate(err)
		case !known.same:
			return nil, account.ErrKeyMismatch
		case known.answer == nil:
			return nil, account.ErrKeyInProgress
		}
		return known.answer, nil
	}
	return nil, account.ErrKeyInProgress
}

// freeKey is the condition under which a key that has a row may be taken: its
// answer expired, or its lease ended without an answer to the same request.
const freeKey = `(expires_at <= now() or answer is null and leased_until <= now() and fingerprint = @fingerprint)`

// takeKey takes a key that has no row, or with free one whose row is free again.
func (s *Store) takeKey(ctx context.Context, c account.Claim, lease string, free bool) (taken bool, err error) {
	args := pgx.NamedArgs{"company_id": c.CompanyID, "key": c.Key, "fingerprint": c.Fingerprint[:], "lease": lease,
		"leased_for": c.Lease, "kept_for": c.Keep}
	var tag pgconn.CommandTag
	if free {
		tag, err = s.db.Pool().Exec(ctx, `
			update idempotency set fingerprint = @fingerprint, lease = @lease, leased_until = now() + @leased_for,
				expires_at = now() + @kept_for, answer = null
			where company_id = @company_id and idempotency_key = @key and `+freeKey, args)
	} else {
		tag, err = s.db.Pool().Exec(ctx, `
			insert into idempotency (company_id, idempotency_key, fingerprint, lease, leased_until, expires_at)
			values (@company_id, @key, @fingerprint, @lease, now() + @leased_for, now() + @kept_for)
			on conflict (company_id, idempotency_key) do nothing`, args)
	}
	return tag.RowsAffected() == 1, err
}

type knownKey struct {
	same, free bool
	answer     []byte
}

func knownKeyColumns(k *knownKey) postgres.Columns {
	return postgres.Columns{
		postgres.Into("fingerprint = @fingerprint", &k.same),
		postgres.Into(freeKey, &k.free),
		postgres.Into("answer", &k.answer),
	}
}

// attempt is a claimed key. Changes made Within it and the answer are in one
// transaction, which stays open until then.
type attempt struct {
	db    *postgres.DB
	claim account.Claim
	keys  []string // that are taken
	lease string
	tx    pgx.Tx // nil until a change is made
	done  bool   // the answer is stored
}

func (a *attempt) Within(ctx context.Context) context.Context {
	return postgres.WithTransactor(ctx, a)
}

// InTx runs f in the attempt's transaction; an error of f rolls all of it back.
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

// rollback ends the transaction and returns its connection to the pool. Its
// error is ignored: the pool closes a broken connection, and the server then
// rolls back.
func (a *attempt) rollback(ctx context.Context) {
	if a.tx != nil {
		_ = a.tx.Rollback(ctx)
		a.tx = nil
	}
}

func (a *attempt) Finish(ctx context.Context, answer json.RawMessage) error {
	err := a.InTx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `
			update idempotency set answer = @answer, expires_at = now() + @kept_for
			where company_id = @company_id and idempotency_key = any(@keys) and lease = @lease and answer is null`,
			pgx.NamedArgs{"company_id": a.claim.CompanyID, "keys": a.keys, "lease": a.lease, "answer": []byte(answer), "kept_for": a.claim.Keep})
		if err == nil && tag.RowsAffected() != int64(len(a.keys)) {
			err = account.ErrKeyInProgress // the lease ended, and another attempt took the key
		}
		return err
	})
	if err == nil {
		err = a.tx.Commit(ctx)
		a.tx, a.done = nil, err == nil
	}
	return postgres.Wrapf(postgres.Translate(err), "postgres: store an idempotent answer")
}

func (a *attempt) Abandon(ctx context.Context) error {
	if a.done {
		return nil
	}
	a.rollback(ctx)
	_, err := a.db.Pool().Exec(ctx, `
		delete from idempotency where company_id = $1 and idempotency_key = any($2) and lease = $3 and answer is null`,
		a.claim.CompanyID, a.keys, a.lease)
	return postgres.Wrapf(postgres.Translate(err), "postgres: free an idempotency key")
}

// forgetRepeats deletes the answers that are kept for requests sent again without an
// Idempotency-Key. What was registered may be gone now, or changed, and may be
// registered again.
func (c *ruleChange) forgetRepeats(ctx context.Context) error {
	_, err := c.tx.Exec(ctx, `
		delete from idempotency where company_id = $1 and idempotency_key like $2 || '%' and answer is not null`, c.change.CompanyID,
		account.RepeatKeyPrefix)
	return err
}

// forgetCompanies bounds the companies that one call of ForgetAnswers looks at.
const forgetCompanies = 100

// ForgetAnswers deletes up to limit expired answers of the companies after one,
// in the order of their ids. It returns the last company that it looked at, ""
// where there was none. If it deleted fewer than limit, no expired answer is
// left up to that company.
func (s *Store) ForgetAnswers(ctx context.Context, after string, limit int) (last string, removed int, err error) {
	// The companies are read from their own table, not from the answers: see docs/notes/tables.md, rule 2.
	companies, err := postgres.Collect(ctx, s.db.Pool(), pgx.RowTo[string],
		`select company_id from company where company_id > $1 order by company_id limit $2`, after, forgetCompanies)
	for _, companyID := range companies {
		if removed >= limit {
			break
		}
		var n int
		if n, err = s.forgetAnswersOf(ctx, companyID, limit-removed); err != nil {
			break
		}
		last, removed = companyID, removed+n
	}
	return last, removed, postgres.Wrapf(postgres.Translate(err), "postgres: forget idempotent answers")
}

func (s *Store) forgetAnswersOf(ctx context.Context, companyID string, limit int) (removed int, err error) {
	// Rows that a new claim or another process has locked are left to it.
	tag, err := s.db.Pool().Exec(ctx, `
		delete from idempotency where company_id = $1 and idempotency_key in (
			select idempotency_key from idempotency where company_id = $1 and expires_at <= now()
			order by expires_at limit $2 for update skip locked)`, companyID, limit)
	return int(tag.RowsAffected()), err
}
