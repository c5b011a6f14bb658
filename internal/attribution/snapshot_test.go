package attribution

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/sdk/core"
)

// wantSameBySnapshot wants the outcome of a case by its snapshot, as it is stored, to be that by its
// events, but for what finds the order by them.
func wantSameBySnapshot(t *testing.T, name string, x *Index, c facts.Case) {
	t.Helper()
	snapshot := x.Snapshot(c, start)
	text, err := json.Marshal(snapshot.Path)
	if err != nil {
		t.Fatal(err)
	}
	read := facts.EvidenceSnapshot{OrderID: snapshot.OrderID, SnapshotAt: snapshot.SnapshotAt}
	if err := json.Unmarshal(text, &read.Path); err != nil {
		t.Fatal(err)
	}
	want := x.Decide(c)
	c.Snapshot, c.Keys, c.Visitors = &read, nil, nil
	got := x.Decide(c)
	for _, k := range got.FoundBy {
		if k.Kind == facts.KeyReached || k.Kind == facts.KeyTouch {
			t.Errorf("%s: a snapshotted order is found by %s %s", name, k.Kind, k.Value)
		}
	}
	want.FoundBy, got.FoundBy, want.Hubs, got.Hubs = nil, nil, nil, nil
	if !reflect.DeepEqual(got, want) {
		was, _ := json.Marshal(want)
		is, _ := json.Marshal(got)
		t.Errorf("%s: by its snapshot\n%s\nwant\n%s", name, is, was)
	}
	if again := x.Snapshot(c, start.Add(time.Hour)); !reflect.DeepEqual(again, read) {
		t.Errorf("%s: snapshotted again it is another snapshot", name)
	}
}

func TestEventsAreKeptAsLongAsOrdersReadThem(t *testing.T) {
	t.Parallel()
	day := 24 * time.Hour
	now := time.Date(2026, 6, 10, 15, 0, 0, 0, time.UTC)
	f := func(want string, change func(r *facts.Rules)) {
		t.Helper()
		x := shop(change)
		from := x.RetainFrom(now)
		got := ""
		if !from.IsZero() {
			got = from.Format(time.DateTime)
		}
		if got != want {
			t.Errorf("events are kept from %s, want %s", got, want)
		}
		for _, span := range x.Reading(from) {
			if youngest := span.To.Add(-time.Second); span.To.After(now.Add(-9*day)) && !from.IsZero() {
				t.Errorf("an order of %v would be snapshotted", youngest)
			}
		}
	}
	f("", func(r *facts.Rules) { r.Window = 30 * day })
	f("2026-03-12 00:00:00", func(r *facts.Rules) { r.Window, r.RetentionDays = 30*day, 90 })
	past := func(until time.Time, window time.Duration) facts.PastSettings {
		p := facts.PastSettings{Until: until}
		p.Window = window
		return p
	}
	f("2026-03-12 00:00:00", func(r *facts.Rules) { // its orders are old enough
		r.Window, r.RetentionDays, r.Past = 30*day, 90, []facts.PastSettings{past(now.Add(-80*day), 365*day)}
	})
	f("2025-06-30 00:00:00", func(r *facts.Rules) { // its last orders are younger than ten days
		r.Window, r.RetentionDays, r.Past = 30*day, 90, []facts.PastSettings{past(now.Add(-9*day), 335*day)}
	})
}

// Anybody may make touches in a customer's name, also very many that become one. None of
// them takes a touch that counts from a snapshot.
func TestStrangersTakeNoTouchFromASnapshot(t *testing.T) {
	t.Parallel()
	const stranger = "0195b2c0-51ce-4a37-9d42-7e8f01b3c609"
	flooded := func(page func(n int) string) facts.Case {
		c := sale(nil)
		c.Order.EmailKey = wire.Some("k1:e")
		flood := facts.Visitor{ID: stranger}
		for n := range 2*claimedTouches + 10 {
			e := at(10, page(n))
			e.EventID, e.At = fmt.Sprintf("0195b2c0-0000-7000-8000-%012d", n), start.Add(10*time.Minute+time.Duration(n)*time.Millisecond)
			flood.Events = append(flood.Events, e)
		}
		c.Keys = []facts.KeyReach{{Key: facts.Key{Kind: facts.KeyEmail, Value: "k1:e"}, Visitors: []string{shopper, stranger}, Orders: 1}}
		c.Visitors = []facts.Visitor{{ID: shopper, Events: []facts.Event{at(0, "/?utm_campaign=ana")}}, flood}
		return c
	}
	c := flooded(func(n int) string { return "/?trb_click=" + []string{"xyz.1", "xyz.2"}[n%2] })
	if touches := len(shop(nil).Decide(c).Explanation.Touches); touches != 3 {
		t.Fatalf("%d touches, want the shopper's and two clicks", touches)
	}
	pays := shop(func(r *facts.Rules) { r.Unproven = commerce.UnprovenPay })
	if p := pays.Decide(c).Payout; p.CampaignID != "ver" {
		t.Fatalf("%+v: want that of the clicks", p)
	}
	wantSameBySnapshot(t, "two clicks again and again", pays, c)
	began := &c.Visitors[1].Events[claimedTouches].Event.Event
	*began = core.InitiateCheckout // they go on after it
	if p := pays.Decide(c).Payout; p.CampaignID != "ver" {
		t.Fatalf("%+v: the clicks first came before the checkout", p)
	}
	wantSameBySnapshot(t, "clicks before and in the checkout", pays, c)
	c.Visitors[1].Events[0] = at(10, "/checkout")
	c.Visitors[1].Events[0].Event.Event = core.InitiateCheckout
	if p := pays.Decide(c).Payout; p.CampaignID != "" {
		t.Fatalf("%+v: the clicks came in the checkout", p)
	}
	wantSameBySnapshot(t, "clicks in the checkout", pays, c)
	c = flooded(func(n int) string { return fmt.Sprint("/?utm_campaign=beto&utm_term=", n) })
	wantSameBySnapshot(t, "many touches of another", shop(nil), c)
	c.Decisions = facts.Decisions{{InfluencerID: "ana", Decision: commerce.EvidenceAccept, Rev: 3, AcceptedAt: start.Add(24 * time.Hour)}}
	if p := shop(nil).Decide(c).Payout; p.InfluencerID != "ana" || p.State != facts.PayoutEarned {
		t.Fatalf("%+v", p)
	}
	wantSameBySnapshot(t, "what the merchant accepted", shop(nil), c)
}
