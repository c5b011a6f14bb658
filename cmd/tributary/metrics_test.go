package main

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// families parses what a service answers to Prometheus.
func families(t *testing.T, page string) map[string]*dto.MetricFamily {
	t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	found, err := parser.TextToMetricFamilies(strings.NewReader(page))
	if err != nil {
		t.Fatalf("%v:\n%s", err, page)
	}
	return found
}

// labelsOf names every label that our metrics may have, and the most values that
// one may take: more would mean that a client can choose them.
var labelsOf = map[string]int{
	"route": 60, "method": 8, "status": 60, "code": 40, "outcome": 10, "topic": 5, "partition": 1024,
}

func TestMetricsKeepPrometheusConventions(t *testing.T) {
	s := startServices(t, "--spool", t.TempDir())
	for name, service := range map[string]*running{"edge": s.edge, "admin": s.admin, "processor": s.processor} {
		page := service.metrics()
		problems, err := promlint.New(strings.NewReader(page)).Lint()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range problems {
			t.Errorf("%s: %s: %s", name, p.Metric, p.Text)
		}
		ours := 0
		for metric, family := range families(t, page) {
			if strings.HasPrefix(metric, "go_") || strings.HasPrefix(metric, "process_") {
				continue
			}
			ours++
			checkFamily(t, name, family)
		}
		if ours < 5 {
			t.Errorf("%s has %d metrics", name, ours)
		}
	}
}

func checkFamily(t *testing.T, service string, family *dto.MetricFamily) {
	t.Helper()
	name := family.GetName()
	if !strings.HasPrefix(name, "tributary_"+service+"_") && name != "tributary_build_info" {
		t.Errorf("%s has a metric %s", service, name)
	}
	if help := family.GetHelp(); !strings.HasSuffix(help, ".") || len(help) < 10 {
		t.Errorf("%s is described as %q", name, help)
	}
	values := map[string]map[string]bool{}
	for _, m := range family.GetMetric() {
		for _, label := range m.GetLabel() {
			if values[label.GetName()] == nil {
				values[label.GetName()] = map[string]bool{}
			}
			values[label.GetName()][label.GetValue()] = true
		}
		if h := m.GetHistogram(); h != nil && (len(h.GetBucket()) < 8 || len(h.GetBucket()) > 20) {
			t.Errorf("%s has %d buckets", name, len(h.GetBucket()))
		}
	}
	for label, found := range values {
		if most := labelsOf[label]; len(found) > most && name != "tributary_build_info" {
			t.Errorf("%s: the label %s has %d values, at most %d are known", name, label, len(found), most)
		}
	}
}
