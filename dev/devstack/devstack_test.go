package devstack_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/dev/devstack"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/devtest"
)

// ownerEnv makes this binary the owner of a server, for the tests that kill it.
const ownerEnv = "DEVSTACK_TEST_OWN"

func TestMain(m *testing.M) {
	if dir := os.Getenv(ownerEnv); dir != "" {
		own(dir)
	}
	os.Exit(m.Run())
}

// own starts a server, prints its connection string, and waits to be killed.
func own(dir string) {
	pg, err := devstack.StartPostgres(context.Background(), devstack.PostgresConfig{Dir: dir})
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	fmt.Println(pg.DSN())
	<-pg.Done()
	os.Exit(1)
}

// reachable is a directory that an unprivileged server can reach: the testing
// package's own lie under a private one.
func reachable(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "devstack-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func query(t *testing.T, dsn, sql string) (n int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	if err := conn.QueryRow(t.Context(), sql).Scan(&n); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return n
}

func TestPostgresKeepsWhatItCommittedWhenItsOwnerIsKilled(t *testing.T) {
	t.Parallel()
	devtest.NeedsIntegration(t)
	dir := filepath.Join(reachable(t), "postgres")
	// An initdb that was killed half-way.
	if err := os.MkdirAll(filepath.Join(dir, "data.unfinished", "base"), 0o755); err != nil {
		t.Fatal(err)
	}
	owner := exec.Command(os.Args[0])
	owner.Env = append(os.Environ(), ownerEnv+"="+dir)
	output, err := owner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	dsn, err := bufio.NewReader(output).ReadString('\n')
	if err != nil || !strings.HasPrefix(dsn, "postgres://") {
		owner.Process.Kill()
		t.Fatalf("the owner said %q, %v", dsn, err)
	}
	query(t, strings.TrimSpace(dsn), "with made as (select 1) select count(*) from made")
	conn, err := pgx.Connect(t.Context(), strings.TrimSpace(dsn))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), "create table kept as select 42 as n"); err != nil {
		t.Fatal(err)
	}
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	owner.Wait()

	pg, err := devstack.StartPostgres(t.Context(), devstack.PostgresConfig{Dir: dir})
	if err != nil {
		t.Fatalf("the second start: %v", err)
	}
	defer pg.Stop()
	if n := query(t, pg.DSN(), "select n from kept"); n != 42 {
		t.Errorf("read %d, want 42", n)
	}
	if fsync := query(t, pg.DSN(), "select count(*) from pg_settings where name = 'fsync' and setting = 'on'"); fsync != 1 {
		t.Error("fsync is off: an acknowledged write could be lost")
	}
	for range 2 {
		if dsn, err := pg.CreateDatabase(t.Context(), "a database"); err != nil || query(t, dsn, "select 1") != 1 {
			t.Errorf("create database: %v", err)
		}
	}
	pg.Stop()
	select {
	case <-pg.Done():
	default:
		t.Error("Stop returned before the server had ended")
	}
}

func TestPostgresSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	devtest.NeedsIntegration(t)
	f := func(name, want string, prepare func(dir string) devstack.PostgresConfig) {
		t.Helper()
		dir := filepath.Join(reachable(t), "postgres")
		pg, err := devstack.StartPostgres(t.Context(), prepare(dir))
		if err == nil {
			pg.Stop()
			t.Errorf("%s: started", name)
		} else if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v; want one sentence with %q", name, err, want)
		}
	}
	write := func(dir, name, text string) devstack.PostgresConfig {
		t.Helper()
		path := filepath.Join(dir, "data", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return devstack.PostgresConfig{Dir: dir}
	}
	f("another major version", "is of 17 and this program runs 18", func(dir string) devstack.PostgresConfig {
		return write(dir, "PG_VERSION", "17\n")
	})
	f("not a database", "holds no PostgreSQL database", func(dir string) devstack.PostgresConfig {
		return write(dir, "holiday.txt", "")
	})
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	f("taken port", "address already in use", func(dir string) devstack.PostgresConfig {
		return devstack.PostgresConfig{Dir: dir, Port: busy.Addr().(*net.TCPAddr).Port}
	})
}

func TestBrokerCarriesOnFromItsDirectory(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "kafka")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	session := func(f func(client *kafka.Client)) {
		t.Helper()
		broker, err := devstack.StartBroker(devstack.BrokerConfig{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		defer broker.Stop()
		client, err := kafka.NewClient(kafka.Config{Brokers: []string{broker.Addr()}})
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		plan := kafka.TopicPlan{Partitions: 8, Replication: 1, MinInsyncReplicas: 1, KeepForever: true}
		if err := client.EnsureTopics(ctx, plan); err != nil {
			t.Fatal(err)
		}
		f(client)
	}
	var first, second string
	session(func(client *kafka.Client) {
		first, _ = client.ClusterID(ctx)
		if err := kafka.NewProducer(client).Produce(ctx, wire.TopicResults, kafka.Record{Key: []byte("k"), Value: []byte("kept")}); err != nil {
			t.Fatal(err)
		}
	})
	session(func(client *kafka.Client) {
		second, _ = client.ClusterID(ctx)
		found := errors.New("found")
		err := client.Follow(ctx, wire.TopicResults, 0, kafka.FromFirst, func(_ int64, r kafka.Record) error {
			if string(r.Value) != "kept" {
				t.Errorf("read %q", r.Value)
			}
			return found
		}, nil)
		if !errors.Is(err, found) {
			t.Fatal(err)
		}
	})
	if first == "" || first != second {
		t.Errorf("cluster id %q, then %q: offsets would mean nothing", first, second)
	}
}
