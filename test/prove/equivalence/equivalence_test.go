package equivalence

import (
	"testing"

	"github.com/tributary-io/tributary/test/devtest"
)

func TestTheCoreIsTheSameEverywhere(t *testing.T) {
	browser := devtest.Browser(t)
	dir := t.TempDir()
	if err := Build(t.Context(), "../../..", dir); err != nil {
		t.Fatal(err)
	}
	o, err := Compare(t.Context(), Many/100, 1, "../../..", dir, browser)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d operations in %v", o.Operations, o.Engines)
	for _, problem := range o.Differ {
		t.Error(problem)
	}
}

// A difference must show: the operations are of many kinds, and their answers too.
func TestTheOperationsAreOfManyKinds(t *testing.T) {
	envelopes, _, err := golden("../../..")
	if err != nil {
		t.Fatal(err)
	}
	answers, err := native(t.Context(), operations(envelopes, 500, 7))
	if err != nil {
		t.Fatal(err)
	}
	distinct := map[string]bool{}
	for _, answer := range answers {
		distinct[answer] = true
	}
	if len(distinct) < 150 {
		t.Errorf("500 operations have %d answers", len(distinct))
	}
}
