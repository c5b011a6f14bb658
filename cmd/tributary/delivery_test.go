package main

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

func TestDeliveryIsShown(t *testing.T) {
	live, dsn := installation(t)
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	day := time.Now().UTC().Format(time.DateOnly)
	for _, sql := range []string{
		`insert into delivery (company_id, day, outcome, events) values ($1, $2, 'stored', 120), ($1, $2, 'dropped:queue_full', 7), ($1, $2, ` +
			`'missing', 2), ($1, $2, 'late', 0), ($1, $2, 'unfollowed', 40)`,
		`insert into delivery_source (company_id, day, origin, agent, outcome, events) values ($1, $2, 'https://loja.example.com', 'in_app', ` +
			`'stored', 120), ($1, $2, '', 'none', 'rejected', 3)`,
	} {
		if _, err := conn.Exec(t.Context(), sql, live.CompanyID, day); err != nil {
			t.Fatal(err)
		}
	}
	f := func(want string, args ...string) {
		t.Helper()
		out, status := command(t, append([]string{"delivery", "--company", live.CompanyID}, args...)...)
		if got := strings.Join(strings.Fields(out), " "); status != 0 || got != want {
			t.Errorf("%v: %d %s, want %s", args, status, got, want)
		}
	}
	f("DAY OUTCOME REASON EVENTS STREAMS "+day+" dropped queue_full 7 0 "+day+" missing 2 0 "+day+" stored 120 0 "+day+" unfollowed 0 40",
		"--days", "1")
	f("day,outcome,reason,events,streams "+day+",dropped,queue_full,7,0 "+day+",missing,,2,0 "+day+",stored,,120,0 "+day+",unfollowed,,0,40",
		"--csv")
	f("DAY ORIGIN BROWSER OUTCOME EVENTS "+day+" https://loja.example.com in_app stored 120 "+day+" none rejected 3", "--sources")
	out, status := command(t, "delivery", "--company", live.CompanyID, "--json", "--sources")
	if status != 0 || !strings.Contains(out, `"browser": "in_app"`) || !strings.Contains(out, `"origin": null`) {
		t.Errorf("%d %s", status, out)
	}
	if out, status := command(t, "delivery", "--company", live.CompanyID, "--days", "0"); status != statusUsage ||
		!strings.Contains(out, "--days must be from 1") {
		t.Errorf("%d %s", status, out)
	}
}
