package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/test/devtest"
)

// A small form of what `bench/processor -stored 100_000,10_000_000` does: the processor
// applies page views without a halt, its memory stays within the goal, and the cost at
// each number of stored events is told.
func TestMemoryStaysSmallHoweverMuchIsStored(t *testing.T) {
	devtest.NeedsIntegration(t)
	b := &bench{options: options{partitions: 8}, binary: filepath.Join(t.TempDir(), "tributary")}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", b.binary, "../../../cmd/tributary")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := devtest.Sources(filepath.Join("..", "..", "..")); err != nil {
		t.Fatal(err)
	}
	list, err := b.growIn(t.Context(), growth{stored: []int{1_000, 40_000}, sample: 5_000, part: 20_000}, devtest.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 2 || list[1].stored != 40_000 || list[1].event.processor <= 0 || list[1].bytes <= list[0].bytes {
		t.Errorf("%+v", list)
	}
	if most := list[1].memory; most < 1<<20 || most > 256<<20 {
		t.Errorf("the processor has used %d bytes", most)
	}
	printGrowth(os.Stdout, list)
}

func TestGrowthIsJudgedByItsGoals(t *testing.T) {
	f := func(list []grown, want ...string) {
		t.Helper()
		var out strings.Builder
		printGrowth(&out, list)
		for _, w := range want {
			if !strings.Contains(out.String(), w) {
				t.Errorf("%q is not in\n%s", w, out.String())
			}
		}
	}
	at := func(stored int, cpu time.Duration, memory int) grown {
		return grown{stored: stored, event: cost{processor: cpu / 2, postgres: cpu / 2, wall: cpu}, memory: memory}
	}
	us := time.Microsecond
	f([]grown{at(100_000, 40*us, 100<<20), at(10_000_000, 48*us, 256<<20)}, "1.20 ×, met", "256 MiB, met")
	f([]grown{at(100_000, 40*us, 300<<20), at(10_000_000, 50*us, 200<<20)}, "1.25 ×, missed", "300 MiB, missed")
	for _, wrong := range []string{"", "x", "0", "-1", "1,,2"} {
		if _, err := parseGrowth(wrong); err == nil {
			t.Errorf("-stored %q is taken", wrong)
		}
	}
	if g, err := parseGrowth("10_000_000,100_000"); err != nil || len(g.stored) != 2 || g.stored[0] != 100_000 {
		t.Errorf("%+v, %v", g, err)
	}
}
