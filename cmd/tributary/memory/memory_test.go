package memory

import (
	"math"
	"runtime/debug"
	"testing"
	"testing/fstest"
)

func TestTheMemoryLimitIsTheContainers(t *testing.T) {
	f := func(want int64, name, text string) {
		t.Helper()
		if got := containerLimit(fstest.MapFS{name: {Data: []byte(text)}}); got != want {
			t.Errorf("%s %q: %d, want %d", name, text, got, want)
		}
	}
	f(90<<20, "sys/fs/cgroup/memory.max", "104857600\n")
	f(90<<20, "sys/fs/cgroup/memory/memory.limit_in_bytes", "104857600\n")
	f(math.MaxInt64, "sys/fs/cgroup/memory.max", "max\n")
	f(math.MaxInt64, "sys/fs/cgroup/memory.max", "-1")
	f(math.MaxInt64, "sys/fs/cgroup/memory.max", "")
	f(math.MaxInt64, "other", "5")
}

// What the environment says stays, and what it leaves open is set.
func TestTheEnvironmentGoesBeforeOurOwnLimits(t *testing.T) {
	limit, percent := debug.SetMemoryLimit(-1), debug.SetGCPercent(77)
	t.Cleanup(func() { debug.SetMemoryLimit(limit); debug.SetGCPercent(percent) })
	container := fstest.MapFS{"sys/fs/cgroup/memory.max": {Data: []byte("10737418240")}}
	Tune(Processor, func(string) (string, bool) { return "", true }, container)
	if got := debug.SetMemoryLimit(-1); got != limit {
		t.Errorf("the limit became %d", got)
	}
	if got := debug.SetGCPercent(77); got != 77 {
		t.Errorf("GOGC became %d", got)
	}
	Tune(Processor, func(string) (string, bool) { return "", false }, container)
	if got := debug.SetMemoryLimit(limit); got != 9663676416 {
		t.Errorf("the limit is %d", got)
	}
	if got := debug.SetGCPercent(77); got != Processor {
		t.Errorf("GOGC is %d", got)
	}
}
