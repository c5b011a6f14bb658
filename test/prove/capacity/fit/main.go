// Command fit measures the loads to which the model of docs/capacity.md is fitted, each of which differs from the first in one thing,
// prints what they cost, fits the model and writes test/prove/capacity/fitted.json. It runs at the root of the repository, for a quarter
// of an hour. The test of the page then says what docs/capacity.md must have.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/tributary-io/tributary/test/prove"
	"github.com/tributary-io/tributary/test/prove/capacity"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "fit:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) (err error) {
	flags := flag.NewFlagSet("fit", flag.ContinueOnError)
	only := flags.String("only", "", "measure the loads alone whose names hold this, and fit nothing")
	if err := flags.Parse(args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "tributary-fit-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	binary := filepath.Join(dir, "tributary")
	//nolint:gosec // a file of our own
	if output, err := exec.CommandContext(ctx, "go", "build", "-o", binary, "./cmd/tributary").CombinedOutput(); err != nil {
		return fmt.Errorf("build tributary: %w: %s", err, output)
	}
	say := func(format string, args ...any) { fmt.Printf(time.Now().Format("15:04:05 ")+format+"\n", args...) }
	var loads []capacity.Load
	for _, l := range capacity.Fitted() {
		if strings.Contains(l.Name, *only) {
			loads = append(loads, l)
		}
	}
	r := capacity.Run{Dir: filepath.Join(dir, "stand"), Binary: binary, Stores: capacity.FittedStores, Say: say}
	list, err := r.Do(ctx, loads...)
	if err != nil || *only != "" {
		return err
	}
	fitted, err := capacity.Fit(list, prove.Machine())
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(fitted, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile("test/prove/capacity/fitted.json", append(text, '\n'), 0o644) //nolint:gosec // a source
}
