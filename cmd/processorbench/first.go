package main

import (
	"context"
	"errors"

	"github.com/tributary-io/tributary/internal/devstack/copied"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/explained"
)

// firstVersion is the schema beside whose rows the goals were set: that of the first version
// of this program.
const firstVersion = 13

// copyFirst copies the same facts as the rows of the first version's tables, in a database of
// that version: the rows are what the migrations make of today's on the way back, with the
// explanations, which the migrations cannot unpack. It returns what a unit cost, and its
// bytes on disk.
func (b *bench) copyFirst(ctx context.Context, of string, l load, units int) (unit cost, bytes int, err error) {
	tables, err := b.firstTables(ctx, l.stores)
	if err != nil {
		return unit, 0, err
	}
	explanations, err := b.explanations(ctx, of)
	if err != nil {
		return unit, 0, err
	}
	server, err := copied.Open(ctx, b.server.DSN())
	if err != nil {
		return unit, 0, err
	}
	defer func() { err = errors.Join(err, server.Close(ctx)) }()
	name := of + "_first"
	db, err := copied.Clone(ctx, server, of, name, b.server.DatabaseDSN(name), nil)
	if err != nil {
		return unit, 0, err
	}
	if err = postgres.MigrateBack(ctx, b.server.DatabaseDSN(name), firstVersion); err == nil {
		err = db.SetExplanations(ctx, explanations)
	}
	if err == nil {
		tables, err = filled(ctx, db, tables)
	}
	if err == nil {
		err = db.Save(ctx, b.dir, tables)
	}
	if err := errors.Join(err, db.Close(ctx)); err != nil {
		return unit, 0, err
	}
	return b.copy(ctx, name, tables, units)
}

// explanations reads the explanations of all orders, as JSON.
func (b *bench) explanations(ctx context.Context, name string) (list []copied.Explanation, err error) {
	db, err := copied.Open(ctx, b.server.DatabaseDSN(name))
	if err != nil {
		return nil, err
	}
	list, err = db.Explanations(ctx)
	for i := range list {
		if err == nil {
			list[i].Body, err = explained.Unpack(list[i].Body)
		}
	}
	return list, errors.Join(err, db.Close(ctx))
}

// firstTables are the first version's tables that the processor may fill: those that are empty
// while there are stores and no facts.
func (b *bench) firstTables(ctx context.Context, stores int) (tables []string, err error) {
	dsn, err := b.server.CreateDatabase(ctx, "first_without_facts")
	if err != nil {
		return nil, err
	}
	if err := postgres.Migrate(ctx, dsn); err != nil {
		return nil, err
	}
	if _, err := createStores(ctx, dsn, stores); err != nil {
		return nil, err
	}
	if err := postgres.MigrateBack(ctx, dsn, firstVersion); err != nil {
		return nil, err
	}
	db, err := copied.Open(ctx, dsn)
	if err != nil {
		return nil, err
	}
	tables, err = db.Empty(ctx)
	return tables, errors.Join(err, db.Close(ctx))
}
