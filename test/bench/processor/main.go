// Command processor prices the processor beside a bare COPY: the rows that it leaves are
// copied into the same empty tables, with the same indexes, on the same server, in the
// same run. The topics are filled before the built processor starts. `make bench`
// runs it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/tributary-io/tributary/dev/devstack"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench/processor:", err)
		os.Exit(1)
	}
}

// options are the command's flags.
type options struct {
	runs       int
	visitors   int // of page views
	orders     int
	partitions int
	only       string
	statements bool
	perf       string
	stored     string // see growth
}

func run(ctx context.Context, args []string) (err error) {
	var o options
	flags := flag.NewFlagSet("bench/processor", flag.ContinueOnError)
	flags.IntVar(&o.runs, "runs", 3, "runs of each load; the table has their medians")
	flags.IntVar(&o.visitors, "visitors", 10_000, "visitors of the page views, ten events each")
	flags.IntVar(&o.orders, "orders", 3_000, "orders, each of a visitor with ten events")
	flags.IntVar(&o.partitions, "partitions", 64, "of events.v1 and of commerce.v1; 64 is what tributary migrate makes")
	flags.StringVar(&o.only, "only", "", "measure the loads alone whose names hold this")
	flags.BoolVar(&o.statements, "statements", false,
		"list the dearest statements by pg_stat_statements, and the indexes; counting them costs something too")
	flags.StringVar(&o.perf, "perf", "", "write a profile of the processor by perf(1), which must be there, to this file; the last one stays")
	flags.StringVar(&o.stored, "stored", "",
		"measure instead what an event costs with so many events stored, comma-separated, as 100_000,10_000_000")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var g growth
	if o.stored != "" {
		if g, err = parseGrowth(o.stored); err != nil {
			return err
		}
	}
	// Not a private directory: PostgreSQL may run as nobody.
	dir, err := os.MkdirTemp("", "tributary-bench-processor-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // PostgreSQL's account reads below it
		return err
	}
	b := &bench{options: o, dir: dir, binary: filepath.Join(dir, "tributary")}
	build := exec.CommandContext(ctx, "go", "build", "-o", b.binary, "./cmd/tributary") //nolint:gosec // a file of our own
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build the processor: %w", err)
	}
	if b.server, err = devstack.StartPostgres(ctx, b.postgres()); err != nil {
		return err
	}
	defer b.server.Stop()
	if o.stored != "" {
		list, err := b.grow(ctx, g)
		if len(list) > 0 {
			printGrowth(os.Stdout, list)
		}
		return err
	}
	return b.measureAll(ctx)
}

// postgres is a server with PostgreSQL's own defaults: durable, with autovacuum.
func (b *bench) postgres() devstack.PostgresConfig {
	config := devstack.PostgresConfig{
		Dir: filepath.Join(b.dir, "postgres"), Repository: os.Getenv("TRIBUTARY_POSTGRES_REPOSITORY"), // as of `tributary dev`
		Settings: map[string]string{},
	}
	if b.statements {
		config.Settings["shared_preload_libraries"] = "pg_stat_statements"
		config.Settings["pg_stat_statements.track_planning"] = "on"
	}
	return config
}

func (b *bench) measureAll(ctx context.Context) error {
	var results table
	for n := range b.runs {
		for _, l := range loads {
			if !strings.Contains(l.name, b.only) {
				continue
			}
			measured, err := b.measure(ctx, l, n)
			if err != nil {
				return fmt.Errorf("run %d of %s: %w", n+1, l.name, err)
			}
			results.add(l, measured)
		}
	}
	results.print(os.Stdout)
	if strings.Contains(bulkName, b.only) {
		m, err := b.measureBulk(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", bulkName, err)
		}
		m.print(os.Stdout)
	}
	if !strings.Contains(strangersName, b.only) {
		return nil
	}
	s, err := b.measureStranger(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", strangersName, err)
	}
	s.print(os.Stdout)
	return nil
}
