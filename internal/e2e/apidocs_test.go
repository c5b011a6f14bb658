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

// TestEveryCurlOfTheAPIPageWorks runs docs/api.md as a reader would, from top
// to bottom in one shell. A fence says what its last curl answers ("sh 404"),
// 200 where it says nothing.
func TestEveryCurlOfTheAPIPageWorks(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "api.md"))
	if err != nil {
		t.Fatal(err)
	}
	d := startDev(t, dataDir(t), "--empty")

	var script strings.Builder
	// Each answer's status goes to stderr, between the marks of its fence.
	script.WriteString("set -euo pipefail\ncurl() { command curl -w '%{stderr}\\nanswered %{http_code}\\n' \"$@\"; }\n")
	fences := regexp.MustCompile("(?ms)^```sh ?([0-9]*)\n(.*?)^```$").FindAllStringSubmatch(string(page), -1)
	for i, fence := range fences {
		fmt.Fprintf(&script, "printf '\\nfence %d\\n' >&2\n%s", i, fence[2])
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	shell := exec.CommandContext(ctx, "bash", "-c", script.String())
	shell.Env = append(os.Environ(), "ADMIN_URL="+d.AdminURL, "API_KEY="+d.APIKey)
	var output, told bytes.Buffer
	shell.Stdout, shell.Stderr = &output, &told
	if err := shell.Run(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, told.String(), output.String())
	}

	answered := strings.Split(told.String(), "\nfence ")[1:]
	if len(answered) != len(fences) {
		t.Fatalf("%d of %d fences ran", len(answered), len(fences))
	}
	curls := 0
	for i, fence := range fences {
		want := fence[1]
		if want == "" {
			want = "200"
		}
		statuses := regexp.MustCompile(`(?m)^answered ([0-9]+)$`).FindAllStringSubmatch(answered[i], -1)
		if sent := strings.Count(fence[2], "curl -"); len(statuses) != sent {
			t.Errorf("%d of %d curls were answered:\n%s%s", len(statuses), sent, fence[2], answered[i])
		}
		for _, status := range statuses {
			if curls++; status[1] != want {
				t.Errorf("answered %s, the page says %s:\n%s", status[1], want, fence[2])
			}
		}
	}
	if curls < 17 {
		t.Errorf("the page has %d curls: some operation is missing", curls)
	}
	for _, expected := range []string{`"commission":23`, `"evidence":"coupon"`, `"value":100`, "Ratelimit-Remaining", "coupon_period_conflict"} {
		if !strings.Contains(output.String(), expected) {
			t.Errorf("no answer has %s, though the page says so:\n%s", expected, output.String())
		}
	}
}
