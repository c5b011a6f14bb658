package edge

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A counter that first appears at 1 is no increase to Prometheus.
func TestAllOutcomesOfClicksAreThereFromTheStart(t *testing.T) {
	source, err := os.ReadFile("metrics.go")
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, found := range regexp.MustCompile(`clickOutcome = "(\w+)"`).FindAllStringSubmatch(string(source), -1) {
		want = append(want, found[1])
	}
	families, err := benchServer(t).deps.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if strings.HasSuffix(family.GetName(), "_clicks_total") {
			for _, metric := range family.GetMetric() {
				got = append(got, metric.GetLabel()[0].GetValue())
			}
		}
	}
	slices.Sort(want)
	if slices.Sort(got); len(want) < 9 || !slices.Equal(got, want) {
		t.Errorf("there are %v, want %v", got, want)
	}
}
