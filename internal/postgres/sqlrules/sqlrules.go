// Package sqlrules checks the statements that the product sends against the
// rules of docs/tables.md, with which a store's data can be spread over machines by
// company. It reads statements with PostgreSQL's own parser.
//
//	Recorder  keeps every statement that is sent, and from which lines of our code
//	Catalog   the tables and functions of a database; its Check applies the rules to a statement
//	Calls     lists every call in our code that sends a statement, so that none is left out
//
// What belongs here: what tests of statements need. No program imports it.
package sqlrules

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Catalog is what the check needs to know of a database.
type Catalog struct {
	// StoreData has the tables of store data, with their partitions. Every other
	// table is local: of the control plane, or temporary.
	StoreData map[string]bool

	// HasCompany has the tables and views with a column company_id.
	HasCompany map[string]bool

	// Volatility by the name of a function: "i" immutable, "s" stable, "v"
	// volatile. Of several functions with one name it is the most volatile's.
	Volatility map[string]string
}

// ReadCatalog reads the catalog of a migrated database. The keys of controlPlane
// are the tables that are not store data.
func ReadCatalog(ctx context.Context, conn *pgx.Conn, controlPlane map[string]string) (*Catalog, error) {
	c := &Catalog{StoreData: map[string]bool{}, HasCompany: map[string]bool{}, Volatility: map[string]string{}}
	rows, err := conn.Query(ctx, `
		select t.relname, exists (select from pg_attribute a where a.attrelid = t.oid and a.attname = 'company_id')
		from pg_class t join pg_namespace n on n.oid = t.relnamespace and n.nspname = 'public'
		where t.relkind in ('r', 'p', 'v')`)
	if err != nil {
		return nil, fmt.Errorf("read tables: %w", err)
	}
	var name, volatility string
	var hasCompany bool
	if _, err := pgx.ForEachRow(rows, []any{&name, &hasCompany}, func() error {
		c.HasCompany[name], c.StoreData[name] = hasCompany, controlPlane[name] == ""
		return nil
	}); err != nil {
		return nil, fmt.Errorf("read tables: %w", err)
	}
	rows, err = conn.Query(ctx, `select proname, max(provolatile)::text from pg_proc group by proname`) // i < s < v
	if err != nil {
		return nil, fmt.Errorf("read functions: %w", err)
	}
	if _, err := pgx.ForEachRow(rows, []any{&name, &volatility}, func() error {
		c.Volatility[name] = volatility
		return nil
	}); err != nil {
		return nil, fmt.Errorf("read functions: %w", err)
	}
	return c, nil
}

// Violation says which rule of docs/tables.md a statement breaks, and how.
type Violation struct {
	Rule int
	What string
}

// Check returns the violations of a statement: none, where it neither reads nor
// changes rows.
func (c *Catalog) Check(sql string) ([]Violation, error) {
	statements, err := parse(sql)
	if err != nil {
		return nil, err
	}
	k := &check{Catalog: c}
	for _, s := range statements {
		kind, fields := unwrap(s)
		k.level(kind, fields, nil)
	}
	return k.violations, nil
}

// InsertsMany reports whether a statement inserts several rows of store data:
// those of a SELECT, or more than one in VALUES.
func (c *Catalog) InsertsMany(sql string) (many bool, err error) {
	statements, err := parse(sql)
	if err != nil {
		return false, err
	}
	for _, s := range statements {
		walk(s, func(kind string, n node) bool {
			many = many || kind == "InsertStmt" && c.insertsMany(n)
			return true
		})
	}
	return many, nil
}

func (c *Catalog) insertsMany(insert node) bool {
	source := as(insert["selectStmt"], "SelectStmt")
	if source == nil || !c.StoreData[asNode(insert["relation"]).text("relname")] {
		return false
	}
	return len(source.list("valuesLists")) != 1
}

// check collects the violations of one statement.
type check struct {
	*Catalog
	violations []Violation
}

func (k *check) broken(rule int, format string, args ...any) {
	k.violations = append(k.violations, Violation{rule, fmt.Sprintf(format, args...)})
}
