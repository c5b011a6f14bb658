package postgres_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/internal/devstack/devtest"
	"github.com/tributary-io/tributary/internal/postgres"
)

// Since 0075 the schema names the oldest program that may use it. A later migration raises that to its own number, or says
// in a comment "older programs go on: " and why.
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
		up, down, _ := strings.Cut(string(text), "-- +goose Down")
		raises := regexp.MustCompile(`(?i)update oldest_program set schema_version = ` + strconv.Itoa(version) + `\b`).MatchString(up)
		goOn := regexp.MustCompile(`-- older programs go on: \w+`).MatchString(up)
		if version > 75 && raises == goOn {
			t.Errorf("%s: write either `update oldest_program set schema_version = %d;`, or `-- older programs go on: ` and why", file, version)
		}
		if raises && !strings.Contains(down, "update oldest_program set schema_version") {
			t.Errorf("%s does not take oldest_program back", file)
		}
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
		`update oldest_program set schema_version = 0`, `delete from goose_db_version`, `select make_event_month('1999-12-01')`,
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
		from pg_inherits i, pg_proc f where i.inhrelid = 'public.event_fact_2026_03'::regclass and f.proname = 'make_event_month'`).Scan(&of, &path)
	if err != nil || of != "event_fact" || path != "search_path=public, pg_temp" {
		t.Errorf("%v: a partition of %q, made with %q", err, of, path)
	}
	if _, err := conn.Exec(t.Context(), `revoke delete on orders from trb_services; revoke insert on outbox from trb_services; revoke execute on function drop_event_month(date) from trb_services`); err != nil {
		t.Fatal(err)
	}
	err = db.Privileges(t.Context())
	const want = "the role trb_services lacks delete on orders, execute on drop_event_month(date), insert on outbox: run `tributary migrate --grant trb_services`"
	if !errors.Is(err, postgres.ErrPrivileges) || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}
