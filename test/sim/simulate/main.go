// Command simulate runs simulated worlds and prints a report of each, as JSON:
//
//	go run ./test/sim/simulate [-seed N] [-count N] [-hours N] [-trace]
//
// The first world that breaks a promise is the last. That is no error of the
// command.
//
// What may enter: the machine under the world, which is its clock, its random
// numbers and its directory for snapshots.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"

	"github.com/tributary-io/tributary/test/sim"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "simulate:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	world := flag.String("world", "", "the world, built for wasip1; empty: it is built from this checkout")
	seed := flag.Uint64("seed", 1, "of the first world")
	count := flag.Int("count", 1, "worlds, each with the next seed, up to the first that breaks a promise")
	hours := flag.Float64("hours", 5, "virtual, of each world")
	trace := flag.Bool("trace", false, "print what happens")
	flag.Parse()
	if *world == "" {
		built, err := os.MkdirTemp("", "tributary-sim-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(built)
		*world = filepath.Join(built, "world.wasm")
		build := exec.CommandContext(ctx, "go", "build", "-o", *world, "./test/sim/world") //nolint:gosec // a path of our own
		build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("build the world: %w\n%s", err, out)
		}
	}
	binary, err := os.ReadFile(*world)
	if err != nil {
		return err
	}
	// The next run of the same world need not compile it again.
	compiled, err := wazero.NewCompilationCacheWithDir(filepath.Join(filepath.Dir(*world), "compiled"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, compiled.Close(ctx)) }()
	runtime := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler().WithCompilationCache(compiled))
	defer func() { err = errors.Join(err, runtime.Close(ctx)) }()
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, runtime); err != nil {
		return err
	}
	module, err := runtime.CompileModule(ctx, binary)
	if err != nil {
		return fmt.Errorf("compile the world: %w", err)
	}
	reports := json.NewEncoder(os.Stdout)
	for range *count {
		report, err := live(ctx, runtime, module, *seed, *hours, *trace)
		if err == nil {
			err = reports.Encode(report)
		}
		if err != nil {
			return err
		}
		if len(report.Violations) > 0 {
			return nil
		}
		*seed++
	}
	return nil
}

// begin is when each world begins.
func begin() time.Time { return time.Date(2026, time.March, 1, 0, 0, 0, 0, time.UTC) }

// clock is the virtual time, in nanoseconds since 1970. It stands still while the
// world works, and jumps where all of the world sleeps. The time of day is stepped
// beside it, both ways, as by NTP on a machine whose clock was wrong.
type clock struct {
	now   int64
	reads int // since the last sleep
	seed  uint64
	steps int // since the world began
	span  int64
	step  int64 // of this span, in nanoseconds
}

// A third of the spans of five minutes have a time of day that is wrong by up to two minutes.
const (
	stepEvery = int64(5 * time.Minute)
	stepMost  = int64(2 * time.Minute)
)

// beside is how far the time of day is from the time.
func (c *clock) beside() int64 {
	if span := (c.now - begin().UnixNano()) / stepEvery; span != c.span {
		before := c.step
		c.span, c.step = span, 0
		dice := rand.New(rand.NewPCG(c.seed, uint64(span))) //nolint:gosec // a world is repeated by its seed
		if dice.IntN(3) == 0 {
			c.step = dice.Int64N(2*stepMost) - stepMost
		}
		if c.step != before {
			c.steps++
		}
	}
	return c.step
}

// maxReads of the time without a sleep: more are a loop that waits for the time
// to pass, which it never does.
const maxReads = 50_000_000

func (c *clock) nano() int64 {
	if c.reads++; c.reads > maxReads {
		panic("the world waits for the time without sleeping")
	}
	return c.now
}

func (c *clock) wall() (seconds int64, nanoseconds int32) {
	now := c.nano() + c.beside()
	return now / int64(time.Second), int32(now % int64(time.Second))
}

func (c *clock) sleep(ns int64) { c.now, c.reads = c.now+max(ns, 1), 0 }

// newRandom gives a seed's numbers to the world's runtime: the order of maps, of
// cases of a select that are ready, and crypto/rand come of it.
func newRandom(seed uint64) io.Reader {
	var key [32]byte
	for i := range 8 {
		key[i] = byte(seed >> (8 * i))
	}
	return rand.NewChaCha8(key)
}

// live runs one world. That it breaks, by a panic or because all of it waits for
// ever, is a violation of the report.
func live(ctx context.Context, runtime wazero.Runtime, module wazero.CompiledModule, seed uint64, hours float64,
	trace bool) (report sim.Report, err error) {
	snapshots, err := os.MkdirTemp("", "tributary-sim-")
	if err != nil {
		return report, err
	}
	defer os.RemoveAll(snapshots)
	args := []string{"world", strconv.FormatUint(seed, 10), strconv.FormatFloat(hours, 'f', -1, 64), "/snapshots"}
	var out, complaints bytes.Buffer
	errOut := io.Writer(&complaints)
	if trace {
		args, errOut = append(args, "trace"), io.MultiWriter(os.Stderr, &complaints)
	}
	clock := &clock{now: begin().UnixNano(), seed: seed}
	config := wazero.NewModuleConfig().WithName("").WithArgs(args...).WithStdout(&out).WithStderr(errOut).
		WithWalltime(clock.wall, sys.ClockResolution(1)).WithNanotime(clock.nano, sys.ClockResolution(1)).WithNanosleep(clock.sleep).
		WithRandSource(newRandom(seed)).
		WithFSConfig(wazero.NewFSConfig().WithDirMount(snapshots, "/snapshots"))
	instance, err := runtime.InstantiateModule(ctx, module, config)
	if instance != nil {
		defer func() { err = errors.Join(err, instance.Close(ctx)) }()
	}
	var exit *sys.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 0) {
		span := time.Unix(0, clock.now).Sub(begin())
		return sim.Report{Seed: seed, Hours: span.Hours(), Violations: []string{
			fmt.Sprintf("%v: the world broke: %v\n%s", span, err, head(complaints.String(), 60)),
		}}, nil
	}
	if err := json.Unmarshal(out.Bytes(), &report); err != nil {
		return report, fmt.Errorf("read the report of seed %d: %w", seed, err)
	}
	report.Steps = clock.steps
	return report, nil
}

// head are the first lines of a text.
func head(text string, n int) string {
	lines := strings.SplitAfterN(text, "\n", n+1)
	return strings.Join(lines[:min(n, len(lines))], "")
}
