package sim

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/tributary-io/tributary/test/devtest"
)

// root is the module's.
const root = "../.."

func built(t *testing.T, bugs ...Bug) *World {
	t.Helper()
	w, err := Build(t.Context(), root, bugs...)
	if err == nil {
		err = devtest.Sources(root)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Remove(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// notShort skips a test that builds a world if it is run with -short.
func notShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("LEFT OUT by -short: this test builds and runs a simulated world; `make test` runs it")
	}
}

// Worlds with other seeds than here are run by `make prove`.
func TestWhatIsPromisedIsKept(t *testing.T) {
	notShort(t)
	reports, cpu, err := built(t).Run(t.Context(), 1, 4, 1.5, nil)
	if err != nil {
		t.Fatal(err)
	}
	var all Report
	for _, r := range reports {
		for _, v := range r.Violations {
			t.Errorf("seed %d: %s", r.Seed, v)
		}
		all.Add(r)
	}
	// It is not for lack of trouble.
	if all.Hours < 6 || all.Acked < 1000 || all.Faults < 30 || all.Kills == 0 || all.PowerLost == 0 || all.Leaders == 0 ||
		all.Steps == 0 || all.Refused == 0 || all.Copies == 0 {
		t.Errorf("%+v", all)
	}
	t.Logf("%.0f hours in %v: %+v", all.Hours, cpu, all)
}

// A planted bug is found, and its failing seed fails again in the same way, to the byte of its trace. `make prove` plants all bugs.
func TestASeedRepeatsItself(t *testing.T) {
	notShort(t)
	bug := Planted()[0]
	w := built(t, bug)
	var traces [2]bytes.Buffer
	var reports [2]Report
	for i := range traces {
		list, _, err := w.Run(t.Context(), bug.Seed, worldsOfBug, 1, &traces[i])
		if err != nil {
			t.Fatal(err)
		}
		reports[i] = list[len(list)-1]
		if !bug.foundBy(reports[i]) {
			t.Errorf("run %d: %q", i, reports[i].Violations)
		}
	}
	if !reflect.DeepEqual(reports[0], reports[1]) || !bytes.Equal(traces[0].Bytes(), traces[1].Bytes()) || traces[0].Len() < 10_000 {
		t.Errorf("two runs differ: %+v, then %+v; traces of %d and %d bytes", reports[0], reports[1], traces[0].Len(), traces[1].Len())
	}
	others, _, err := w.Run(t.Context(), reports[0].Seed+1, 1, 1, nil)
	if err != nil || others[0].Hash == reports[0].Hash {
		t.Errorf("another seed gives the same run: %v", err)
	}
}

// A change of the code that a bug is planted in needs a change of the bug.
func TestEveryBugsTextIsThere(t *testing.T) {
	if n := len(Planted()); n < 10 {
		t.Errorf("%d bugs", n)
	}
	names := map[string]bool{}
	for _, bug := range Planted() {
		if _, err := writeOverlay(root, t.TempDir(), []Bug{bug}); err != nil {
			t.Error(err)
		}
		if names[bug.Name] || bug.Finds == "" || bug.Seed == 0 {
			t.Errorf("%+v: want a name of its own, what finds it, and a seed", bug)
		}
		names[bug.Name] = true
	}
}

func TestABugThatCannotBePlantedIsAnError(t *testing.T) {
	for _, c := range []Change{{"go.mod", "no such text", ""}, {"go.mod", "\n", ""}, {"no-such-file.go", "x", ""}} {
		if _, err := writeOverlay(root, t.TempDir(), []Bug{{Name: "test", Changes: []Change{c}}}); err == nil {
			t.Errorf("%+v was planted", c)
		}
	}
}
