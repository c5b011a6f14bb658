// Command cmd shows, on real programs, what the project promises: it breaks them while
// they work, and checks what is left. `make prove` runs all of it and writes
// docs/proof.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/tributary-io/tributary/internal/atomicfile"
	"github.com/tributary-io/tributary/test/kafkadist"
	"github.com/tributary-io/tributary/test/prove"
	"github.com/tributary-io/tributary/test/prove/analysis"
	"github.com/tributary-io/tributary/test/prove/capacity"
	"github.com/tributary-io/tributary/test/prove/citus"
	"github.com/tributary-io/tributary/test/prove/cluster"
	"github.com/tributary-io/tributary/test/prove/edgefault"
	"github.com/tributary-io/tributary/test/prove/equivalence"
	"github.com/tributary-io/tributary/test/prove/files"
	"github.com/tributary-io/tributary/test/prove/processing"
	"github.com/tributary-io/tributary/test/prove/shops"
	"github.com/tributary-io/tributary/test/prove/simulated"
	"github.com/tributary-io/tributary/test/prove/upgrade"
	"github.com/tributary-io/tributary/test/prove/visits"
	"github.com/tributary-io/tributary/test/prove/webhooks"
)

// sections are all of them, in the page's order.
func sections() []prove.Section {
	all := append([]prove.Section{edgefault.Section(), simulated.Section()}, processing.Sections()...)
	return append(all, shops.Section(), webhooks.Section(), randomSection(), cluster.Section(), citus.Section(), citus.LoadSection(),
		visits.Section(), equivalence.Section(visits.Browser), files.Section(), analysis.Section(), upgrade.Section(), capacity.Section())
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "prove:", err)
		os.Exit(1)
	}
}

// options are the command's flags.
type options struct {
	only   string
	seed   uint64
	binary string
	docs   string
	citus  string
	tool   string
	lives  int
	lasts  time.Duration
	list   bool
}

func run(ctx context.Context, args []string) error {
	var o options
	flags := flag.NewFlagSet("prove", flag.ContinueOnError)
	flags.StringVar(&o.only, "only", "", "run these cases alone: comma-separated patterns of case or section/case, as 'broker-*' or 'edge/*'")
	flags.Uint64Var(&o.seed, "seed", 1, "of the load")
	flags.StringVar(&o.binary, "binary", "", "the tributary to prove; empty: it is built from this checkout")
	flags.StringVar(&o.docs, "docs", "docs", "directory of proof.md and proof.json, which are written")
	flags.StringVar(&o.citus, "citus", "",
		"connection string of the coordinator of a Citus cluster, such as postgres://postgres@127.0.0.1:5432/tributary; empty: its cases "+
			"are not run")
	flags.StringVar(&o.tool, "citus-tool", "",
		"directory with the programs citus-up and citus-down, which start and end nodes of a Citus cluster (test/prove); empty: the section "+
			"citus-load is not run")
	flags.IntVar(&o.lives, "lives", 0, "of orders in each connected shop; 0: 1,000")
	flags.DurationVar(&o.lasts, "for", 0, "how long the faults of the section cluster come, such as 1h; 0: each once")
	flags.BoolVar(&o.list, "list", false, "list the cases and end")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	if o.list {
		for _, section := range sections() {
			for _, c := range section.Cases {
				fmt.Printf("%s/%s\t%s\n", section.Name, c.Name, c.Title)
			}
		}
		return nil
	}
	return o.prove(ctx)
}

func (o options) prove(ctx context.Context) (err error) {
	var chosen prove.Selection
	if o.only != "" {
		chosen = strings.Split(o.only, ",")
	}
	if err := chosen.Check(sections()); err != nil {
		return err
	}
	page, data := filepath.Join(o.docs, "proof.md"), filepath.Join(o.docs, "proof.json")
	record, err := prove.ReadRecord(data)
	if err != nil {
		return err
	}
	record.Prune(sections())
	dir, err := os.MkdirTemp("", "tributary-prove-")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(dir) }() // what went wrong is kept
	if o.binary == "" {
		o.binary = filepath.Join(dir, "tributary")
		defer os.Remove(o.binary)
		if err := build(ctx, o.binary); err != nil {
			return err
		}
	}
	info := prove.RunInfo{
		Number: record.NextRun(), When: time.Now().UTC().Format("2006-01-02 15:04 UTC"), Commit: prove.Commit(ctx, page, data),
		Seed: o.seed, Kafka: kafkadist.Version, Go: runtime.Version(), Machine: prove.Machine(),
	}
	env := func(section, name string) prove.Env {
		return prove.Env{Binary: o.binary, Dir: filepath.Join(dir, section+"-"+name), Seed: o.seed, Citus: o.citus, CitusTool: o.tool,
			Lives: o.lives, For: o.lasts, Chosen: chosen, Say: say}
	}
	failed, err := prove.Do(ctx, sections(), chosen, record, info, env, func() error { return write(record, page, data) })
	fmt.Println()
	record.Print(os.Stdout, sections(), info.Number)
	if err == nil && failed > 0 {
		err = fmt.Errorf("%d cases do not hold", failed)
	}
	return err
}

// write writes the page and the record that it is made from.
func write(record *prove.Record, page, data string) error {
	err := record.Write(data)
	if err == nil {
		err = atomicfile.Write(page, func(w io.Writer) error { return record.WritePage(w, sections()) })
	}
	return err
}

func build(ctx context.Context, binary string) error {
	command := exec.CommandContext(ctx, "go", "build", "-o", binary, "./cmd/tributary") //nolint:gosec // the path is ours
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("build tributary: %w: %s", err, output)
	}
	return nil
}

// say tells how far it is.
func say(format string, args ...any) {
	fmt.Printf(time.Now().Format("15:04:05 ")+format+"\n", args...)
}
