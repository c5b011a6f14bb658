package citus

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/test/bench/procstat"
	"github.com/tributary-io/tributary/test/devtest"
	"github.com/tributary-io/tributary/test/kafkadist"
	"github.com/tributary-io/tributary/test/prove"
	"github.com/tributary-io/tributary/test/prove/processing"
)

// textOfLoad is what the page says above the table of the load.
const textOfLoad = "" +
	"A Citus cluster of this run's own, which `go run ./test/prove/cmd -citus-tool DIR -only 'citus-load/*'` starts: `DIR/citus-up` and\n" +
	"`DIR/citus-down`. The facts of [the ledger](#the-ledger-is-that-of-the-facts), of fewer shoppers, are applied by the built processor " +
	"from a real Apache\n" +
	"Kafka: in a database of the coordinator alone, and in one that `deploy/citus/distribute.sql` spread over the workers; then " +
	"shuffled and\n" +
	"duplicated, in three parts: while a third worker is added and shards are moved there (`citus_rebalance_start`), while a worker " +
	"is killed\n" +
	"and comes back after five seconds, and the coordinator too. *CPU of an order* is what the PostgreSQL servers took, with the order's " +
	"events, without a\n" +
	"fault: of the one, and of all nodes. *Same ledger* is that `tributary verify` is equal, conservation included, and the ledger is that " +
	"of the run\n" +
	"without a fault."

// shards is how many shards each table has. Citus' default is 32: fewer are moved sooner.
const shards = 12

// sizeOfLoad is the size of `make prove`.
func sizeOfLoad() processing.Size { return processing.Size{Stores: 12, Shoppers: 60, Rounds: 3} }

// mostOfLoad bounds the whole.
const mostOfLoad = 15 * time.Minute

// LoadSection is the part of `make prove` on a Citus cluster that is broken under load.
func LoadSection() prove.Section {
	return prove.Section{
		Name: "citus-load", Title: "A Citus cluster under load", Text: textOfLoad,
		Columns: []string{"records", "orders", "cluster at the end", "groups of shards moved", "nodes killed", "CPU of an order: one PostgreSQL",
			"Citus", "ratio", "**same ledger**", "hash"},
		Cases: []prove.Case{{Name: "spread", Title: "a worker added, one killed, the coordinator killed", Run: runLoad}},
	}
}

// tool is a program that starts clusters.
type tool struct {
	programs string // directory
	dir      string // of the cluster
	port     int    // of the coordinator; workers have the next ones
}

// up starts what does not run, and returns the coordinator's connection string.
func (c tool) up(ctx context.Context, workers int) (dsn string, err error) {
	command := exec.CommandContext(ctx, filepath.Join(c.programs, "citus-up"), c.dir, strconv.Itoa(c.port)) //nolint:gosec // the tool
	command.Env = append(os.Environ(), fmt.Sprint("WORKERS=", workers))
	var complaints strings.Builder
	command.Stderr = &complaints
	output, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("citus-up: %w: %s", err, complaints.String())
	}
	lines := strings.Split(strings.TrimSpace(string(output)), "\n")
	return lines[len(lines)-1], nil
}

