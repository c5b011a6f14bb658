package postgres_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/test/devtest"
)

// controlPlane names the tables that hold no store's data, and why. All other
// tables can be spread over machines by company_id (docs/notes/tables.md).
var controlPlane = map[string]string{
	"store":             "is above companies",
	"company":           "is the company itself",
	"api_key":           "is looked up by hash before the company is known",
	"person":            "a person may belong to several stores",
	"membership":        "joins people and stores",
	"person_session":    "is looked up by hash before anything is known",
	"log_in_made":       "is of a person, who may be in several stores",
	"invitation":        "is looked up by hash before anything is known",
	"outbox":            "is one queue, in the order of commits",
	"short_code":        "is unique over all companies",
	"recompute_company": "is the small local queue of companies that have orders to compute again",
	"sign_job":          "is the small local queue of companies whose reports of signs were asked for",
	"consumer_offset":   "belongs to partitions, not to companies",
	"schema_migration":  "is the migrations' own",
	"oldest_program":    "is about the schema itself",
	"installation":      "is one row about the whole database",
	"connect_offer":     "is one row about the whole database",
	"connection_turn":   "is one queue, and is looked up by a connection's id alone",
	"destination":       "is one queue over all companies",
}

func connect(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

// ofDigests are the indexes of digests that have the company in them.
var ofDigests = map[string]string{"payout_names": "facts.NameDigest", "order_key_pkey": "facts.KeyDigest"}

// overCompanies are the indexes by which the connect service looks over all companies, and why.
var overCompanies = map[string]string{
	"connection_of_shop":     "a notice to the operator's app names a shop and no company",
	"connection_request_age": "old requests are removed of all companies",
}

func TestEveryKeyAndIndexOfStoreDataStartsWithCompanyID(t *testing.T) {
	t.Parallel()
	conn := connect(t, devtest.Postgres(t))
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
		if controlPlane[table] == "" && index != "" && first != "company_id" && ofDigests[index] == "" && overCompanies[index] == "" {
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

// Rules 1 and 3 of docs/notes/tables.md.
func TestStoreDataCanBeSpreadByCompany(t *testing.T) {
	t.Parallel()
	conn := connect(t, devtest.Postgres(t))
	if found := spreadProblems(t, conn); len(found) > 0 {
		t.Errorf("the schema: %q", found)
	}
	for _, c := range []struct{ change, want string }{
		{`alter table orders add unique (order_id)`, "orders_order_id_key of orders: no company_id by equality"},
		{`create unique index x on orders (order_id) include (company_id)`, "x of orders: no company_id by equality"},
		{`create unique index x on orders (lower(company_id), order_id)`, "x of orders: no company_id by equality"},
		{`alter table coupon add constraint x exclude using gist (code with =)`, "x of coupon: no company_id by equality"},
		{`alter table coupon add constraint x exclude using gist (company_id with <>, code with =)`, "x of coupon: no company_id by equality"},
		{`alter table cost alter company_id type varchar(20)`, "company_id of cost is character varying"},
		{`alter table orders add foreign key (company_id) references company`, "orders refers to company"},
		{`create trigger x before update on orders for each row execute function suppress_redundant_updates_trigger()`, "trigger x on orders"},
		{`alter table cost add foreign key (company_id, influencer_id) references influencer`, ""},
	} {
		err := pgx.BeginFunc(t.Context(), conn, func(tx pgx.Tx) error {
			if _, err := tx.Exec(t.Context(), c.change); err != nil {
				t.Errorf("%s: %v", c.change, err)
				return err
			}
			if found := spreadProblems(t, tx); strings.Join(found, "; ") != c.want {
				t.Errorf("%s: found %q, want %q", c.change, found, c.want)
			}
			return pgx.ErrTxClosed // undone
		})
		if !errors.Is(err, pgx.ErrTxClosed) {
			t.Errorf("%s: %v", c.change, err)
		}
	}
}

// spreadProblems says what in a schema keeps store data from being spread.
func spreadProblems(t *testing.T, q postgres.Querier) []string {
	t.Helper()
	var local []string
	for table := range controlPlane {
		local = append(local, table)
	}
	found, err := postgres.Collect(t.Context(), q, pgx.RowTo[string], `
		with stored as (
			select t.oid, t.relname from pg_class t join pg_namespace n on n.oid = t.relnamespace and n.nspname = 'public'
			where t.relkind in ('r', 'p') and t.relname <> all($1)
		)
		select i.relname || ' of ' || s.relname || ': no company_id by equality'
		from stored s join pg_index x on x.indrelid = s.oid join pg_class i on i.oid = x.indexrelid
		left join pg_constraint c on c.conindid = x.indexrelid and c.conrelid = s.oid and c.contype = 'x'
		where (x.indisunique or x.indisexclusion) and not exists (
			select 1 from generate_series(0, x.indnkeyatts - 1) n
			join pg_attribute a on a.attrelid = s.oid and a.attnum = x.indkey[n] and a.attname = 'company_id'
			left join pg_operator o on o.oid = c.conexclop[n + 1]
			where coalesce(o.oprname, '=') = '=')
		union all
		select 'company_id of ' || s.relname || ' is ' || coalesce(format_type(a.atttypid, null), 'missing')
		from stored s left join pg_attribute a on a.attrelid = s.oid and a.attname = 'company_id'
		where a.atttypid is distinct from 'text'::regtype
		union all
		select s.relname || ' refers to ' || f.relname
		from stored s join pg_constraint c on c.conrelid = s.oid and c.contype = 'f' join pg_class f on f.oid = c.confrelid
		where f.relname = any($1)
		union all
		select 'trigger ' || g.tgname || ' on ' || s.relname from stored s join pg_trigger g on g.tgrelid = s.oid where not g.tgisinternal
		order by 1`, local)
	if err != nil {
		t.Fatal(err)
	}
	return found
}
