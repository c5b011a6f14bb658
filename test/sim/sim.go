// Package sim runs Tributary in simulated time: the real SDK, edge, spool and
// processor, on models of the disk, the network, Kafka and the store, which fail
// and lie (test/sim/world). The world is compiled for wasip1, and
// test/sim/simulate runs it with a virtual clock and with random numbers of
// its seed alone. So an hour takes less than a second of CPU, and a seed always gives
// the same run (docs/adr/0010-the-simulation-runs-in-webassembly.md).
//
// What may enter: building and running worlds, what they report, and the bugs
// that are planted in them. The standard library alone: the world imports it too.
package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// Report is what a run of the world says.
type Report struct {
	Seed      uint64
	Hours     float64 // virtual
	Hash      string  // of the trace: two runs with the same are one
	Tracked   int     // events that senders gave to the SDK
	Acked     int     // … of which the SDK said that they are stored
	GivenUp   int     // … that the SDK gave up, and said so
	QueueFull int     // events that the SDK did not take, and said so
	Crashed   int     // events that waited in a sender's process when it was killed
	Copies    int     // records in the log besides each event's first
	Refused   int     // events that Kafka refused for good, for their size
	Faults    int     // of all kinds
	Kills     int     // … of edges, with the power on
	PowerLost int
	Leaders   int // changes of a partition's leader
	Steps     int // of the time of day

	Violations []string // what is promised and was not kept; the world ends at the first of them
}

// Add adds another run's numbers.
func (r *Report) Add(other Report) {
	r.Hours += other.Hours
	for to, n := range map[*int]int{
		&r.Tracked: other.Tracked, &r.Acked: other.Acked, &r.GivenUp: other.GivenUp, &r.QueueFull: other.QueueFull, &r.Crashed: other.Crashed,
		&r.Copies: other.Copies, &r.Refused: other.Refused, &r.Faults: other.Faults, &r.Kills: other.Kills, &r.PowerLost: other.PowerLost,
		&r.Leaders: other.Leaders, &r.Steps: other.Steps,
	} {
		*to += n
	}
	r.Violations = append(r.Violations, other.Violations...)
}

// World is a built world.
type World struct {
	dir     string
	binary  string // the world, for wasip1
	program string // test/sim/simulate, for this machine
}

// Build builds the world of the module at root, with planted bugs. Remove it when
// done.
func Build(ctx context.Context, root string, bugs ...Bug) (*World, error) {
	dir, err := os.MkdirTemp("", "tributary-sim-")
	if err != nil {
		return nil, fmt.Errorf("sim: %w", err)
	}
	w := &World{dir, filepath.Join(dir, "world.wasm"), filepath.Join(dir, "simulate")}
	overlay, err := writeOverlay(root, dir, bugs)
	if err == nil {
		err = build(ctx, root, []string{"GOOS=wasip1", "GOARCH=wasm"}, "-overlay", overlay, "-o", w.binary, "./test/sim/world")
	}
	if err == nil {
		err = build(ctx, root, nil, "-o", w.program, "./test/sim/simulate")
	}
	if err != nil {
		return nil, errors.Join(err, w.Remove())
	}
	return w, nil
}

func build(ctx context.Context, root string, environment []string, args ...string) error {
	command := exec.CommandContext(ctx, "go", append([]string{"build", "-ldflags=-s -w"}, args...)...) //nolint:gosec // paths of our own
	command.Dir, command.Env = root, append(append(os.Environ(), "GOFLAGS="), environment...)
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("sim: build %s: %w\n%s", args[len(args)-1], err, out)
	}
	return nil
}

// Remove removes what Build made.
func (w *World) Remove() error { return os.RemoveAll(w.dir) }

// Run lets count worlds, of seeds from first on, live for virtual hours each, one
// after the other, up to the first that breaks a promise. It returns their reports
// and the CPU time that it took. trace, where not nil, gets a line for each thing
// that happens.
func (w *World) Run(ctx context.Context, first uint64, count int, hours float64,
	trace io.Writer) (reports []Report, cpu time.Duration, err error) {
	var out, complaints bytes.Buffer
	args := []string{
		"-world", w.binary, "-seed", strconv.FormatUint(first, 10), "-count", strconv.Itoa(count), "-hours",
		strconv.FormatFloat(hours, 'f', -1, 64),
	}
	errOut := io.Writer(&complaints)
	if trace != nil {
		args, errOut = append(args, "-trace"), trace
	}
	command := exec.CommandContext(ctx, w.program, args...) //nolint:gosec // built by Build
	command.Stdout, command.Stderr = &out, errOut
	if err := command.Run(); err != nil {
		return nil, 0, fmt.Errorf("sim: %w: %s", err, complaints.Bytes())
	}
	for lines := json.NewDecoder(&out); ; {
		var r Report
		switch err := lines.Decode(&r); {
		case errors.Is(err, io.EOF):
			return reports, command.ProcessState.UserTime() + command.ProcessState.SystemTime(), nil
		case err != nil:
			return nil, 0, fmt.Errorf("sim: read a report: %w", err)
		}
		reports = append(reports, r)
	}
}
