package devtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/postgres"
)

// CitusVariable is the environment variable with the connection string of the coordinator of
// a Citus cluster. Where it is set, tests' databases are made there, and their tables are
// distributed. All nodes take the role and the options of this string. `make prove` sets it.
const CitusVariable = "TRIBUTARY_TEST_CITUS"

// cluster is a Citus cluster.
type cluster struct {
	coordinator *url.URL
	workers     []*url.URL
}

// citus is the cluster of CitusVariable, with the template of this test binary.
var citus = sync.OnceValues(func() (*cluster, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	c, err := openCluster(ctx, os.Getenv(CitusVariable))
	if err != nil {
		return nil, fmt.Errorf("devtest: %s: %w", CitusVariable, err)
	}
	return c, c.makeTemplate(ctx)
})

func openCluster(ctx context.Context, dsn string) (*cluster, error) {
	coordinator, err := url.Parse(dsn)
	if err != nil {
		return nil, err
	}
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return nil, err
	}
	defer conn.Close(ctx)
	hosts, err := postgres.Collect(ctx, conn, pgx.RowTo[string], `
		select nodename || ':' || nodeport from pg_dist_node where groupid > 0 and isactive order by nodeid`)
	if err == nil && len(hosts) == 0 {
		err = errors.New("it has no worker")
	}
	c := &cluster{coordinator: coordinator}
	for _, host := range hosts {
		worker := *coordinator
		worker.Host = host
		c.workers = append(c.workers, &worker)
	}
	return c, err
}

// NotOnCitus skips a test where the tests run on a Citus cluster, which has not what it needs.
func NotOnCitus(t testing.TB, why string) {
	t.Helper()
	if os.Getenv(CitusVariable) != "" {
		t.Skip("on Citus: " + why)
	}
}

// DescribeCitus says which versions a cluster has, and how many workers.
func DescribeCitus(ctx context.Context, dsn string) (is string, err error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx)
	err = conn.QueryRow(ctx, `
		select split_part(citus_version(), ' on ', 1) || ', PostgreSQL ' || split_part(current_setting('server_version'), ' ', 1) || ', '
			|| count(*) filter (where groupid > 0) || ' workers'
		from pg_dist_node where isactive`).Scan(&is)
	return is, err
}

// of returns the connection string of a node for a database.
func of(node *url.URL, database string) string {
	to := *node
	to.Path = "/" + database
	return to.String()
}

// everywhere runs statements in a database of each node, the workers first.
func (c *cluster) everywhere(ctx context.Context, database string, statements ...string) error {
	statements = append([]string{"set citus.enable_create_database_propagation = off"}, statements...)
	for _, node := range append(c.workers[:len(c.workers):len(c.workers)], c.coordinator) {
		if err := execute(ctx, of(node, database), statements...); err != nil {
			return err
		}
	}
	return nil
}

// citusTemplate is the name of this test binary's template.
func citusTemplate() string { return fmt.Sprint(template, "_", os.Getpid()) }

// makeTemplate makes a database with the whole schema, distributed. Copies of it on all nodes
// are a database of the cluster too: nodes find each other's by its name.
func (c *cluster) makeTemplate(ctx context.Context) error {
	name := citusTemplate()
	if err := c.create(ctx, name); err != nil {
		return err
	}
	dsn := of(c.coordinator, name)
	if err := postgres.Migrate(ctx, dsn); err != nil {
		return err
	}
	const few = 8 // Citus' default is 32; each test's database is a copy of all of them
	if err := Distribute(ctx, dsn, few); err != nil {
		return err
	}
	return c.everywhere(ctx, "postgres", "alter database "+name+" allow_connections false")
}

// Distribute spreads the tables of a database with the schema over the workers, by deploy/citus/distribute.sql. Each has so many
// shards.
func Distribute(ctx context.Context, dsn string, shards int) error {
	_, here, _, _ := runtime.Caller(0)
	file, err := os.ReadFile(filepath.Join(filepath.Dir(here), "../../deploy/citus/distribute.sql"))
	if err != nil {
		return err
	}
	return execute(ctx, dsn, fmt.Sprint("set citus.shard_count = ", shards), string(file))
}

// drop tries again, for some seconds: Citus' own connections come back.
func (c *cluster) drop(ctx context.Context, name string) (err error) {
	for range 20 {
		if err = c.everywhere(ctx, "postgres", "drop database if exists "+name+" with (force)"); err == nil {
			return nil
		}
		if !background.Sleep(ctx, 500*time.Millisecond) {
			return err
		}
	}
	return err
}

func (c *cluster) dsn(name string) string { return of(c.coordinator, name) }

func (c *cluster) create(ctx context.Context, name string) error {
	if err := c.everywhere(ctx, "postgres", "create database "+name); err != nil {
		return err
	}
	if err := c.everywhere(ctx, name, "create extension citus"); err != nil {
		return err
	}
	add := fmt.Sprintf("select citus_set_coordinator_host('%s', %s)", c.coordinator.Hostname(), c.coordinator.Port())
	for _, worker := range c.workers {
		add += fmt.Sprintf("; select citus_add_node('%s', %s)", worker.Hostname(), worker.Port())
	}
	return execute(ctx, of(c.coordinator, name), add)
}

func (c *cluster) clone(ctx context.Context, name string) error {
	// Citus' own connections to the template end some time after it refuses new ones.
	return c.everywhere(ctx, "postgres",
		"select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = '"+citusTemplate()+"'",
		"create database "+name+" template "+citusTemplate()+" strategy wal_log")
}
