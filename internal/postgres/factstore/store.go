package factstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/cases"
	"github.com/tributary-io/tributary/internal/postgres/upkeep"
)

// Store keeps facts and outcomes; safe for concurrent use.
type Store struct {
	*cases.Reader
	*upkeep.Companies
	db      *postgres.DB
	months  sync.Map // time.Time → nil: see MakeMonths
	copying *copying
}

// New makes a store on a database.
func New(db *postgres.DB) *Store {
	return &Store{Reader: cases.NewReader(db), Companies: upkeep.NewCompanies(db), db: db, copying: newCopying()}
}

// Ping returns an error where the server does not answer.
func (s *Store) Ping(ctx context.Context) error { return s.db.Ping(ctx) }

// Tx is one transaction. Transact marks the errors of its methods: facts.ErrData is a
// value that can never be stored; after any other error a retry may succeed, except
// facts.ErrFenced.
type Tx struct {
	cases.Tx
	tx      pgx.Tx
	copying *copying // nil: events are inserted
	telling *postgres.Telling
}

// Transact runs f in one transaction: everything is written when f returns nil, and
// nothing otherwise.
func (s *Store) Transact(ctx context.Context, f func(tx *Tx) error) error {
	return dataError(s.db.InTx(ctx, func(tx pgx.Tx) error { return f(&Tx{Tx: cases.In(tx), tx: tx, copying: s.copying}) }))
}

// exec runs a statement that returns no rows.
func (t *Tx) exec(ctx context.Context, what, sql string, args pgx.NamedArgs) error {
	return postgres.Exec(ctx, t.tx, what, sql, args)
}

// texts runs a statement whose rows have one text each.
func (t *Tx) texts(ctx context.Context, what, sql string, args pgx.NamedArgs) ([]string, error) {
	list, err := postgres.Collect(ctx, t.tx, pgx.RowTo[string], sql, args)
	return list, postgres.Wrapf(err, "%s", what)
}

// dataError marks errors that the same values will always cause as facts.ErrData: bad
// text or numbers (SQLSTATE class 22), broken constraints (23), exceeded limits such
// as the size of an index row (54). See PostgreSQL's appendix A, "Error Codes".
func dataError(err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && (strings.HasPrefix(pg.Code, "22") || strings.HasPrefix(pg.Code, "23") || strings.HasPrefix(pg.Code, "54")) {
		return fmt.Errorf("%w: %w", facts.ErrData, err)
	}
	return err
}
