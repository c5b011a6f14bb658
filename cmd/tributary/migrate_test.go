package main

import (
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/test/await"
	"github.com/tributary-io/tributary/test/devtest"
)

// Several at once on an empty database, as the init containers of several services: all succeed.
func TestSeveralMigrateAtOnce(t *testing.T) {
	t.Setenv("TRIBUTARY_POSTGRES", devtest.EmptyPostgres(t))
	t.Setenv("TRIBUTARY_KAFKA_BROKERS", emptyBroker(t))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			out, status := command(t, "migrate", "--partitions", "2", "--replication", "1", "--min-insync-replicas", "1")
			if status != 0 {
				t.Errorf("exit status %d:\n%s", status, out)
			}
		})
	}
	all.Wait()
}

// execute runs statements, as the owner of everything.
func execute(t *testing.T, dsn string, statements ...string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	for _, statement := range statements {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

func TestMigrateTellsWhatItWouldDoAndDoesIt(t *testing.T) {
	dsn := devtest.EmptyPostgres(t)
	t.Setenv("TRIBUTARY_POSTGRES", dsn)
	broker := emptyBroker(t)
	t.Setenv("TRIBUTARY_KAFKA_BROKERS", broker)
	said := func(want string, status int, args ...string) string {
		t.Helper()
		out, got := command(t, append([]string{"migrate"}, args...)...)
		if got != status || !strings.Contains(out, want) {
			t.Errorf("migrate %q: exit status %d, want %d and %q in\n%s", args, got, status, want, out)
		}
		return out
	}
	for range 2 { // neither changes anything
		said("pending", 0, "--status")
		out := said("and make 6 topics. Nothing was changed.", 0, "--dry-run")
		if !strings.Contains(out, "0001  pending  stores_and_people") || !strings.Contains(out, "topic events.v1 is missing") {
			t.Error(out)
		}
	}
	state := func(args ...string) (s schemaStatus) {
		t.Helper()
		if err := json.Unmarshal([]byte(said("{", 0, append(args, "--json")...)), &s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	before := state("--status")
	if before.SchemaVersion != 0 || before.Problem != postgres.ErrOldSchema.Error() || len(before.MissingTopics) != 6 {
		t.Errorf("before: %+v", before)
	}
	t.Setenv("TRIBUTARY_KAFKA_BROKERS", "127.0.0.1:1")
	if out := said("no broker answers at 127.0.0.1:1: ", 1); strings.Contains(out, "Broker Not Available") {
		t.Error(out)
	}
	// The grant does not wait for Kafka.
	if out := said("no broker answers at 127.0.0.1:1: ", 1, "--grant", "nobody_there"); !strings.Contains(out,
		"there is no role nobody_there") {
		t.Error(out)
	}
	t.Setenv("TRIBUTARY_KAFKA_BROKERS", broker)
	said("there is no role nobody_there", 1, "--partitions", "2", "--replication", "1", "--min-insync-replicas", "1",
		"--grant", "nobody_there")
	said("Nothing is to be done.", 0, "--dry-run")
	after := state("--status")
	if after.SchemaVersion != after.ProgramVersion || after.Problem != "" || len(after.Migrations) != len(before.Migrations) ||
		len(after.MissingTopics) > 0 {
		t.Errorf("after: %+v", after)
	}
	said("only one of", statusUsage, "--status", "--dry-run")
	execute(t, dsn, `insert into schema_migration (version_id, is_applied) values (9999, true)`)
	said("9999  unknown", 0, "--status")
	said("up to date", 0, "--partitions", "2", "--replication", "1", "--min-insync-replicas", "1")
	execute(t, dsn, `update oldest_program set schema_version = 9998`)
	const tooOld = "this program is too old for PostgreSQL's schema: the schema is of version 9999 and takes programs of version " +
		"9998 and later"
	said(tooOld, 0, "--status")
	said(tooOld, 1, "--dry-run")
	said(tooOld, 1, "--partitions", "2", "--replication", "1", "--min-insync-replicas", "1")
}

// A program that the schema refuses does not start, and one that runs ends with the same words. One that
// the schema takes goes on beside a newer one.
func TestAProgramThatIsTooOldForTheSchemaEnds(t *testing.T) {
	s := startServices(t)
	dsn := s.dsn
	execute(t, dsn, `insert into schema_migration (version_id, is_applied) values (9999, true)`)
	newcomer := start(t, "processor")
	newcomer.says("processor listens")
	p := &patient{t, oneBroker(devtest.Kafka(t))}
	p.dsn = dsn
	p.finds("-", "schema", "version 9999 is newer than this program")
	execute(t, dsn, `update oldest_program set schema_version = 9999`)
	const tooOld = "too old for PostgreSQL's schema: the schema is of version 9999 and takes programs of version 9999 and later"
	for _, service := range []*running{s.admin, s.processor, newcomer} {
		if status := service.ends(); status != statusFailed {
			t.Errorf("exit status %d", status)
		}
		service.says(tooOld)
	}
	for _, args := range [][]string{{"processor"}, {"admin", "--short-base", "go.example.com"}} {
		if out, status := command(t, args...); status != statusFailed || !strings.Contains(out, tooOld) {
			t.Errorf("%s: exit status %d:\n%s", args[0], status, out)
		}
	}
	p.finds("FAIL", "schema", tooOld)
	for _, args := range [][]string{{"company", "list"}, {"keys", "create", "erp", "--company", s.company}, {"retain"}, {"offsets", "show"},
		{"replay"}, {"verify"}} {
		if out, status := command(t, args...); status != statusFailed || !strings.Contains(out, tooOld) {
			t.Errorf("%s: exit status %d:\n%s", args, status, out)
		}
	}
}

// A database of before 0.1.0 is refused by whatever would use it, and stays as it is.
func TestADatabaseOfBeforeTheFirstVersionIsRefused(t *testing.T) {
	dsn := devtest.EmptyPostgres(t)
	t.Setenv("TRIBUTARY_POSTGRES", dsn)
	t.Setenv("TRIBUTARY_KAFKA_BROKERS", emptyBroker(t))
	for _, name := range []string{"TRIBUTARY_HASHING_SECRET", "TRIBUTARY_TOKEN_SECRET"} {
		t.Setenv(name, strings.Repeat("s", 32))
	}
	execute(t, dsn, `create table goose_db_version (version_id bigint, is_applied boolean)`, `insert into goose_db_version values (88, true)`)
	const former = "this database was made by a version before 0.1.0, which is not carried over: make a new database"
	for _, args := range [][]string{
		{"migrate"}, {"migrate", "--dry-run"}, {"migrate", "--grant", "trb_services"}, {"processor"}, {"admin", "--short-base", "go.example.com"},
		{"company", "list"}, {"retain"}, {"offsets", "show"}, {"replay"}, {"verify"},
	} {
		if out, status := command(t, args...); status != statusFailed || !strings.Contains(out, former) {
			t.Errorf("%s: exit status %d:\n%s", args, status, out)
		}
	}
	if out, status := command(t, "migrate", "--status"); status != 0 || !strings.Contains(out, former) {
		t.Errorf("--status: exit status %d:\n%s", status, out)
	}
	p := &patient{t, oneBroker(devtest.Kafka(t))}
	p.dsn = dsn
	p.finds("FAIL", "schema", former)
}

func TestAMigrationThatTakesLongSaysSo(t *testing.T) {
	var out await.Buffer
	want := errors.New("as it ended")
	err := tellingEach(time.Millisecond, &out, func() error {
		for range 10_000 {
			if strings.Contains(out.String(), "migrate has gone on for") {
				return want
			}
			time.Sleep(time.Millisecond)
		}
		return errors.New("nothing is said")
	})
	if !errors.Is(err, want) {
		t.Error(err)
	}
	out = await.Buffer{}
	if err := tellingEach(time.Hour, &out, func() error { return nil }); err != nil || out.String() != "" {
		t.Errorf("%v, and %q", err, out.String())
	}
}
