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

// TestEveryCurlOfTheEventsPageWorks runs docs/events.md as a reader would,
// from top to bottom in one shell. A fence says what its last curl answers
// ("sh 403"), 200 where it says nothing, and "rejected" where an event is.
func TestEveryCurlOfTheEventsPageWorks(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "events.md"))
	if err != nil {
		t.Fatal(err)
	}
	d := startDev(t, dataDir(t), "--empty")

	var script strings.Builder
	// Each answer's status follows it, between the marks of its fence.
	script.WriteString("set -euo pipefail\nexec 2>&1\ncurl() { command curl -w '\\nanswered %{http_code}\\n' \"$@\"; }\n")
	fences := regexp.MustCompile("(?ms)^```sh ?([0-9]*) ?(rejected)?\n(.*?)^```$").FindAllStringSubmatch(string(page), -1)
	for i, fence := range fences {
		fmt.Fprintf(&script, "printf '\\nfence %d\\n'\n%s", i, fence[3])
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	shell := exec.CommandContext(ctx, "bash", "-c", script.String())
	shell.Dir = t.TempDir() // the page writes a file
	shell.Env = append(os.Environ(), "EDGE_URL="+d.EdgeURL, "COMPANY_ID="+d.CompanyID,
		"PATH="+filepath.Dir(binary)+string(filepath.ListSeparator)+os.Getenv("PATH"))
	var output bytes.Buffer
	shell.Stdout, shell.Stderr = &output, &output
	if err := shell.Run(); err != nil {
		t.Fatalf("%v\n%s", err, output.String())
	}

	answers := strings.Split(output.String(), "\nfence ")[1:]
	if len(answers) != len(fences) {
		t.Fatalf("%d of %d fences ran", len(answers), len(fences))
	}
	curls := 0
	for i, fence := range fences {
		want := fence[1]
		if want == "" {
			want = "200"
		}
		statuses := regexp.MustCompile(`(?m)^answered ([0-9]+)$`).FindAllStringSubmatch(answers[i], -1)
		if sent := strings.Count(fence[3], "curl -"); len(statuses) != sent {
			t.Errorf("%d of %d curls were answered:\n%s%s", len(statuses), sent, fence[3], answers[i])
		}
		for _, status := range statuses {
			if curls++; status[1] != want {
				t.Errorf("answered %s, the page says %s:\n%s%s", status[1], want, fence[3], answers[i])
			}
		}
		if rejected := strings.Contains(answers[i], `"status":"rejected"`); rejected != (fence[2] == "rejected") {
			t.Errorf("an event rejected: %v, the page says otherwise:\n%s%s", rejected, fence[3], answers[i])
		}
	}
	if curls < 14 {
		t.Errorf("the page has %d curls: some form of sending is missing", curls)
	}
	for _, expected := range []string{
		`{"results":[{"eventId":"019cf15e-1200-7000-8000-000000000001","status":"ok"}],"durability":"kafka","request_id":"`,
		`{"results":[{"eventId":"019cf15e-1200-7000-8000-000000000001","status":"duplicate"}]`,
		`"code":"payload_items_required","message":"payload.items must be an array of at least one item"}`,
		"unknown_company", "company_id_required", "unsupported_media_type", "origin_not_allowed",
		"Access-Control-Allow-Methods: POST",
		"2 lines, 2 accepted (0 of them known already), 0 rejected",
	} {
		if !strings.Contains(output.String(), expected) {
			t.Errorf("no answer has %s, though the page says so:\n%s", expected, output.String())
		}
	}
}

// A history repeated changes nothing, even where its lines have no ids and no
// versions, and what was posted since it was written stays.
func TestHistoryWithoutIDsAndVersionsMayBeImportedAgain(t *testing.T) {
	d := startDev(t, dataDir(t), "--empty")
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	view := `{"event":"PAGE_VIEW","timestamp":"2026-03-15T12:00:00Z","visitorId":"v-1"}` + "\n"
	events := write("events.jsonl", view+view)
	orders := write("orders.jsonl", `{"orderId":"h-1","orderStatus":0,"createdAt":"2026-03-15T12:00:00Z","updatedAt":null,"totalPrice":200.10,"currency":"BRL"}`+"\n")
	importBoth := func() {
		t.Helper()
		for _, args := range [][]string{
			{"import", "events", events, "--edge", d.EdgeURL, "--company", d.CompanyID},
			{"import", "orders", orders, "--admin", d.AdminURL, "--key", d.APIKey},
		} {
			if out, status := runToEnd(t, args...); status != 0 {
				t.Fatalf("tributary %v: exit status %d\n%s", args, status, out)
			}
		}
	}
	state := func() (got string) {
		d.query(t, []any{&got}, `select coalesce((select count(*) from event_fact where company_id = $1), 0)
			|| ' events, status ' || coalesce((select string_agg(status || ' total ' || total_minor, ',') from orders where company_id = $1 and order_id = 'h-1'), 'none')`, d.CompanyID)
		return got
	}
	becomes := func(want string) {
		t.Helper()
		var got string
		eventually(t, 60*time.Second, func() bool { got = state(); return got == want },
			func() string { return fmt.Sprintf("%s, want %s", got, want) })
	}
	importBoth()
	becomes("2 events, status 0 total 20010")

	cancelled := map[string]any{"orderId": "h-1", "orderStatus": 2, "createdAt": "2026-03-15T12:00:00Z", "totalPrice": 200.10, "currency": "BRL"}
	mustCall(t, "POST", d.AdminURL+"/order", d.APIKey, cancelled, nil)
	becomes("2 events, status 2 total 20010")

	importBoth()
	mustCall(t, "POST", d.AdminURL+"/order", d.APIKey, order("after", "1.00", ""), nil)
	d.explain(t, "after", nil) // the log is read in order: what came before it is applied
	becomes("2 events, status 2 total 20010")
}
