package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// fence is one ```sh block of a page of the documentation, and what it printed.
type fence struct {
	info   []string // the words after "sh": the status that its curls answer, 200 by default, and more
	script string
	output string
}

// runPage runs every ```sh fence of a page in docs/ as a reader would, from top
// to bottom in one shell with the variables that dev prints, and checks the
// status of each curl.
func (d *dev) runPage(t *testing.T, name string) (fences []fence, output string) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	var script strings.Builder
	// Each answer's status follows it, between the marks of its fence; by stderr,
	// since a page may keep an answer in a variable.
	script.WriteString("set -euo pipefail\nexec 2>&1\ncurl() { command curl -w '%{stderr}\\nanswered %{http_code}\\n' \"$@\"; }\n")
	for i, match := range regexp.MustCompile("(?ms)^```sh([^\n]*)\n(.*?)^```$").FindAllStringSubmatch(string(page), -1) {
		fences = append(fences, fence{info: strings.Fields(match[1]), script: match[2]})
		fmt.Fprintf(&script, "printf '\\nfence %d\\n'\n%s", i, match[2])
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	shell := exec.CommandContext(ctx, "bash", "-c", script.String())
	shell.Dir = t.TempDir() // a page may write files
	shell.Env = append(os.Environ(), "ADMIN_URL="+d.AdminURL, "API_KEY="+d.APIKey, "EDGE_URL="+d.EdgeURL, "COMPANY_ID="+d.CompanyID,
		"PATH="+filepath.Dir(binary())+string(filepath.ListSeparator)+os.Getenv("PATH"))
	var printed bytes.Buffer
	shell.Stdout, shell.Stderr = &printed, &printed
	if err := shell.Run(); err != nil {
		t.Fatalf("docs/%s: %v\n%s", name, err, printed.String())
	}

	outputs := strings.Split(printed.String(), "\nfence ")[1:]
	if len(outputs) != len(fences) {
		t.Fatalf("docs/%s: %d of %d fences ran", name, len(outputs), len(fences))
	}
	for i := range fences {
		fences[i].output = outputs[i]
		fences[i].check(t)
	}
	return fences, printed.String()
}

// check compares the statuses of the fence's curls with what it says of them.
func (f *fence) check(t *testing.T) {
	t.Helper()
	want := "200"
	if len(f.info) > 0 && regexp.MustCompile(`^[0-9]+$`).MatchString(f.info[0]) {
		want = f.info[0]
	}
	answered := regexp.MustCompile(`(?m)^answered ([0-9]+)$`).FindAllStringSubmatch(f.output, -1)
	if sent := f.curls(); len(answered) != sent {
		t.Errorf("%d of %d curls were answered:\n%s%s", len(answered), sent, f.script, f.output)
	}
	for _, status := range answered {
		if status[1] != want {
			t.Errorf("answered %s, the page says %s:\n%s%s", status[1], want, f.script, f.output)
		}
	}
}

func (f *fence) curls() int { return strings.Count(f.script, "curl -") }

// countCurls is how many calls a page shows.
func countCurls(fences []fence) (n int) {
	for i := range fences {
		n += fences[i].curls()
	}
	return n
}

// wantAll checks that each text is in a page's output, as the page says.
func wantAll(t *testing.T, output string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(output, text) {
			t.Errorf("no answer has %s, though the page says so:\n%s", text, output)
		}
	}
}
