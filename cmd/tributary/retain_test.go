package main

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
)

func TestRetainTellsWhatItWouldRemoveAndRemovesIt(t *testing.T) {
	live, dsn := installation(t)
	f := func(status int, want string, args ...string) {
		t.Helper()
		if out, got := command(t, append([]string{"retain"}, args...)...); got != status || !strings.Contains(out, want) {
			t.Errorf("retain %s: exit status %d and\n%s\nwant %d and %s", strings.Join(args, " "), got, out, status, want)
		}
	}
	f(0, "No company has a retention")
	f(1, "keeps its events for ever", "--company", live.CompanyID)
	f(1, "no such company", "--company", "c_nobody")
	if out, status := command(t, "company", "set", live.CompanyID, "--retention-days", "70d"); status != 0 {
		t.Fatal(out)
	}
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	put := func(sql string, args ...any) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), sql, append([]any{live.CompanyID}, args...)...); err != nil {
			t.Fatal(err)
		}
	}
	put(`insert into event_fact (company_id, at, event_id, class, name, record) select $1, '2020-03-10', ` +
		`'0170c1a4-2e00-7000-8000-000000000001', 1, 'PAGE_VIEW', ''`)
	body, err := facts.PackOrder(&wire.Order{OrderID: "o1", CreatedAt: time.Date(2020, 3, 10, 12, 0, 0, 0, time.UTC),
		Currency: "BRL", TotalMinor: 100})
	if err != nil {
		t.Fatal(err)
	}
	put(`insert into orders (company_id, order_id, created_at, day, status, currency, total_minor, body, processed_at)
		values ($1, 'o1', '2020-03-10', '2020-03-10', 0, 'BRL', 100, $2, now())`, body)
	f(0, live.CompanyID+": 1 events before ", "--dry-run")
	f(0, "1 orders would be snapshotted first", "--dry-run")
	preview := reported[retentionReport](t, 0, "retain", "--dry-run")
	if len(preview.Companies) != 1 || !preview.DryRun || preview.Companies[0].Before < "2021" ||
		preview.Companies[0].CompanyID != live.CompanyID || preview.Companies[0].Events != 1 || preview.Companies[0].Snapshots != 1 {
		t.Errorf("--dry-run --json: %+v", preview)
	}
	f(0, live.CompanyID+": 1 orders snapshotted; 1 events, 0 observations and 0 visitors' days removed")
	f(0, live.CompanyID+": 0 orders snapshotted; 0 events, 0 observations and 0 visitors' days removed", "--company", live.CompanyID)
	if done := reported[retentionReport](t, 0, "retain"); done.DryRun || len(done.Companies) != 1 || done.Companies[0].Events != 0 ||
		done.DroppedPartitions == nil {
		t.Errorf("--json: %+v", done)
	}
}
