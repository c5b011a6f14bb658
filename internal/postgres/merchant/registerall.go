package merchant

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
)

// savepoints runs each transaction as a part of one.
type savepoints struct{ tx pgx.Tx }

func (s savepoints) InTx(ctx context.Context, f func(tx pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, s.tx, f)
}

// errUndone ends a transaction whose changes are not wanted.
var errUndone = errors.New("undone")

// RegisterAll registers each of a list as RegisterInfluencer does, in one transaction. refused says of each why it was
// refused by what is known, the ones before it included, or nil. All is rolled back where keep returns false of it.
func (s *Store) RegisterAll(ctx context.Context, author commerce.Author, list []commerce.Registration,
	keep func(refused []error) bool, random io.Reader) (refused []error, err error) {
	refused = make([]error, len(list))
	err = s.db.InTx(ctx, func(tx pgx.Tx) error {
		if err := lockCompany(ctx, tx, author.CompanyID); err != nil {
			return err
		}
		inner := postgres.WithTransactor(ctx, savepoints{tx})
		for i, r := range list {
			if _, refused[i] = s.RegisterInfluencer(inner, author, r, random); refused[i] != nil &&
				!errors.Is(refused[i], commerce.ErrConflict) {
				return refused[i]
			}
		}
		if !keep(refused) {
			return errUndone
		}
		return nil
	})
	if err != nil && !errors.Is(err, errUndone) {
		return nil, fmt.Errorf("postgres: register influencers: %w", err)
	}
	return refused, nil
}
