// Command world runs one simulated world and prints a Report as JSON. It is
// compiled for wasip1 and run by test/sim, which gives it its clock and its
// random numbers.
//
//	world SEED HOURS [SNAPSHOTS [trace]]
//
// What may enter: the real SDK, edge, spool and processor; models of the disk,
// the network, Kafka and the store. No test and no real I/O.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "world:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) < 2 {
		return fmt.Errorf("want SEED HOURS [SNAPSHOTS [trace]], not %q", args)
	}
	seed, err := strconv.ParseUint(args[0], 10, 64)
	if err != nil {
		return fmt.Errorf("read the seed: %w", err)
	}
	hours, err := strconv.ParseFloat(args[1], 64)
	if err != nil {
		return fmt.Errorf("read the hours: %w", err)
	}
	snapshots, out := "", io.Writer(nil)
	if len(args) > 2 {
		snapshots = args[2]
	}
	if len(args) > 3 {
		out = os.Stderr
	}
	w := newWorld(seed, out, snapshots)
	w.live(time.Duration(hours * float64(time.Hour)))
	return json.NewEncoder(os.Stdout).Encode(w.report)
}
