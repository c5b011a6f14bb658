// Package memory sets a service's garbage collector.
//
// What may enter: settings of Go's runtime, by what the environment and the container
// say.
package memory

import (
	"io/fs"
	"math"
	"runtime/debug"
	"strconv"
	"strings"
)

// How much garbage may come before it is collected, in percent of what is in use. Go's
// own is 100.
const (
	// Edge: it makes so little garbage that 100 buys no time that can be measured, and
	// takes a quarter more memory.
	Edge = 50
	// Processor: against 100 it saves a fifth of the process's CPU time, and takes 40 %
	// more memory (docs/notes/attribution.md, "Speed").
	Processor = 200
)

// Tune sets the process's garbage collector, unless the environment says otherwise:
// the percentage (GOGC), and a limit of nine tenths of what the container may have
// (GOMEMLIMIT), so that a burst is collected rather than killed. system is the file
// system's root.
func Tune(gcPercent int, environment func(name string) (value string, set bool), system fs.FS) {
	if _, set := environment("GOGC"); !set {
		debug.SetGCPercent(gcPercent)
	}
	if _, set := environment("GOMEMLIMIT"); !set {
		debug.SetMemoryLimit(containerLimit(system))
	}
}

// containerLimit is nine tenths of the container's limit, in bytes, and no limit where
// there is none (cgroups(7); version 2, then 1).
func containerLimit(system fs.FS) int64 {
	for _, name := range []string{"sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		text, err := fs.ReadFile(system, name)
		if err != nil {
			continue
		}
		limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		if err == nil && limit > 0 { // "max" is none
			return limit / 10 * 9
		}
	}
	return math.MaxInt64
}
