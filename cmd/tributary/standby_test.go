package main

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/test/await"
	"github.com/tributary-io/tributary/test/devtest"
)

// An admin with --postgres-read reads reports from a real standby, and from the primary once that is away; doctor tells of both.
func TestAnAdminReadsReportsFromAStandby(t *testing.T) { // not parallel: the server is copied with its databases
	s := startServices(t)
	standby := devtest.StartStandby(t)
	admin := start(t, "admin", "--short-base", "go.example.com", "--postgres-read", standby.Of(s.dsn))
	report := func() {
		t.Helper()
		response, err := http.DefaultClient.Do(s.request(http.MethodGet,
			admin.origin()+"/admin/v1/reports/sales?start_date=2026-03-01&end_date=2026-03-31", ""))
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if at, err := time.Parse(time.RFC3339, response.Header.Get("As-Of")); response.StatusCode != http.StatusOK || err != nil ||
			time.Since(at) > time.Minute {
			t.Errorf("%s, as of %q", response.Status, response.Header.Get("As-Of"))
		}
	}
	of := func(server string) (count int) {
		_, after, _ := strings.Cut(admin.metrics(), `tributary_admin_reports_total{from="`+server+`"} `)
		number, _, _ := strings.Cut(after, "\n")
		count, err := strconv.Atoi(number)
		if err != nil {
			t.Errorf("the counter of the %s is %q", server, number)
		}
		return count
	}
	// reads waits for a report that the server gives.
	reads := func(server string) {
		t.Helper()
		before := of(server)
		await.Until(t, await.Long, func() bool { report(); return of(server) > before }, admin.metrics)
	}
	reads("standby")
	if out, _ := command(t, "doctor", "--postgres-read", standby.Of(s.dsn)); !strings.Contains(out, "ok    standby") {
		t.Error(out)
	}
	standby.Stop()
	reads("primary")
	if out, _ := command(t, "doctor", "--postgres-read", standby.Of(s.dsn)); !strings.Contains(out, "WARN  standby") {
		t.Error(out)
	}
}
