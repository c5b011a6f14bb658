package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/test/await"
)

// A fence of this page says "rejected" where an event is, and "warnings" where one is warned of.
func TestEveryCurlOfTheEventsPageWorks(t *testing.T) {
	t.Parallel()
	// A dev of its own: where other tests make stores, the edge answers of an unknown one that it still reads (503).
	fences, output := startDev(t, dataDir(t), "--empty").runPage(t, "events.md")
	if n := countCurls(fences); n < 14 {
		t.Errorf("the page has %d curls: some form of sending is missing", n)
	}
	for _, f := range fences {
		if rejected := strings.Contains(f.output, `"status":"rejected"`); rejected != slices.Contains(f.info, "rejected") {
			t.Errorf("an event rejected: %v, the page says otherwise:\n%s%s", rejected, f.script, f.output)
		}
		if warned := strings.Contains(f.output, `"warnings":[`); warned != slices.Contains(f.info, "warnings") {
			t.Errorf("an event warned of: %v, the page says otherwise:\n%s%s", warned, f.script, f.output)
		}
	}
	wantAll(t, output,
		`{"results":[{"eventId":"019cf15e-1200-7000-8000-000000000001","status":"ok"}],"durability":"kafka","request_id":"`,
		`{"results":[{"eventId":"019cf15e-1200-7000-8000-000000000001","status":"duplicate"}]`,
		`"code":"payload_items_required","message":"payload.items must be an array of at least one item"}`,
		`"status":"ok","warnings":[{"field":"visitor_id","code":"unknown_field","message":"is not known here and was not read; did you mean `+
			`visitorId?"},`+
			`{"field":"payload.contents","code":"unknown_field","message":"is not known here and was not read; did you mean payload.items?"},`+
			`{"field":"identity.email","code":"invalid_value","message":"is no e-mail address; it is ignored"}]}]`,
		`"code":"unknown_field","message":"identity.customerId is not known here and was not read; did you mean customer_id?"}`,
		"unknown_company", "company_id_required", "unsupported_media_type", "origin_not_allowed",
		"Access-Control-Allow-Methods: POST",
		"2 lines, 2 accepted (0 of them known already), 0 rejected")
}

// A history that is imported again changes nothing, also if its lines have no ids
// and no versions, and does not undo what was posted since.
func TestHistoryWithoutIDsAndVersionsMayBeImportedAgain(t *testing.T) {
	t.Parallel()
	d := newShop(t)
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
	orders := write("orders.jsonl",
		`{"orderId":"h-1","orderStatus":0,"createdAt":"2026-03-15T12:00:00Z","updatedAt":null,"totalPrice":200.10,"currency":"BRL"}`+"\n")
	importBoth := func() {
		t.Helper()
		for _, args := range [][]string{
			{"import", "events", events, "--edge", d.EdgeURL, "--company", d.CompanyID, "--key", d.APIKey},
			{"import", "orders", orders, "--admin", d.AdminURL, "--key", d.APIKey},
		} {
			if out, status := runToEnd(t, args...); status != 0 {
				t.Fatalf("tributary %v: exit status %d\n%s", args, status, out)
			}
		}
	}
	state := func() (got string) {
		d.query(t, []any{&got}, `select coalesce((select count(*) from event_fact where company_id = $1), 0)
			|| ' events, status ' || coalesce((select string_agg(status || ' total ' || total_minor, ',') from orders where company_id = $1
				and order_id = 'h-1'), 'none')`, d.CompanyID)
		return got
	}
	becomes := func(want string) {
		t.Helper()
		var got string
		await.Until(t, await.Long, func() bool { got = state(); return got == want },
			func() string { return fmt.Sprintf("%s, want %s", got, want) })
	}
	var got answer
	await.Until(t, await.Long, func() (known bool) { // the edge learns of a new key a moment later
		var err error
		got, err = call(t.Context(), "POST", d.EdgeURL+"/v1/events", d.APIKey,
			map[string]any{"companyId": d.CompanyID, "events": []any{map[string]any{"event": ""}}})
		return err == nil && got.status == 200
	}, func() string { return fmt.Sprintf("the edge does not know the key: %d %s", got.status, got.body) })
	importBoth()
	becomes("2 events, status 0 total 20010")

	cancelled := map[string]any{"orderId": "h-1", "orderStatus": 2, "createdAt": "2026-03-15T12:00:00Z",
		"totalPrice": 200.10, "currency": "BRL"}
	mustCall(t, "POST", d.AdminURL+"/order", d.APIKey, cancelled, nil)
	becomes("2 events, status 2 total 20010")

	importBoth()
	mustCall(t, "POST", d.AdminURL+"/order", d.APIKey, order("after", "1.00", ""), nil)
	d.explain(t, "after", nil) // the log is read in order: what came before it is applied
	becomes("2 events, status 2 total 20010")
}
