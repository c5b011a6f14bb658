// Command edge prices the edge beside the least that could be done instead: a
// server that answers 204 and keeps nothing, and fasthttp with franz-go and
// nothing but a split of the JSON. Each server runs in a process of its own, and
// so does the broker; the load comes from this one. `make bench` runs it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench/edge:", err)
		os.Exit(1)
	}
}

// options are the command's flags.
type options struct {
	runs    int
	length  time.Duration // of what is measured
	warm    time.Duration // before it
	only    string
	load    string
	profile string
	perf    bool
	attacks bool

	serve  string // the role of a process that this program started
	broker string // its broker
}

func run(ctx context.Context, args []string) error {
	var o options
	flags := flag.NewFlagSet("bench/edge", flag.ContinueOnError)
	flags.IntVar(&o.runs, "runs", 5, "runs of each line; the table has their medians")
	flags.DurationVar(&o.length, "for", 2*time.Second, "length of what is measured")
	flags.DurationVar(&o.warm, "warm", time.Second, "load before that")
	flags.StringVar(&o.only, "only", "",
		"measure these servers alone, separated by semicolons: nothing; franz; edge; edge, acks=1; edge, spool")
	flags.StringVar(&o.load, "load", "", "measure the loads alone whose names hold this; with a dot at its end, the one load of that name")
	flags.BoolVar(&o.perf, "perf", false, "count instructions and context switches by perf(1), which must be there")
	flags.BoolVar(&o.attacks, "attacks", false, "measure what a stranger's requests cost the edge, and not the loads; -load names some")
	flags.StringVar(&o.profile, "profile", "",
		"write a CPU profile of each server process to this file, and what is in its memory beside it with .heap; the last one stays")
	flags.StringVar(&o.serve, "serve", "", "internal: the role of a process that the benchmark started")
	flags.StringVar(&o.broker, "broker", "", "internal: its broker")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	if o.serve != "" {
		return o.serveRole(ctx)
	}
	if o.attacks {
		return o.measureAllAttacks(ctx)
	}
	return o.measureAll(ctx)
}

func (o options) measureAllAttacks(ctx context.Context) error {
	costs := map[string]*cost{}
	var failed error
	for range o.runs {
		failed = errors.Join(failed, o.measureAttacks(ctx, costs))
	}
	printAttacks(os.Stdout, costs)
	return failed
}

// servers are what is measured, by their roles.
var servers = []string{roleNothing, roleFranz, roleEdge, roleLossy, roleSpool}

// variants price one choice of the edge each, under two loads.
var variants = []string{roleLossy, roleSpool}

func (l load) isFor(server string) bool {
	return !slices.Contains(variants, server) || l.name == "single" || l.name == "batch of 20"
}

func (o options) measureAll(ctx context.Context) error {
	table := table{}
	for n := range o.runs {
		for _, server := range servers {
			if o.only != "" && !slices.Contains(strings.Split(o.only, ";"), server) {
				continue
			}
			if err := o.measure(ctx, server, &table); err != nil {
				return fmt.Errorf("run %d of %s: %w", n+1, server, err)
			}
		}
	}
	table.print(os.Stdout)
	return nil
}

// measure starts a server before a broker of its own and measures each load.
func (o options) measure(ctx context.Context, server string, results *table) error {
	broker, err := o.start(ctx, roleBroker, "")
	if err != nil {
		return err
	}
	defer broker.stop()
	process, err := o.start(ctx, server, broker.addr)
	if err != nil {
		return err
	}
	defer process.stop()
	if err := awaitReady(ctx, process); err != nil {
		return err
	}
	for _, load := range loads {
		if !o.wants(load) || !load.isFor(server) {
			continue
		}
		result, err := o.apply(ctx, load, process)
		if err != nil {
			return fmt.Errorf("%s: %w", load.name, err)
		}
		results.add(server, load, result)
	}
	return nil
}

// wants tells whether the flags name a load.
func (o options) wants(l load) bool {
	if name, whole := strings.CutSuffix(o.load, "."); whole {
		return l.name == name
	}
	return strings.Contains(l.name, o.load)
}
