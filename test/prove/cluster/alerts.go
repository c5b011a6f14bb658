package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/tributary-io/tributary/dev/child"
	"github.com/tributary-io/tributary/test/kafkadist"
)

// prometheus is Debian's Prometheus with the alerts of deploy/prometheus, as an operator has it.
type prometheus struct {
	process *child.Process
	url     string
}

// errNoPrometheus: it is not installed, and cannot be fetched.
var errNoPrometheus = errors.New("there is no prometheus (Debian: apt-get install prometheus)")

// scrapeEvery is how often metrics are read and alerts looked at.
const scrapeEvery = 5 * time.Second

// startPrometheus starts it over all services. Call close when done.
func startPrometheus(ctx context.Context, dir string, services map[string][]*service) (*prometheus, error) {
	binary, err := findPrometheus(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoPrometheus, err)
	}
	rules, err := filepath.Abs(filepath.Join("deploy", "prometheus", "alerts.yml")) // make runs at the root
	if err != nil {
		return nil, err
	}
	config := fmt.Sprintf("global: {scrape_interval: %s, scrape_timeout: 2s, evaluation_interval: %s}\nrule_files: [%q]\nscrape_configs:\n",
		scrapeEvery, scrapeEvery, rules)
	for _, kind := range kinds {
		var targets []string
		for _, one := range services[kind] {
			targets = append(targets, one.addr)
		}
		config += fmt.Sprintf("  - {job_name: tributary-%s, static_configs: [{targets: [%s]}]}\n", kind, `"`+strings.Join(targets, `","`)+`"`)
	}
	file := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		return nil, err
	}
	addrs, err := kafkadist.FreeAddrs(1)
	if err != nil {
		return nil, err
	}
	addr := addrs[0]
	output, err := os.Create(filepath.Join(dir, "prometheus.log")) //nolint:gosec // in our own directory
	if err != nil {
		return nil, err
	}
	defer output.Close()
	//nolint:gosec,noctx // package child ends it
	cmd := exec.Command(binary, "--config.file", file, "--storage.tsdb.path", filepath.Join(dir, "prometheus"), "--web.listen-address", addr)
	cmd.Stdout, cmd.Stderr = output, output
	p := &prometheus{url: "http://" + addr}
	if p.process, err = child.Start(cmd, syscall.SIGKILL); err != nil {
		return nil, err
	}
	err = until(ctx, "Prometheus is ready", patience, func() (bool, error) {
		select {
		case <-p.process.Done():
			return false, fmt.Errorf("prometheus: %w (%s)", errEnded, output.Name())
		default:
		}
		_, err := p.get(ctx, "/-/ready", nil)
		return err == nil, nil
	})
	if err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// findPrometheus returns the installed program, or that of Debian's package, which is unpacked into the user's cache.
func findPrometheus(ctx context.Context) (string, error) {
	if path, err := exec.LookPath("prometheus"); err == nil {
		return path, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "tributary", "prometheus")
	binary := filepath.Join(dir, "usr", "bin", "prometheus")
	if _, err := os.Stat(binary); err == nil {
		return binary, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil { //nolint:gosec // as other programs' caches
		return "", err
	}
	work, err := os.MkdirTemp(filepath.Dir(dir), "prometheus-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	fetch := exec.CommandContext(ctx, "/bin/sh", "-c", "apt-get download -q prometheus && dpkg -x prometheus_*.deb unpacked")
	fetch.Dir = work
	if output, err := fetch.CombinedOutput(); err != nil {
		return "", fmt.Errorf("apt-get download prometheus: %w: %s", err, output)
	}
	return binary, os.Rename(filepath.Join(work, "unpacked"), dir)
}

func (p *prometheus) close() { p.process.Stop(10*time.Second, syscall.SIGTERM, syscall.SIGKILL) }

func (p *prometheus) get(ctx context.Context, path string, query url.Values) ([]byte, error) {
	const most = 16 << 20
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+path+"?"+query.Encode(), nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, most))
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s %s", path, response.Status, body)
	}
	return body, err
}

// fired is one alert, and when it fired.
type fired struct {
	Name   string
	Labels map[string]string
	At     []time.Time // each time it was looked at
}

// stepOf is how often alerts of so long a time are looked at: Prometheus answers with 11,000 points of a series at most.
func stepOf(span time.Duration) time.Duration {
	const points = 10_000
	return max(scrapeEvery, (span/points).Truncate(time.Second)+time.Second)
}

// since asks what a query returned at all times since then.
func (p *prometheus) since(ctx context.Context, query string, since time.Time) ([]byte, error) {
	return p.get(ctx, "/api/v1/query_range", url.Values{"query": {query}, "start": {since.Format(time.RFC3339)},
		"end": {time.Now().Format(time.RFC3339)}, "step": {stepOf(time.Since(since)).String()}})
}

