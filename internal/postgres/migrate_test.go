package postgres_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/test/devtest"
)

// The schema of 0.1.0 is the first five files. A later migration raises the number of the oldest program that may use the
// schema to its own number, or says in a comment "older programs go on: " and why. None has a way back.
func TestEveryMigrationSaysWhichProgramsMayUseIt(t *testing.T) {
	files, err := filepath.Glob("migrations/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatal(err, files)
	}
	for _, file := range files {
		number, _, _ := strings.Cut(filepath.Base(file), "_")
		version, err := strconv.Atoi(number)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		raises := regexp.MustCompile(`(?i)update oldest_program set schema_version = ` + strconv.Itoa(version) + `\b`).Match(text)
		goOn := regexp.MustCompile(`-- older programs go on: \w+`).Match(text)
		if version > firstSchema && raises == goOn {
			t.Errorf("%s: write either `update oldest_program set schema_version = %d;`, or `-- older programs go on: ` and why", file, version)
		}
		if strings.Contains(string(text), "+goose Down") {
			t.Errorf("%s has a way back", file)
		}
	}
}

// firstSchema is the number of the schema of 0.1.0.
const firstSchema = 5

// A database of before 0.1.0 has another table of versions. It is not taken as up to date, nor as empty.
func TestADatabaseOfBeforeTheFirstVersionIsRefused(t *testing.T) {
	t.Parallel()
	dsn := devtest.EmptyPostgres(t)
	conn := connect(t, dsn)
	for _, statement := range []string{
		`create table goose_db_version (id int, version_id bigint, is_applied boolean)`, `insert into goose_db_version values (1, 88, true)`,
	} {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	if err := postgres.Migrate(t.Context(), dsn); !errors.Is(err, postgres.ErrFormer) {
		t.Errorf("%v, want %v", err, postgres.ErrFormer)
	}
	var tables int
	const count = `select count(*) from pg_class where relnamespace = 'public'::regnamespace`
	if err := conn.QueryRow(t.Context(), count).Scan(&tables); err != nil || tables != 1 {
		t.Errorf("%d tables, %v: something was made", tables, err)
	}
	db, err := postgres.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	state, err := db.Schema(t.Context())
	if err != nil || !errors.Is(state.Problem(), postgres.ErrFormer) || state.Version != 0 || state.Known < firstSchema {
		t.Errorf("%+v, %v", state, err)
	}
	// Another program's table of that name beside our own tables is no reason.
	other := devtest.Postgres(t)
	if _, err := connect(t, other).Exec(t.Context(), `create table goose_db_version (id int)`); err != nil {
		t.Fatal(err)
	}
	if err := postgres.Migrate(t.Context(), other); err != nil {
		t.Error(err)
	}
}

// What services may not do with the role of Grant: change the schema, or say that it is another one.
func TestTheRoleOfServicesDoesNotChangeTheSchema(t *testing.T) {
	t.Parallel()
	owner := devtest.Postgres(t)
	db, err := postgres.Open(t.Context(), devtest.AsServices(t, owner))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Privileges(t.Context()); err != nil {
		t.Error(err)
	}
	for _, statement := range []string{
		`create table mine ()`, `drop table event_fact_default`, `alter table orders add x int`, `truncate orders`,
		`update oldest_program set schema_version = 0`, `delete from schema_migration`, `select make_event_month('1999-12-01')`,
	} {
		if _, err := db.Pool().Exec(t.Context(), statement); err == nil {
			t.Errorf("it may %s", statement)
		}
	}
	// A table of its own of the same name changes nothing for the functions that run with the owner's rights.
	for _, statement := range []string{
		`create temp table event_fact (event_id uuid) partition by range (event_id)`, `select make_event_month('2026-03-17')`,
		`insert into pg_temp.event_fact_2026_03 values (null)`,
	} {
		if _, err := db.Pool().Exec(t.Context(), statement); err != nil && !strings.Contains(err.Error(), "pg_temp.event_fact_2026_03") {
			t.Errorf("%s: %v", statement, err)
		}
	}
	conn := connect(t, owner)
	var of, path string
	err = conn.QueryRow(t.Context(), `
		select i.inhparent::regclass::text, array_to_string(f.proconfig, ' ')
		from pg_inherits i, pg_proc f where i.inhrelid = 'public.event_fact_2026_03'::regclass and f.proname = 'make_event_month'`).Scan(&of,
		&path)
	if err != nil || of != "event_fact" || path != "search_path=public, pg_temp" {
		t.Errorf("%v: a partition of %q, made with %q", err, of, path)
	}
	if _, err := conn.Exec(t.Context(),
		`revoke delete on orders from trb_services; revoke insert on outbox from trb_services; revoke execute on function `+
			`drop_event_month(date) from trb_services`); err != nil {
		t.Fatal(err)
	}
	err = db.Privileges(t.Context())
	const want = "the role trb_services lacks delete on orders, execute on drop_event_month(date), insert on outbox: run `tributary " +
		"migrate --grant trb_services`"
	if !errors.Is(err, postgres.ErrPrivileges) || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}
