package devtest

import (
	"context"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/dev/devstack"
	"github.com/tributary-io/tributary/internal/postgres"
)

// startTimeout bounds the first start of a server, downloads included.
const startTimeout = 5 * time.Minute

// server is this test binary's PostgreSQL. The first test that needs it starts
// it. No test stops it: it shuts down when the binary ends, and a shell that
// waits for that removes its files.
var server = sync.OnceValues(startServer)

var databases atomic.Int64

const template = "tributary_template"

// forTests are the server's settings. Nothing is needed after the tests, so nothing is made durable.
var forTests = map[string]string{
	"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off",
	"max_connections": "300", "shared_buffers": "64MB", "autovacuum": "off",
	// By default a log-in makes 4,096 hashes, which take 10 ms and more with the race detector. Tests log in thousands of times.
	"scram_iterations": "1",
}

func startServer() (*devstack.Postgres, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	// Not t.TempDir: it is inside of private directories, and the server may run as nobody.
	dir, err := os.MkdirTemp(inMemory(), "tributary-devtest-")
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return nil, err
	}
	if err := removeAfterwards(dir); err != nil {
		return nil, err
	}
	pg, err := devstack.StartPostgres(ctx, devstack.PostgresConfig{
		Dir:        filepath.Join(dir, "postgres"),
		Repository: os.Getenv("TRIBUTARY_POSTGRES_REPOSITORY"), // as of `tributary dev`
		Settings:   forTests,
		Progress: func(step string, done, total int64) {
			if total == 0 {
				fmt.Fprintln(os.Stderr, "devtest:", step)
			}
		},
	})
	if err != nil {
		return nil, err
	}
	if err := cheapLogin(ctx, pg.DSN()); err != nil {
		return nil, err
	}
	if err := execute(ctx, pg.DSN(), "create database "+template); err != nil {
		return nil, err
	}
	if err := postgres.Migrate(ctx, pg.DatabaseDSN(template)); err != nil {
		return nil, err
	}
	// A template must have no connections; one of Migrate's may still be closing.
	return pg, execute(ctx, pg.DSN(), "alter database "+template+" allow_connections false")
}

// cheapLogin stores the superuser's password anew, by the setting scram_iterations. It is initdb's, which knows no settings.
func cheapLogin(ctx context.Context, dsn string) error {
	as, err := url.Parse(dsn)
	if err != nil {
		return err
	}
	password, _ := as.User.Password()
	return execute(ctx, dsn, "alter role current_user password '"+password+"'")
}

// inMemory returns a directory of files in memory, if there is one with room for tests' databases. On a disk with ext4, which
// looks for inodes that were not freed lately, to make a database of 660 files and to drop it takes up to 0.43 s of CPU time,
// in memory 0.03 s. Empty: the directory of temporary files; there are the databases of benchmarks, which may be large.
func inMemory() string {
	const memory, room = "/dev/shm", 4 << 30 // bytes
	var files syscall.Statfs_t
	bench := flag.Lookup("test.bench")
	if bench != nil && bench.Value.String() != "" || syscall.Statfs(memory, &files) != nil ||
		files.Bavail*uint64(files.Bsize) < room {
		return ""
	}
	return memory
}

// removeAfterwards starts a shell that removes dir after this process has ended.
// It notices the end since its standard input is closed then. Before it removes
// dir it waits for the server's shutdown, ten seconds at most.
func removeAfterwards(dir string) error {
	const script = `cat >/dev/null; i=0
while [ -e "$1/postgres/data/postmaster.pid" ] && [ $i -lt 100 ]; do sleep 0.1; i=$((i+1)); done
rm -rf "$1"`
	cmd := exec.Command("/bin/sh", "-c", script, "sh", dir)
	// In a group of its own: a Ctrl-C that ends the tests must not end the shell.
	cmd.SysProcAttr = ownGroup()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	keepOpen.Store(&stdin)
	return nil
}

// keepOpen holds the pipe of removeAfterwards until the process ends.
var keepOpen atomic.Value

// Postgres makes a database with the whole schema and returns its connection
// string. The database is dropped when the test ends. All tests of one binary
// use one server.
func Postgres(t testing.TB) (dsn string) {
	t.Helper()
	return database(t, true)
}

// servicesRole is the role of AsServices.
const servicesRole = "trb_services"

// AsServices returns the connection string for a database of Postgres by the role with which services log in: it may
// read and write, and not change the schema (postgres.Grant).
func AsServices(t testing.TB, dsn string) string {
	t.Helper()
	as := RoleOfServices(t, dsn)
	db, err := postgres.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Grant(t.Context(), servicesRole); err != nil {
		t.Fatalf("devtest: role of services: %v", err)
	}
	return as
}

// RoleOfServices makes the role trb_services, and returns its connection string to a database. Nothing is granted to it.
func RoleOfServices(t testing.TB, dsn string) string {
	t.Helper()
	as, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	password, _ := as.User.Password()
	err = execute(t.Context(), dsn,
		"do $$ begin create role "+servicesRole+" login password '"+password+"'; exception when duplicate_object or unique_violation then end $$")
	if err != nil {
		t.Fatal(err)
	}
	as.User = url.UserPassword(servicesRole, password)
	return as.String()
}

// EmptyPostgres is Postgres without the schema, as a database is before `tributary migrate`.
func EmptyPostgres(t testing.TB) (dsn string) {
	t.Helper()
	return database(t, false)
}

// place is where tests' databases are made.
type place interface {
	create(ctx context.Context, name string) error // empty
	clone(ctx context.Context, name string) error  // with the whole schema
	drop(ctx context.Context, name string) error
	dsn(name string) string
}

// onServer is a server as a place.
type onServer struct{ *devstack.Postgres }

func (s onServer) create(ctx context.Context, name string) error {
	return execute(ctx, s.DSN(), "create database "+name)
}

// file_copy: PostgreSQL copies files, and does not write the whole template to its log. It takes a quarter of
// the CPU of the default strategy or less: the server keeps little in memory that a checkpoint must write.
func (s onServer) clone(ctx context.Context, name string) error {
	return execute(ctx, s.DSN(), "create database "+name+" template "+template+" strategy file_copy")
}

func (s onServer) drop(ctx context.Context, name string) error {
	return execute(ctx, s.DSN(), "drop database "+name+" with (force)")
}

func (s onServer) dsn(name string) string { return s.DatabaseDSN(name) }

// database makes a database for one test.
func database(t testing.TB, clone bool) (dsn string) {
	t.Helper()
	NeedsIntegration(t)
	at, err := placeOfTests()
	if err != nil {
		t.Fatalf("devtest: postgres: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	name := fmt.Sprintf("test_%d_%d", os.Getpid(), databases.Add(1))
	create := at.create
	if clone {
		create = at.clone
	}
	if err := create(ctx, name); err != nil {
		t.Fatalf("devtest: create database: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := at.drop(ctx, name); err != nil {
			t.Errorf("devtest: drop database: %v", err)
		}
	})
	return at.dsn(name)
}

func placeOfTests() (place, error) {
	if os.Getenv(CitusVariable) != "" {
		return citus()
	}
	pg, err := server()
	return onServer{pg}, err
}

func execute(ctx context.Context, dsn string, statements ...string) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	for _, statement := range statements {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", strings.Join(strings.Fields(statement)[:2], " "), err)
		}
	}
	return nil
}
