package postgres_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/devstack/devtest"
)

// controlPlane names the tables whose keys and indexes need not start with
// company_id, and why. All other tables hold a store's data: with company_id
// first everywhere, the schema can be spread by company as it is.
var controlPlane = map[string]string{
	"store":             "is above companies",
	"company":           "is the company itself",
	"api_key":           "is looked up by hash before the company is known",
	"person":            "a person may belong to several stores",
	"membership":        "joins people and stores",
	"person_session":    "is looked up by hash before anything is known",
	"outbox":            "is one queue, in the order of commits",
	"short_code":        "is unique over all companies",
	"recompute_company": "is the small local queue of companies that have orders to compute again",
	"consumer_offset":   "belongs to partitions, not to companies",
	"goose_db_version":  "is the migrations' own",
}

func TestEveryKeyAndIndexOfStoreDataStartsWithCompanyID(t *testing.T) {
	conn, err := pgx.Connect(t.Context(), devtest.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	rows, err := conn.Query(t.Context(), `
		select t.relname, coalesce(i.relname, ''), coalesce(x.indisprimary, false), coalesce(a.attname, '')
		from pg_class t
		join pg_namespace n on n.oid = t.relnamespace and n.nspname = 'public'
		left join pg_index x on x.indrelid = t.oid
		left join pg_class i on i.oid = x.indexrelid
		left join pg_attribute a on a.attrelid = t.oid and a.attnum = x.indkey[0]
		where t.relkind in ('r', 'p')`)
	if err != nil {
		t.Fatal(err)
	}
	primary := map[string]bool{}
	tables := map[string]bool{}
	var table, index, first string
	var isPrimary bool
	_, err = pgx.ForEachRow(rows, []any{&table, &index, &isPrimary, &first}, func() error {
		tables[table] = true
		primary[table] = primary[table] || isPrimary
		if controlPlane[table] == "" && index != "" && first != "company_id" {
			t.Errorf("index %s of %s starts with %q, not with company_id", index, table, first)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for table := range tables {
		if controlPlane[table] == "" && !primary[table] {
			t.Errorf("%s has no primary key", table)
		}
	}
	for table := range controlPlane {
		if !tables[table] {
			t.Errorf("%s is exempted but does not exist", table)
		}
	}
	if len(tables) < 25 {
		t.Errorf("only %d tables were seen", len(tables))
	}
}
