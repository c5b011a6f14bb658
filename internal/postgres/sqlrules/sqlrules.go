// Package sqlrules checks the statements that the product sends against the
// rules of docs/tables.md, which let a store's data be spread over machines by
// company. PostgreSQL's own parser reads the statements.
//
//	Recorder  writes down every statement that a connection sends, and from where
//	Catalog   what a database says of its tables and functions; Check holds a statement to the rules
//	Calls     every place of our code that sends a statement, so that none is left out
//
// It serves tests only: no program imports it.
package sqlrules

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Catalog is what the rules must know of a database.
type Catalog struct {
	// StoreData names the tables that hold a store's data, their partitions
	// included. Every other table is local: of the control plane, or temporary.
	StoreData map[string]bool

	// HasCompany names the tables that have a column company_id.
	HasCompany map[string]bool

	// Volatility of a function by its name: "i" immutable, "s" stable,
	// "v" volatile; of several functions of one name the last in this order.
	Volatility map[string]string
}

// ReadCatalog reads a migrated database. controlPlane has the tables of schema
// public that hold no store's data as its keys.
func ReadCatalog(ctx context.Context, conn *pgx.Conn, controlPlane map[string]string) (*Catalog, error) {
	c := &Catalog{StoreData: map[string]bool{}, HasCompany: map[string]bool{}, Volatility: map[string]string{}}
	rows, err := conn.Query(ctx, `
		select t.relname, exists (select from pg_attribute a where a.attrelid = t.oid and a.attname = 'company_id')
		from pg_class t join pg_namespace n on n.oid = t.relnamespace and n.nspname = 'public'
		where t.relkind in ('r', 'p')`)
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

// Violation is one breach of a rule of docs/tables.md.
type Violation struct {
	Rule int
	What string
}

// Check lists what a statement breaks. Only statements that read or change
// rows are held to the rules, not those that make tables or end transactions.
func (c *Catalog) Check(sql string) ([]Violation, error) {
	statements, err := parse(sql)
	if err != nil {
		return nil, err
	}
	k := &check{Catalog: c}
	for _, s := range statements {
		kind, fields := only(s)
		k.level(kind, fields, nil)
	}
	return k.violations, nil
}

// InsertsMany tells whether a statement inserts rows of a store's data whose
// number it does not show: those of a SELECT, or of more than one VALUES.
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

// check is one statement under check.
type check struct {
	*Catalog
	violations []Violation
}

func (k *check) broken(rule int, format string, args ...any) {
	k.violations = append(k.violations, Violation{rule, fmt.Sprintf(format, args...)})
}
