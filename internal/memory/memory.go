package edge

import (
	"io/fs"
	"math"
	"runtime/debug"
	"strconv"
	"strings"
)

// gcPercent is how much garbage may come before it is collected, in percent of what
// is in use. The edge makes so little that Go's own 100 buys no time that can be measured,
// and takes a quarter more memory.
const gcPercent = 50

// TuneMemory sets the process's garbage collector for an edge, unless the
// environment says otherwise: gcPercent (GOGC), and a limit of nine tenths of what
// the container may have (GOMEMLIMIT), so that a burst is collected rather than
// killed. system is the file system's root.
func TuneMemory(environment func(name string) (value string, set bool), system fs.FS) {
	if _, set := environment("GOGC"); !set {
		debug.SetGCPercent(gcPercent)
	}
	if _, set := environment("GOMEMLIMIT"); !set {
		debug.SetMemoryLimit(memoryLimit(system))
	}
}

// memoryLimit is nine tenths of the container's limit, in bytes, and no limit where
// there is none (cgroups(7); version 2, then 1).
func memoryLimit(system fs.FS) int64 {
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
