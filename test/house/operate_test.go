package house_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/tributary-io/tributary/test/devtest"
)

// What Prometheus and Grafana are given.
const (
	alertsFile     = "deploy/prometheus/alerts.yml"
	alertTestsFile = "deploy/prometheus/alerts_test.yml"
	dashboardFile  = "deploy/grafana/tributary.json"
)

// ruleFile is a file of Prometheus' rules, as far as these tests read or write it.
type ruleFile struct {
	Groups []ruleGroup `yaml:"groups"`
}

type ruleGroup struct {
	Name  string `yaml:"name"`
	Rules []rule `yaml:"rules"`
}

type rule struct {
	Alert       string            `yaml:"alert,omitempty"`
	Record      string            `yaml:"record,omitempty"`
	Expr        string            `yaml:"expr"`
	Labels      map[string]string `yaml:"labels,omitempty"`
	Annotations map[string]string `yaml:"annotations,omitempty"`
}

func readYAML(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// alerts reads all alerts.
func alerts(t *testing.T) []rule {
	t.Helper()
	var file ruleFile
	readYAML(t, alertsFile, &file)
	var found []rule
	for _, group := range file.Groups {
		found = append(found, group.Rules...)
	}
	if len(found) < 15 {
		t.Fatalf("only %d alerts", len(found))
	}
	return found
}

// dashboardExprs reads the expressions of the dashboard, by panel.
func dashboardExprs(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(dashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title, Type string
			ID          int
			GridPos     struct{ X, Y, W, H int }
			Targets     []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	found := map[string][]string{}
	ids := map[int]bool{}
	for _, p := range dashboard.Panels {
		if ids[p.ID] || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("the panel %q has an id or a place that cannot be", p.Title)
		}
		ids[p.ID] = true
		name := fmt.Sprintf("%s (%d)", p.Title, p.ID)
		for _, target := range p.Targets {
			if target.Expr == "" {
				t.Errorf("the panel %q has an empty expression", p.Title)
			}
			found[name] = append(found[name], target.Expr)
		}
		if p.Type != "row" && len(found[name]) == 0 {
			t.Errorf("the panel %q shows nothing", p.Title)
		}
	}
	if len(found) < 20 {
		t.Fatalf("only %d panels", len(found))
	}
	return found
}

// Each alert has one row in the page's table: what it means, what to look at and what to do.
func TestEveryAlertHasItsRow(t *testing.T) {
	atRoot(t)
	page, err := os.ReadFile(filepath.Join("docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Alerts\n")
	section, _, _ = strings.Cut(section, "\n## ")
	told := map[string][]string{}
	for row := range strings.Lines(section) {
		cells := strings.Split(row, "|")
		if !strings.HasPrefix(row, "| `") {
			continue
		}
		name := strings.Trim(cells[1], " `")
		if told[name] != nil {
			t.Errorf("docs/operations.md tells of %s twice", name)
		}
		told[name] = cells[2:]
	}
	for _, alert := range alerts(t) {
		if severity := alert.Labels["severity"]; severity != "page" && severity != "ticket" || alert.Annotations["summary"] == "" {
			t.Errorf("%s has severity %q and summary %q", alert.Alert, severity, alert.Annotations["summary"])
		}
		cells, found := told[alert.Alert]
		delete(told, alert.Alert)
		if !found {
			t.Errorf("docs/operations.md does not tell of %s", alert.Alert)
			continue
		}
		if len(cells) != 4 {
			t.Errorf("docs/operations.md, %s: %d cells after the name, want 3", alert.Alert, len(cells)-1)
			continue
		}
		for i, part := range []string{"what it means", "look at", "do"} {
			if strings.TrimSpace(cells[i]) == "" {
				t.Errorf("docs/operations.md, %s: nothing in the column %q", alert.Alert, part)
			}
		}
	}
	for name := range told {
		t.Errorf("docs/operations.md tells of %s, which is no alert", name)
	}
}

func TestEveryAlertIsTestedBothWays(t *testing.T) {
	atRoot(t)
	var file struct {
		Tests []struct {
			Rules []struct {
				Alert string `yaml:"alertname"`
				Fires []any  `yaml:"exp_alerts"`
			} `yaml:"alert_rule_test"`
		}
	}
	readYAML(t, alertTestsFile, &file)
	fires, silent := map[string]bool{}, map[string]bool{"TributaryServiceAbsent": true} // a test has no target that it does not list
	for _, test := range file.Tests {
		for _, r := range test.Rules {
			if len(r.Fires) > 0 {
				fires[r.Alert] = true
			} else {
				silent[r.Alert] = true
			}
		}
	}
	for _, alert := range alerts(t) {
		if !fires[alert.Alert] || !silent[alert.Alert] {
			t.Errorf("%s: tested that it fires: %t, that it does not: %t", alert.Alert, fires[alert.Alert], silent[alert.Alert])
		}
	}
}

// Prometheus' own tool reads the rules and the dashboard's expressions, and runs
// the alerts' tests.
func TestPromtoolTakesRulesAndDashboard(t *testing.T) {
	atRoot(t)
	devtest.NeedsIntegration(t) // it builds promtool
	promtool := func(args ...string) {
		t.Helper()
		args = append([]string{"tool", "-modfile=" + filepath.Join(".ci", "promtool.mod"), "promtool"}, args...)
		if out, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput(); err != nil {
			t.Errorf("%v: %v\n%s", args[2:], err, out)
		}
	}
	promtool("check", "rules", "--lint=all", "--lint-fatal", alertsFile)
	promtool("test", "rules", alertTestsFile)
	// As rules, which promtool can check; Grafana puts its own interval in.
	group := ruleGroup{Name: "dashboard"}
	for _, exprs := range dashboardExprs(t) {
		for _, expr := range exprs {
			group.Rules = append(group.Rules,
				rule{Record: fmt.Sprintf("panel:%d", len(group.Rules)), Expr: strings.ReplaceAll(expr, "$__rate_interval", "5m")})
		}
	}
	text, err := yaml.Marshal(ruleFile{Groups: []ruleGroup{group}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "dashboard.yml")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	promtool("check", "rules", path)
}
