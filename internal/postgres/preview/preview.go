package preview

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/cases"
	"github.com/tributary-io/tributary/internal/postgres/factstore"
	"github.com/tributary-io/tributary/internal/preview"
	"github.com/tributary-io/tributary/internal/wire"
)

// Store tries changes; safe for concurrent use.
type Store struct {
	db *postgres.DB
}

// New makes a store on a database.
func New(db *postgres.DB) *Store { return &Store{db: db} }

// How long a dry run waits for a lock, and how long others wait for its lock, at most.
const (
	lockWait = 2 * time.Second
	lockHeld = 3 * time.Second
)

// Try makes a change in a transaction that is rolled back. It holds the lock of the
// company's row while it makes the change and reads the rules after it: other changes of
// the company's rules wait so long, at most lockHeld. Orders and events do not wait for
// that lock. commerce.ErrUnavailable says that another change held the lock for too
// long, or that this one took too long.
func (s *Store) Try(ctx context.Context, companyID string, change preview.Change) (tried preview.Tried, err error) {
	return s.try(ctx, companyID, change, lockWait, lockHeld)
}

func (s *Store) try(ctx context.Context, companyID string, change preview.Change, wait,
	held time.Duration) (tried preview.Tried, err error) {
	err = s.db.Undone(ctx, func(tx pgx.Tx) error {
		t := dryRun{tx: tx, company: companyID, tried: &tried}
		if err := t.lock(ctx, wait); err != nil {
			return err
		}
		ends := fmt.Errorf("%w: the change takes longer than %s", commerce.ErrUnavailable, held)
		ctx, cancel := context.WithTimeoutCause(ctx, held, ends)
		defer cancel()
		err := t.make(ctx, change)
		if err != nil && errors.Is(context.Cause(ctx), ends) {
			return fmt.Errorf("%w: %w", ends, err)
		}
		return err
	})
	return tried, err
}

// dryRun is one change that is tried.
type dryRun struct {
	tx      pgx.Tx
	company string
	tried   *preview.Tried
}

// lock reads the rules as they are, and then takes the lock of the company's row: the
// lock is not held while the rules are read, unless they changed meanwhile.
func (t *dryRun) lock(ctx context.Context, wait time.Duration) (err error) {
	var read, locked int64
	if _, err := t.tx.Exec(ctx, `select set_config('lock_timeout', $1, true)`, strconv.FormatInt(wait.Milliseconds(), 10)); err != nil {
		return fmt.Errorf("postgres: lock timeout: %w", postgres.Translate(err))
	}
	if err := t.tx.QueryRow(ctx, `select rules_rev from company where company_id = $1`, t.company).Scan(&read); err != nil {
		return fmt.Errorf("postgres: company %s: %w", t.company, postgres.Translate(err))
	}
	if t.tried.Before, err = cases.In(t.tx).Rules(ctx, t.company); err != nil {
		return fmt.Errorf("postgres: rules before a change: %w", postgres.Translate(err))
	}
	if err := t.tx.QueryRow(ctx, `select rules_rev from company where company_id = $1 for no key update`,
		t.company).Scan(&locked); err != nil {
		return fmt.Errorf("postgres: lock company %s: %w", t.company, postgres.Translate(err))
	}
	if locked == read {
		return nil // every change of rules has a revision of its own
	}
	t.tried.Before, err = cases.In(t.tx).Rules(ctx, t.company)
	return postgres.Wrapf(postgres.Translate(err), "postgres: rules before a change")
}

// make makes the change, and reads what it did.
func (t *dryRun) make(ctx context.Context, change preview.Change) (err error) {
	// With the lock, the rows of this company that come into the outbox are the change's.
	var last int64
	tx, companyID, tried := t.tx, t.company, t.tried
	if err := tx.QueryRow(ctx, `select coalesce(max(outbox_id), 0) from outbox`).Scan(&last); err != nil {
		return fmt.Errorf("postgres: outbox: %w", postgres.Translate(err))
	}
	if err := change(postgres.WithUndone(postgres.WithTransactor(ctx, postgres.Savepoints(tx)))); err != nil {
		return err
	}
	if tried.After, err = cases.In(tx).Rules(ctx, companyID); err != nil {
		return fmt.Errorf("postgres: rules after a change: %w", postgres.Translate(err))
	}
	records, err := postgres.Collect(ctx, tx, pgx.RowTo[[]byte], `
		select value from outbox where outbox_id > $1 and key = $2 and topic = $3 order by outbox_id`, last, companyID, wire.TopicCommerce)
	if err != nil {
		return fmt.Errorf("postgres: outbox: %w", postgres.Translate(err))
	}
	for _, record := range records {
		if err := addRecord(tried, record); err != nil {
			return fmt.Errorf("postgres: the record of a change: %w", err)
		}
	}
	return nil
}

// addRecord adds what the processor would be told of.
func addRecord(tried *preview.Tried, record []byte) error {
	var c wire.Commerce
	if err := json.Unmarshal(record, &c); err != nil {
		return err
	}
	if c.Kind == wire.KindEvidence {
		decision, err := facts.ParseDecision(c)
		tried.Decisions = append(tried.Decisions, decision)
		return err
	}
	change, err := facts.ParseChange(c)
	tried.Changes = append(tried.Changes, change)
	return err
}

// Read runs f on one unchanging view of a company's facts, read only.
func (s *Store) Read(ctx context.Context, companyID string, f func(v preview.View) error) error {
	return s.db.Snapshot(ctx, func(tx pgx.Tx) error { return f(&view{factstore.Within(tx), tx, companyID}) })
}

// view is one company's facts.
type view struct {
	*factstore.Tx
	tx      pgx.Tx
	company string
}

// OrdersByKeys implements preview.View: also the orders around which a key is a hub.
func (v *view) OrdersByKeys(ctx context.Context, spans []facts.KeySpan, limit int) ([]string, error) {
	return v.Tx.OrdersByKeys(ctx, v.company, spans, true, limit)
}

// OrdersCreated implements preview.View.
func (v *view) OrdersCreated(ctx context.Context, from, to time.Time, limit int) ([]string, error) {
	return v.orders(ctx, `
		select order_id from orders where company_id = @company_id and created_at between @lo and @hi
		order by created_at desc, order_id limit @most`, pgx.NamedArgs{"lo": from, "hi": to, "most": limit})
}

// Newest implements preview.View.
func (v *view) Newest(ctx context.Context, orderIDs []string, limit int) ([]string, error) {
	return v.orders(ctx, `
		select order_id from orders where company_id = @company_id and order_id = any(@order_ids)
		order by created_at desc, order_id limit @most`, pgx.NamedArgs{"order_ids": orderIDs, "most": limit})
}

func (v *view) orders(ctx context.Context, sql string, args pgx.NamedArgs) ([]string, error) {
	args["company_id"] = v.company
	ids, err := postgres.Collect(ctx, v.tx, pgx.RowTo[string], sql, args)
	return ids, postgres.Wrapf(err, "find orders")
}

// AcceptedEvents implements preview.View.
func (v *view) AcceptedEvents(ctx context.Context, d *facts.Decision) error {
	return v.Tx.AcceptedEvents(ctx, v.company, d)
}
