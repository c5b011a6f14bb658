package merchant

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
)

// later are statements that are sent together. What they return is looked at when they are sent.
type later struct {
	batch  *pgx.Batch // of several changes
	shares bool       // the new influencer has a key that another one has too
}

// errCodeTaken says that a new short code is another link's already.
var errCodeTaken = errors.New("a short code is taken")

// executor runs a statement of which only the error is looked at.
type executor interface {
	exec(ctx context.Context, sql string, args pgx.NamedArgs) error
}

// atOnce is an executor that sends each statement at once.
type atOnce struct{ tx pgx.Tx }

func (a atOnce) exec(ctx context.Context, sql string, args pgx.NamedArgs) error {
	_, err := a.tx.Exec(ctx, sql, args)
	return err
}

func (c *ruleChange) exec(ctx context.Context, sql string, args pgx.NamedArgs) error {
	if c.later == nil {
		return atOnce{c.tx}.exec(ctx, sql, args)
	}
	c.later.batch.Queue(sql, args)
	return nil
}

// query runs a statement that returns one column of texts, and gives them to f.
func (c *ruleChange) query(ctx context.Context, sql string, args pgx.NamedArgs, f func(list []string) error) error {
	return queryRows(ctx, c, pgx.RowTo[string], sql, args, f)
}

func queryRows[T any](ctx context.Context, c *ruleChange, scan pgx.RowToFunc[T], sql string, args pgx.NamedArgs,
	f func(list []T) error) error {
	if c.later != nil {
		c.later.batch.Queue(sql, args).Query(func(rows pgx.Rows) error {
			list, err := pgx.CollectRows(rows, scan)
			if err != nil {
				return err
			}
			return f(list)
		})
		return nil
	}
	list, err := postgres.Collect(ctx, c.tx, scan, sql, args)
	if err != nil {
		return err
	}
	return f(list)
}

// insertAll is the function of the same name, in the change's transaction.
func (c *ruleChange) insertAll(ctx context.Context, want int, sql string, args pgx.NamedArgs) error {
	return c.query(ctx, sql, args, func(ids []string) error { return allOf(ids, want) })
}

// allOf is commerce.ErrConflict where fewer rows were inserted than wanted.
func allOf(ids []string, want int) error {
	if len(ids) != want {
		return fmt.Errorf("%w: only %d of %d rows were inserted", commerce.ErrConflict, len(ids), want)
	}
	return nil
}
