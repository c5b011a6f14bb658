package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tributary-io/tributary/test/await"
)

// TestEachEventIsCountedOnceOnARealKafka: sent twice, late, lost in the middle, given up and
// rejected, over kills of the edge and the processor, and when the topic is read again.
func TestEachEventIsCountedOnceOnARealKafka(t *testing.T) {
	f := startFleet(t)
	stream := uuid.NewString()
	now := time.Now().UTC()
	newID := func() string { return uuid.Must(uuid.NewV7()).String() }
	event := func(seq int) map[string]any {
		return map[string]any{"eventId": newID(), "event": "PAGE_VIEW", "timestamp": now.Format(time.RFC3339), "stream": stream, "seq": seq}
	}
	batch := func(dropped map[string]int, events ...map[string]any) string {
		text, err := json.Marshal(map[string]any{"companyId": f.companyID, "events": events, "dropped": dropped})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	post := func(body string) {
		t.Helper()
		await.Until(t, await.Long, func() bool { // as an SDK does: the edge may just be starting
			got, err := call(t.Context(), http.MethodPost, f.edgeURL+"/v1/events", "", body)
			return err == nil && got.status == http.StatusOK
		}, func() string { return "not accepted: " + body })
	}
	counted := func() []string {
		var list []string
		queryOne(t, f.dsn, []any{&list}, `select coalesce(array_agg(outcome || ' ' || n order by outcome), '{}') from
			(select outcome, sum(events) as n from delivery where company_id = $1 group by outcome having sum(events) <> 0) d`, f.companyID)
		return list
	}
	wants := func(what string, want ...string) {
		t.Helper()
		await.Until(t, await.Long, func() bool {
			return slices.Equal(counted(), want)
		}, func() string { return fmt.Sprintf("%s: %q, want %q", what, counted(), want) })
	}

	first := batch(nil, event(1), event(2))
	post(first)
	post(first)                // the edge knows both
	post(batch(nil, event(4))) // 3 is lost
	third := event(3)
	late := event(5)
	late["timestamp"] = now.Add(-10 * 24 * time.Hour).Format(time.RFC3339)
	bad := event(6)
	bad["event"] = "no name"
	post(batch(nil, late, bad))
	last := batch(map[string]int{"queue_full": 3}, event(10)) // 7 to 9
	post(last)
	wants("before", "dropped:queue_full 3", "duplicate 2", "late 1", "missing 1", "rejected:invalid_event_name 1", "stored 5")

	f.edge.kill(t) // it forgets what it has acknowledged
	f.startEdge(t)
	f.waitReady(t, f.edgeURL+"/readyz")
	post(first)
	post(last)
	post(batch(nil, bad))
	f.processor.kill(t)
	post(batch(nil, event(11)))
	f.startProcessor(t)
	after := []string{"dropped:queue_full 3", "duplicate 5", "late 1", "missing 1", "rejected:invalid_event_name 1", "stored 6"}
	wants("sent again", after...)

	f.processor.kill(t)
	var gone int
	queryOne(t, f.dsn, []any{&gone}, `with d as (delete from consumer_offset returning 1) select count(*) from d`)
	f.startProcessor(t)
	post(batch(nil, third)) // it comes after all; what is read again is before it
	wants("read again", "dropped:queue_full 3", "duplicate 5", "late 1", "rejected:invalid_event_name 1", "stored 7")

	shown := f.run(t, "delivery", "--company", f.companyID, "--days", "2", "--csv")
	for _, line := range []string{"dropped,queue_full,3,0", "late,,1,0", "rejected,invalid_event_name,1,0"} {
		if !strings.Contains(shown, line) {
			t.Errorf("%s is not in\n%s", line, shown)
		}
	}
	got, err := call(t.Context(), http.MethodGet,
		fmt.Sprintf("%s/reports/delivery?start_date=%s&end_date=%s&by=total", f.adminURL, now.Format(time.DateOnly),
			now.AddDate(0, 0, 1).Format(time.DateOnly)), f.key, nil)
	if err != nil || got.status != http.StatusOK ||
		!strings.Contains(string(got.body), `"outcome":"dropped","reason":"queue_full","events":3,"streams":0`) {
		t.Errorf("%v %d %s", err, got.status, got.body)
	}
}