// fired lists the alerts that fired since a time.
func (p *prometheus) fired(ctx context.Context, since time.Time) (list []fired, err error) {
	body, err := p.since(ctx, `ALERTS{alertstate="firing"}`, since)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Data struct {
			Result []struct {
				Metric map[string]string
				Values [][2]json.RawMessage
			}
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, err
	}
	for _, series := range answer.Data.Result {
		one := fired{Name: series.Metric["alertname"], Labels: series.Metric}
		for _, value := range series.Values {
			seconds, err := strconv.ParseFloat(string(value[0]), 64)
			if err != nil {
				return nil, err
			}
			one.At = append(one.At, time.UnixMilli(int64(seconds*1000)))
		}
		list = append(list, one)
	}
	return list, nil
}

// span is a time in which a fault was there.
type span struct {
	fault      *fault
	began, end time.Time
}

// rule is one alert of Prometheus' answer.
type rule struct {
	Name     string
	Query    string
	Duration float64 // seconds that it is true before it fires
}

// looksBack finds the ranges of an expression.
var looksBack = regexp.MustCompile(`\[(\d+[smh])\]`)

// lasting is how long after a fault the alert may fire or go on because of it: how far it looks back, its "for", and two looks.
func (r rule) lasting() (time.Duration, error) {
	var window time.Duration
	for _, found := range looksBack.FindAllStringSubmatch(r.Query, -1) {
		one, err := time.ParseDuration(found[1])
		if err != nil {
			return 0, fmt.Errorf("rule %s: %w", r.Name, err)
		}
		window = max(window, one)
	}
	return window + time.Duration(r.Duration*float64(time.Second)) + 2*scrapeEvery, nil
}

// rules are the alerts that Prometheus has read.
func (p *prometheus) rules(ctx context.Context) (list []rule, err error) {
	body, err := p.get(ctx, "/api/v1/rules", url.Values{"type": {"alert"}})
	if err != nil {
		return nil, err
	}
	var answer struct {
		Data struct{ Groups []struct{ Rules []rule } }
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, fmt.Errorf("rules of Prometheus: %w", err)
	}
	for _, group := range answer.Data.Groups {
		list = append(list, group.Rules...)
	}
	if len(list) == 0 {
		return nil, errors.New("prometheus has no alerts")
	}
	return list, nil
}

// lasting is by its name how long each alert may go on after its cause.
func (p *prometheus) lasting(ctx context.Context) (map[string]time.Duration, error) {
	list, err := p.rules(ctx)
	if err != nil {
		return nil, err
	}
	lasting := map[string]time.Duration{}
	for _, one := range list {
		if lasting[one.Name], err = one.lasting(); err != nil {
			return nil, err
		}
	}
	return lasting, nil
}

// judgeAlerts compares the alerts that fired with the faults that were there, and returns the names of those that fired.
func (s *stand) judgeAlerts(ctx context.Context) (names []string, err error) {
	if s.prom == nil {
		return nil, nil
	}
	list, err := s.prom.fired(ctx, s.began)
	if err != nil {
		return nil, err
	}
	lasting, err := s.prom.lasting(ctx)
	if err != nil {
		return nil, err
	}
	for _, one := range list {
		if !slices.Contains(names, one.Name) {
			names = append(names, one.Name)
		}
		for _, at := range one.At {
			if !s.caused(one.Name, at, lasting[one.Name]) {
				s.wrong("%s fired at %s without a cause: %v", one.Name, at.Format(time.TimeOnly), one.Labels)
				break
			}
		}
	}
	for _, is := range s.spans {
		for _, name := range is.fault.alerts {
			if !firedDuring(list, name, is) {
				s.wrong("%s did not fire: %s", name, is.fault.title)
			}
		}
	}
	slices.Sort(names)
	return names, nil
}

// caused tells whether a fault was there, or not for longer than lasting ago, that may let an alert fire then.
func (s *stand) caused(alert string, at time.Time, lasting time.Duration) bool {
	for _, is := range s.spans {
		may := slices.Contains(is.fault.mayAlert, alert) || slices.Contains(is.fault.alerts, alert)
		if may && at.After(is.began) && at.Before(is.end.Add(lasting)) {
			return true
		}
	}
	return false
}

func firedDuring(list []fired, name string, is span) bool {
	for _, one := range list {
		for _, at := range one.At {
			if one.Name == name && at.After(is.began) && at.Before(is.end.Add(scrapeEvery)) {
				return true
			}
		}
	}
	return false
}
