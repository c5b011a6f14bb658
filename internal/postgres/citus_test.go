package postgres_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/test/devtest"
)

const distributeFile = "../../deploy/citus/distribute.sql"

// likeCitus are functions with the names and parameters of those of Citus 13 that
// deploy/citus/distribute.sql calls. They keep what they were called with, and refuse what
// Citus refuses: a table twice, a table without the column, a unique or exclusion
// constraint without it, a foreign key.
const likeCitus = `
	create table pg_dist_partition (logicalrelid regclass primary key, kind text not null, colocated_with text);
	create function create_distributed_table(table_name regclass, distribution_column text, distribution_type text default 'hash',
		colocate_with text default 'default', shard_count int default null)
	returns void language plpgsql as $$ begin
		if exists (
			select 1 from pg_index x where x.indrelid = table_name and (x.indisunique or x.indisexclusion) and not exists (
				select 1 from pg_attribute a where a.attrelid = table_name and a.attname = distribution_column and a.attnum = any (x.indkey)))
		then raise exception 'cannot create constraint on %', table_name; end if;
		if exists (select 1 from pg_constraint where contype = 'f' and (conrelid = table_name or confrelid = table_name))
		then raise exception 'a foreign key on %', table_name; end if;
		if colocate_with <> 'none' and not exists (select 1 from pg_dist_partition where logicalrelid = colocate_with::regclass)
		then raise exception '% is not distributed', colocate_with; end if;
		perform from pg_attribute where attrelid = table_name and attname = distribution_column;
		if not found then raise exception 'column % of % does not exist', distribution_column, table_name; end if;
		insert into pg_dist_partition values (table_name, 'distributed', colocate_with);
	end $$;
	create function citus_add_local_table_to_metadata(table_name regclass, cascade_via_foreign_keys boolean default false)
	returns void language plpgsql as $$ begin
		if exists (select 1 from pg_constraint where contype = 'f' and (conrelid = table_name or confrelid = table_name))
		then raise exception 'a foreign key on %', table_name; end if;
		insert into pg_dist_partition values (table_name, 'managed', null);
	end $$`

// TestTheFileForCitusDistributesEveryTable runs the file twice on the migrated schema, with
// functions in the place of Citus': each table of a store's data is distributed by company,
// all together, and each of the control plane stays on the coordinator.
func TestTheFileForCitusDistributesEveryTable(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile(distributeFile)
	if err != nil {
		t.Fatal(err)
	}
	conn := connect(t, devtest.Postgres(t))
	tables, err := postgres.Collect(t.Context(), conn, pgx.RowTo[string], `
		select relname from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition`)
	if err != nil {
		t.Fatal(err)
	}
	run := func(sql string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	run(likeCitus)
	run(string(file))
	run(string(file)) // what is distributed stays
	kinds := map[string]string{}
	rows, err := conn.Query(t.Context(), `select logicalrelid::text, kind, coalesce(colocated_with, '') from pg_dist_partition`)
	if err != nil {
		t.Fatal(err)
	}
	var name, kind, with string
	alone := 0
	if _, err := pgx.ForEachRow(rows, []any{&name, &kind, &with}, func() error {
		kinds[name] = kind
		if with == "none" {
			alone++
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if alone != 1 {
		t.Errorf("%d tables begin a group of their own, want one", alone)
	}
	named := map[string]int{}
	for _, match := range regexp.MustCompile(`'([a-z_0-9]+)'(,|\s*--|\n)`).FindAllStringSubmatch(string(file[:strings.Index(string(file),
		"name text;")]), -1) {
		named[match[1]]++
	}
	for _, table := range tables {
		want := "distributed"
		switch {
		case table == "consumer_offset" || table == "outbox" || table == "connection_turn" || table == "destination":
			want = "managed"
		case controlPlane[table] != "":
			want = ""
		}
		if kinds[table] != want {
			t.Errorf("%s is %q, want %q: mend %s", table, kinds[table], want, distributeFile)
		}
		if named[table] != 1 {
			t.Errorf("%s is named %d times, want once: mend %s", table, named[table], distributeFile)
		}
	}
	for table := range named {
		if !slices.Contains(tables, table) {
			t.Errorf("%s is named and is no table", table)
		}
	}
}
