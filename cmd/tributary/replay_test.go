package main

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
)

func TestVerifyComparesLiveWithReplayed(t *testing.T) {
	live, dsn := installation(t)
	t.Setenv("TRIBUTARY_POSTGRES", dsn) // the owner's: a replay makes a schema
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	exec := func(sql string, args ...any) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	f := func(wantStatus int, want []string, args ...string) string {
		t.Helper()
		out, status := command(t, args...)
		if status != wantStatus {
			t.Errorf("%v: exit status %d, want %d\n%s", args, status, wantStatus, out)
		}
		for _, w := range want {
			if !strings.Contains(out, w) {
				t.Errorf("%v: %q is not in\n%s", args, w, out)
			}
		}
		return out
	}
	hashes := func(out string) []string { return regexp.MustCompile(`\b[0-9a-f]{64}\b`).FindAllString(out, -1) }

	exec(`delete from outbox`)
	out := f(0, []string{"Equal: 0 orders"}, "verify")
	if h := hashes(out); len(h) != 2 || h[0] != h[1] {
		t.Errorf("hashes %v", h)
	}
	body, err := facts.PackOrder(&wire.Order{OrderID: "o1", CreatedAt: time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC),
		Currency: "BRL", TotalMinor: 1000})
	if err != nil {
		t.Fatal(err)
	}
	exec(`insert into order_version (company_id, order_id, version_at, accepted_at, content_hash, body) values ($1, 'o1', now(), `+
		`now(), 'h', $2)`, live.CompanyID, body)
	out = f(1, []string{"company " + live.CompanyID + ", order o1", "replayed  credit", "1 of 1 orders differ"}, "verify")
	if h := hashes(out); len(h) != 2 || h[0] == h[1] {
		t.Errorf("hashes %v", h)
	}
	f(1, []string{"and 1 more"}, "verify", "--show", "0")
	v := reported[verification](t, 1, "verify")
	if v.Equal || v.Orders != 1 || v.Different != 1 || len(v.Differences) != 1 || v.Differences[0].OrderID != "o1" || len(v.Problems) != 1 ||
		v.Differences[0].Live == nil || len(v.Differences[0].Live) != 0 || len(v.Differences[0].Replayed) == 0 ||
		v.Differences[0].Replayed[0].Kind != "credit" ||
		v.LiveHash != hashes(out)[0] || v.ReplayedHash != hashes(out)[1] {
		t.Errorf("--json: %+v", v)
	}
	exec(`insert into orders (company_id, order_id, created_at, day, status, currency, total_minor, body, processed_at) values ($1, 'o1', `+
		`'2026-03-10T12:00:00Z', '2026-03-10', 0, 'BRL', 1000, $2, now())`, live.CompanyID, body)
	exec(`insert into payout (company_id, order_id, day, status, currency, total_minor, base_minor, commission_minor, credits)
		values ($1, 'o1', '2026-03-10', 0, 'BRL', 1000, 1000, 0, '[[0,"unattributed","","",1000,1000,1000,1001,1000,1000]]')`,
		live.CompanyID)
	f(1, []string{"company " + live.CompanyID +
		", 2026-03-10, BRL, model linear: credits of 10.01, approved orders of 10.00: 0.01 too much\n"}, "verify")
	v = reported[verification](t, 1, "verify")
	if text, err := json.Marshal(v.Books); err != nil || string(text) != `[{"company_id":"`+live.CompanyID+`","day":"2026-03-10",`+
		`"currency":"BRL","model":"linear","credited_minor":"1001","approved_minor":"1000"}]` {
		t.Errorf("--json: %s %v", text, err)
	}
	exec(`update payout set credits = replace(credits::text, '1001', '1000')::json`)
	f(1, []string{"Equal: the credits of each day, currency and model, and its approved orders."}, "verify")
	exec(`delete from payout`)
	exec(`delete from orders`)
	f(statusUsage, []string{"--show -1"}, "verify", "--show", "-1")
	if h := hashes(f(0, []string{"1 orders"}, "replay")); len(h) != 1 || h[0] != hashes(out)[1] {
		t.Errorf("replay says %v", h)
	}
	if r := reported[replayReport](t, 0, "replay"); r.Hash != hashes(out)[1] || r.Orders != 1 || r.Schema != "" {
		t.Errorf("--json: %+v", r)
	}
	exec(`insert into recompute (company_id, order_id, cause) values ($1, 'o1', 'rule 1 settings')`, live.CompanyID)
	f(1, []string{"orders wait to be computed again: 1 of company " + live.CompanyID}, "verify", "--wait", "0s")
	exec(`delete from recompute`)
	f(0, []string{"The fresh schema is replay_"}, "replay", "--keep")
	f(0, []string{"kept or killed: replay_"}, "replay")
}
