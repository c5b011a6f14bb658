package main

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/tributary-io/tributary/sdk/core"
)

// family is one metric as a service exports it to Prometheus.
type family struct {
	kind, help string
	labels     map[string]map[string]bool // the values of each
}

var (
	metricLine  = regexp.MustCompile(`^([a-z_]+?)((?:_bucket|_sum|_count)?)(?:\{(.*)\})? \S+$`)
	metricLabel = regexp.MustCompile(`(\w+)="((?:[^"\\]|\\.)*)"`)
)

// families reads Prometheus' text format.
func families(t *testing.T, page string) map[string]*family {
	t.Helper()
	found := map[string]*family{}
	of := func(name string) *family {
		if found[name] == nil {
			found[name] = &family{labels: map[string]map[string]bool{}}
		}
		return found[name]
	}
	for line := range strings.Lines(page) {
		if word := strings.SplitN(strings.TrimSpace(line), " ", 4); len(word) == 4 && word[1] == "HELP" {
			of(word[2]).help = word[3]
			continue
		} else if len(word) == 4 && word[1] == "TYPE" {
			of(word[2]).kind = word[3]
			continue
		}
		sample := metricLine.FindStringSubmatch(strings.TrimSpace(line))
		if sample == nil {
			t.Fatalf("%q is no line of a metric", line)
		}
		name := sample[1]
		if found[name] == nil {
			name += sample[2] // the suffix is part of a counter's name
		}
		if found[name] == nil {
			t.Fatalf("%q is of no family that was told of before", line)
		}
		for _, label := range metricLabel.FindAllStringSubmatch(sample[3], -1) {
			if found[name].labels[label[1]] == nil {
				found[name].labels[label[1]] = map[string]bool{}
			}
			found[name].labels[label[1]][label[2]] = true
		}
	}
	return found
}

// labelsOf names every label that our metrics may have, and the most values that
// one may take: more would mean that a client can choose them.
var labelsOf = map[string]int{
	"route": 60, "method": 8, "status": 60, "code": 40, "outcome": 25, "network": 4, "topic": 5, "partition": 1024, "what": 4,
	"reason": len(core.Dropped{}) + 20, "platform": 20, "state": 8, "from": 2,
}

func TestMetricsKeepPrometheusConventions(t *testing.T) {
	withMail(t)
	s := startServices(t, "--spool", t.TempDir(), "--internal-addr", "127.0.0.1:0")
	s.startConnect()
	for name, service := range map[string]*running{"edge": s.edge, "admin": s.admin, "processor": s.processor, "connect": s.connect} {
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
			checkFamily(t, name, metric, family)
		}
		if ours < 5 {
			t.Errorf("%s has %d metrics", name, ours)
		}
	}
}

// metricNames finds our metrics in an expression, and those of the process.
var metricNames = regexp.MustCompile(`\b(?:tributary|process|go)_[a-z][a-z0-9_]+`)

// What the alerts and the dashboard ask for is there from a service's start.
func TestAlertsAndDashboardNameWhatServicesExport(t *testing.T) {
	withMail(t)
	s := startServices(t, "--spool", t.TempDir())
	exported := map[string]bool{}
	s.startConnect()
	for _, service := range []*running{s.edge, s.admin, s.processor, s.connect} {
		for name, family := range families(t, service.metrics()) {
			exported[name] = true
			if family.kind == "histogram" {
				for _, suffix := range []string{"_bucket", "_sum", "_count"} {
					exported[name+suffix] = true
				}
			}
		}
	}
	for _, path := range []string{"prometheus/alerts.yml", "prometheus/alerts_test.yml", "grafana/tributary.json"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "deploy", filepath.FromSlash(path)))
		if err != nil {
			t.Fatal(err)
		}
		names := metricNames.FindAllString(string(text), -1)
		if len(names) < 10 {
			t.Errorf("deploy/%s names %d metrics", path, len(names))
		}
		for _, name := range names {
			if !exported[name] {
				t.Errorf("deploy/%s names %s, which no service exports", path, name)
			}
		}
	}
	page := docsPage(t, "notes", "metrics.md")
	for name := range exported {
		if base := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_sum"), "_count"); strings.HasPrefix(name,
			"tributary_") && !strings.Contains(page, "`"+base) {
			t.Errorf("docs/notes/metrics.md does not tell of %s", base)
		}
	}
	for _, name := range metricNames.FindAllString(page+docsPage(t, "operations.md"), -1) {
		if !exported[name] {
			t.Errorf("docs/notes/metrics.md or docs/operations.md tells of %s, which no service exports", name)
		}
	}
}

// docsPage reads a page of docs.
func docsPage(t *testing.T, path ...string) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(append([]string{"..", "..", "docs"}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// No word of a client becomes a label.
func TestStrangersMakeNoLabels(t *testing.T) {
	s := startServices(t)
	for _, service := range []*running{s.edge, s.admin} {
		for _, method := range []string{"GET", "POST", "STRANGER"} {
			for _, path := range []string{"/stranger", "/v1/events", "/v1/stranger", "/s/stranger", "/admin/v1/order", "/admin/v1/stranger",
				"/admin/v1/influencers/stranger"} {
				request := s.request(method, service.origin()+path, `{"companyId":"stranger","event":"stranger"}`)
				request.Header.Set("Origin", "https://stranger.example")
				request.Header.Set("Content-Encoding", "identity")
				response, err := http.DefaultClient.Do(request)
				if err != nil {
					t.Fatal(err)
				}
				response.Body.Close()
			}
		}
		if page := service.metrics(); strings.Contains(strings.ToLower(page), "stranger") {
			t.Errorf("a stranger's word is in\n%s", page)
		}
	}
}

// Only where operators alone reach them, metrics tell what load does and which
// version runs.
func TestMetricsOfTheProcessAreInternal(t *testing.T) {
	f := func(service *running, want bool) {
		t.Helper()
		page := service.metrics()
		for _, metric := range []string{"process_resident_memory_bytes", "go_goroutines", "tributary_build_info"} {
			if strings.Contains(page, "\n"+metric) != want {
				t.Errorf("%s is there: %t, want %t", metric, !want, want)
			}
		}
	}
	s := startServices(t, "--internal-addr", "127.0.0.1:0")
	f(s.edge, true)
	f(s.admin, false)
	f(s.processor, true)
}

func checkFamily(t *testing.T, service, name string, f *family) {
	t.Helper()
	if !strings.HasPrefix(name, "tributary_"+service+"_") && name != "tributary_build_info" {
		t.Errorf("%s has a metric %s", service, name)
	}
	if !strings.HasSuffix(f.help, ".") || len(f.help) < 10 {
		t.Errorf("%s is described as %q", name, f.help)
	}
	if n := len(f.labels["le"]); f.kind == "histogram" && n > 0 && (n < 8 || n > 20) {
		t.Errorf("%s has %d buckets", name, n)
	}
	for label, values := range f.labels {
		if most := labelsOf[label]; label != "le" && len(values) > most && name != "tributary_build_info" {
			t.Errorf("%s: the label %s has %d values, at most %d are known", name, label, len(values), most)
		}
	}
}