// down ends nodes, or all where none is named.
func (c tool) down(ctx context.Context, args ...string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	output, err := exec.CommandContext(ctx, filepath.Join(c.programs, "citus-down"), //nolint:gosec // the tool
		append([]string{c.dir}, args...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("citus-down: %w: %s", err, output)
	}
	return nil
}

// cpu is what nodes have cost so far.
func (c tool) cpu(nodes ...string) (sum time.Duration, err error) {
	for _, node := range nodes {
		text, err := os.ReadFile(filepath.Join(c.dir, node+".pid")) //nolint:gosec // in our own directory
		if err != nil {
			return 0, err
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			return 0, err
		}
		took, err := procstat.TreeCPU(pid)
		if err != nil {
			return 0, err
		}
		sum += took
	}
	return sum, nil
}

// load is one run.
type load struct {
	tool
	dsn   string // of the coordinator
	moved int
	kills int
}

func runLoad(ctx context.Context, e prove.Env) (result prove.Result, err error) {
	if e.CitusTool == "" {
		return result, fmt.Errorf("%w: no tool that starts a Citus cluster, give -citus-tool", prove.ErrNotHere)
	}
	ctx, cancel := context.WithTimeout(ctx, mostOfLoad)
	defer cancel()
	// Not a private directory: the servers may run as another account.
	for dir := e.Dir; dir != filepath.Dir(filepath.Dir(e.Dir)); dir = filepath.Dir(dir) {
		if err := errors.Join(os.MkdirAll(dir, 0o755), os.Chmod(dir, 0o755)); err != nil { //nolint:gosec // likewise
			return result, err
		}
	}
	const port = 55832
	l := &load{tool: tool{e.CitusTool, filepath.Join(e.Dir, "citus"), port}}
	defer func() {
		err = errors.Join(err, l.down(ctx))
		if err == nil && len(result.Problems) == 0 || ctx.Err() != nil {
			err = errors.Join(err, os.RemoveAll(e.Dir))
		}
	}()
	if l.dsn, err = l.up(ctx, 2); err != nil {
		return result, err
	}
	kafkas := 0
	place := processing.Place{Binary: e.Binary, Dir: filepath.Join(e.Dir, "output"), Say: e.Say, Poll: 500 * time.Millisecond,
		Kafka: func(ctx context.Context) (processing.Kafka, error) {
			kafkas++
			started, err := kafkadist.StartCluster(ctx,
				kafkadist.ClusterConfig{Dir: filepath.Join(e.Dir, fmt.Sprint("kafka-", kafkas)), Nodes: 1})
			if err != nil {
				return processing.Kafka{}, err
			}
			return processing.Kafka{Addr: started.Brokers[0].Addr(), Stop: started.Kill}, nil
		}}
	one, err := l.onOne(ctx, place, e.Seed)
	if err != nil {
		return result, fmt.Errorf("one PostgreSQL: %w", err)
	}
	e.Say("  one PostgreSQL: %v of CPU for %d orders", one.CPU, one.Orders)
	spread, err := l.onCluster(ctx, place, e.Seed)
	if err != nil {
		return result, fmt.Errorf("citus: %w", err)
	}
	cluster, err := devtest.DescribeCitus(ctx, l.dsn)
	if err != nil {
		return result, err
	}
	if l.moved == 0 {
		spread.Problems = append(spread.Problems, "no shard was moved to the new worker")
	}
	perOrder := func(o processing.Outcome) string {
		return fmt.Sprintf("%.1f ms", float64(o.CPU.Microseconds())/1000/float64(o.Orders))
	}
	same := map[bool]string{true: "yes", false: "**no**"}[len(spread.Problems) == 0]
	return prove.Result{Problems: spread.Problems, Cells: []string{fmt.Sprint(spread.Records), fmt.Sprint(spread.Orders), cluster,
		fmt.Sprint(l.moved), fmt.Sprint(l.kills), perOrder(one), perOrder(spread),
		fmt.Sprintf("%.1f", float64(spread.CPU)/float64(one.CPU)), same,
		spread.Faulted[:12] + "…"}}, nil
}

// onOne applies the facts in a database of the coordinator that is not spread: one PostgreSQL of the same version and settings.
func (l *load) onOne(ctx context.Context, place processing.Place, seed uint64) (o processing.Outcome, err error) {
	const name = "single"
	if err := execute(ctx, l.dsn, "set citus.enable_create_database_propagation = off", "create database "+name); err != nil {
		return o, err
	}
	config, err := pgx.ParseConfig(l.dsn)
	if err != nil {
		return o, err
	}
	place.DSN = strings.Replace(l.dsn, "/"+config.Database, "/"+name, 1)
	if err := postgres.Migrate(ctx, place.DSN); err != nil {
		return o, err
	}
	return processing.Run{Place: place, Size: sizeOfLoad(), Seed: seed,
		Servers: func() (time.Duration, error) { return l.cpu("coordinator") }}.Plain(ctx)
}

// onCluster applies the facts on the cluster, and again while its nodes come and go.
func (l *load) onCluster(ctx context.Context, place processing.Place, seed uint64) (o processing.Outcome, err error) {
	if err := postgres.Migrate(ctx, l.dsn); err != nil {
		return o, err
	}
	if err := devtest.Distribute(ctx, l.dsn, shards); err != nil {
		return o, err
	}
	place.DSN = l.dsn
	fault := processing.NewFault("spread", "", func(ctx context.Context, p processing.Part) error {
		place.Say("  part %d", p.Number)
		switch p.Number {
		case 1:
			return l.rebalance(ctx, p)
		case 2:
			return l.killed(ctx, p, "worker1")
		}
		return errors.Join(l.killed(ctx, p, "coordinator"), p.Again())
	})
	return processing.Run{Place: place, Fault: fault, Size: sizeOfLoad(), Seed: seed,
		Servers: func() (time.Duration, error) { return l.cpu("coordinator", "worker1", "worker2") }}.Do(ctx)
}

// rebalance adds a worker and moves shards there while records come.
func (l *load) rebalance(ctx context.Context, p processing.Part) error {
	if _, err := l.up(ctx, 3); err != nil {
		return err
	}
	if err := execute(ctx, l.dsn, "select citus_rebalance_start()"); err != nil {
		return err
	}
	if err := p.Come(); err != nil {
		return err
	}
	if err := execute(ctx, l.dsn, "select citus_rebalance_wait()"); err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, l.dsn)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	return conn.QueryRow(ctx, `
		select count(distinct (s.shardminvalue)) from pg_dist_placement p join pg_dist_node n using (groupid) join pg_dist_shard s using (shardid)
		where n.nodeport = $1 and s.shardminvalue is not null`, l.port+3).Scan(&l.moved)
}

// killed ends a node with all of its processes at once while records come, and lets it come back.
func (l *load) killed(ctx context.Context, p processing.Part, node string) error {
	if err := p.Come(); err != nil {
		return err
	}
	if err := p.Some(); err != nil {
		return err
	}
	if err := l.down(ctx, "-9", node); err != nil {
		return err
	}
	l.kills++
	const away = 5 * time.Second
	if !background.Sleep(ctx, away) {
		return ctx.Err()
	}
	_, err := l.up(ctx, 3)
	return err
}

func execute(ctx context.Context, dsn string, statements ...string) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	for _, statement := range statements {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}
