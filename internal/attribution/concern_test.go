package attribution

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
)

// told writes spans of keys, one a line, with their instants as hours after
// start.
func told(spans []facts.KeySpan) string {
	hours := func(t time.Time) string {
		switch t {
		case ever:
			return "ever"
		case forEver:
			return "for ever"
		}
		return fmt.Sprintf("%gh", t.Sub(start).Hours())
	}
	var lines []string
	for _, s := range spans {
		hub := map[facts.Hub]string{facts.HubOfVisitors: " of too many visitors"}[s.Hub]
		lines = append(lines, fmt.Sprintf("%s=%s%s %s to %s", s.Kind, s.Value, hub, hours(s.From), hours(s.To)))
	}
	return strings.Join(lines, "\n")
}

func expect(t *testing.T, name, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
	}
}

// docs/notes/attribution.md, "What is computed again": orders created from
// 2 days before an event until a window and a day after it.
func TestOrdersAroundAnEvent(t *testing.T) {
	for _, days := range []int{1, 30, 365} {
		x := testIndex(func(r *facts.Rules) { r.Window = time.Duration(days) * day })
		from, to := x.OrdersAround(start, start.Add(time.Hour))
		if from != start.Add(-2*day) || to != start.Add(time.Hour+time.Duration(days+1)*day) {
			t.Errorf("window of %d days: %s to %s", days, from, to)
		}
		from, to = x.OrdersSharing(start, start.Add(time.Hour))
		if from != start.Add(-day) || to != start.Add(time.Hour+time.Duration(days)*day) {
			t.Errorf("window of %d days: hubs are counted from %s to %s", days, from, to)
		}
	}
}

// An order's interval is from its window before it to a day after it. Whenever
// one order is in the interval of another, each search finds the other order.
func TestOrdersThatShareHubsFindEachOther(t *testing.T) {
	x := testIndex(func(r *facts.Rules) { r.Window = 2 * day })
	for hours := -100; hours <= 100; hours++ {
		moved, other := start, start.Add(time.Duration(hours)*time.Hour)
		counted := !moved.Before(other.Add(-2*day)) && !moved.After(other.Add(day))
		from, to := x.OrdersSharing(moved, moved)
		if found := !other.Before(from) && !other.After(to); found != counted {
			t.Errorf("an order %d hours later: found %t, counts %t", hours, found, counted)
		}
	}
}

func TestWhatEventsConcern(t *testing.T) {
	x := testIndex(nil)
	event := func(visitor string, hour int, change func(e *facts.Event)) facts.Event {
		e := facts.Event{At: start.Add(time.Duration(hour) * time.Hour), Visitor: visitor}
		e.VisitorID = visitor
		if change != nil {
			change(&e)
		}
		return e
	}
	mail := func(e *facts.Event) { e.Identity.EmailKey = "m" }
	f := func(name, want string, events ...facts.Event) {
		t.Helper()
		expect(t, name, told(x.ConcernedByEvents(events)), want)
	}
	f("nothing", "")
	f("a visitor", "reached=v -48h to 744h\nuser=v -48h to 744h", event("v", 0, nil))
	f("its keys too", "reached=v -48h to 744h\nemail=m -48h to 744h\nuser=v -48h to 744h", event("v", 0, mail))
	f("each key once, over all its events",
		"reached=v -51h to 754h\nemail=m -51h to 754h\nuser=v -51h to 754h\nreached=w -48h to 744h\nuser=w -48h to 744h",
		event("v", 0, mail), event("v", -3, mail), event("w", 0, nil), event("v", 10, mail))
	network := event("v", 0, func(e *facts.Event) {
		e.Identity.EmailKey, e.NetKey, e.ReceivedAt = "m", "n", start.Add(30*time.Minute)
	})
	if text := told(x.ConcernedByEvents([]facts.Event{network})); !strings.Contains(text, " -1h to 3h") {
		t.Errorf("a network by the hour of receipt: %s", text)
	}
	f("a backend's, of a shopper who is logged in",
		"reached=v -48h to 744h\nemail=m -48h to 744h\nuser=v -48h to 744h\nemail=m of too many visitors -48h to 744h\nuser=v of too many "+
			"visitors -48h to 744h",
		event("v", 0, func(e *facts.Event) { mail(e); e.Trust, e.Identity.Verified = wire.TrustKey, true }))
	f("bots concern nobody", "", event("v", 0, func(e *facts.Event) { e.Bot = wire.BotPreview }))
	f("nor do events of nobody", "", event("", 0, mail))
}

// What was a hub may not be one any more when an event is replaced by another copy.
func TestWhatLostObservationsConcern(t *testing.T) {
	x := testIndex(nil)
	midnight := start.Add(-12 * time.Hour)
	f := func(name, want string, days []facts.VisitorDay, lost ...facts.Key) {
		t.Helper()
		expect(t, name, told(x.ConcernedByReplacedCopies(days, lost, nil)), want)
	}
	mail := facts.Key{Kind: facts.KeyEmail, Value: "m"}
	f("nothing", "", nil)
	f("a key without a day", "", nil, mail)
	f("a visitor's day", "reached=v -60h to 756h\nuser=v -60h to 756h", []facts.VisitorDay{{Visitor: "v", Day: midnight}})
	f("keys on all days", "reached=v -60h to 756h\nuser=v -60h to 756h\nreached=w -84h to 780h\nuser=w -84h to 780h\nemail=m -84h to 780h",
		[]facts.VisitorDay{{Visitor: "v", Day: midnight}, {Visitor: "w", Day: midnight.Add(-day)}, {Visitor: "w", Day: midnight.Add(day)}}, mail)
	replaced := []facts.Event{{Event: wire.Event{EventID: "e"}}}
	if text := told(x.ConcernedByReplacedCopies([]facts.VisitorDay{{Visitor: "v", Day: midnight}}, nil, replaced)); !strings.Contains(text,
		"touch=e ") {
		t.Errorf("an event that a decision may have accepted: %s", text)
	}
	f("in any order", "reached=w -84h to 780h\nuser=w -84h to 780h\nemail=m -84h to 780h",
		[]facts.VisitorDay{{Visitor: "w", Day: midnight.Add(day)}, {Visitor: "w", Day: midnight.Add(-day)}}, mail)
}

func TestWhatEachTypeOfChangeConcerns(t *testing.T) {
	key := func(kind facts.KeyKind, text string) string {
		return string(kind) + "=" + facts.RuleKey(kind, text).Value
	}
	f := func(name string, rule wire.Rule, want string) {
		t.Helper()
		x := shop(nil)
		got, err := x.ConcernedByChange(facts.Change{Rule: rule})
		if err != nil {
			t.Fatal(err)
		}
		text := told(got.Keys)
		if got.All {
			text = told([]facts.KeySpan{{Key: facts.Key{Kind: "all"}, From: got.From, To: got.To}})
		}
		expect(t, name, text, want)
	}
	const always = " ever to for ever"
	ana := "influencer=ana" + always + "\n" + key(facts.KeyUTM, "ana") + always + "\n" + key(facts.KeyLink, "xyz") + always + "\n" +
		key(facts.KeyCode, "ANA10") + always
	f("settings: all orders", wire.Rule{Type: wire.RuleSettings}, "all="+always)
	f("settings: all orders of its days", wire.Rule{Type: wire.RuleSettings, From: "2026-03-01", To: "2026-03-01"}, "all= -36h to 36h")
	f("a coupon: its code", wire.Rule{Type: wire.RuleCoupon, InfluencerID: "ana", Code: " ana10 "}, key(facts.KeyCode, "ANA10")+always)
	f("a coupon: its code on its days", wire.Rule{Type: wire.RuleCoupon, Code: "X", From: "2026-03-01", To: "2026-03-02"},
		key(facts.KeyCode, "X")+" -36h to 60h")
	f("a cost: its influencer", wire.Rule{Type: wire.RuleCost, InfluencerID: "ana"}, "influencer=ana"+always)
	f("a cost: its influencer from a day on", wire.Rule{Type: wire.RuleCost, InfluencerID: "ana", From: "2026-03-02"},
		"influencer=ana -12h to for ever")
	f("a cost: its influencer until a day", wire.Rule{Type: wire.RuleCost, InfluencerID: "ana", To: "2026-03-02"},
		"influencer=ana ever to 60h")
	f("an influencer: all that names it", wire.Rule{Type: wire.RuleInfluencer, InfluencerID: "ana"}, ana)
	f("an influencer: on any day", wire.Rule{Type: wire.RuleInfluencer, InfluencerID: "ana", From: "2026-03-01", To: "2026-03-02"}, ana)
	f("a campaign: all that names its influencer", wire.Rule{Type: wire.RuleCampaign, InfluencerID: "ana", CampaignID: "inv"}, ana)
	f("a link: all that names its influencer", wire.Rule{Type: wire.RuleLink, InfluencerID: "ana"}, ana)
	f("another influencer: its own alone", wire.Rule{Type: wire.RuleInfluencer, InfluencerID: "beto"},
		"influencer=beto"+always+"\n"+key(facts.KeyUTM, "beto")+always+"\n"+key(facts.KeyCode, "BETO")+always)
	f("an influencer that is not there any more", wire.Rule{Type: wire.RuleInfluencer, InfluencerID: "gone"}, "influencer=gone"+always)
}

func TestAChangeOfAnUnknownTypeIsRejected(t *testing.T) {
	for _, kind := range []wire.RuleType{"", "Coupon", "statement"} {
		if got, err := shop(nil).ConcernedByChange(facts.Change{Rule: wire.Rule{Type: kind, Code: "ANA10"}}); !errors.Is(err,
			facts.ErrUnknownKind) || len(got.Keys) != 0 || got.All {
			t.Errorf("%q: %+v, %v", kind, got, err)
		}
	}
}

// Whatever the store's time zone, the instants of a rule's days lie in its span.
func TestSpansOfDaysHoldThemInEachTimeZone(t *testing.T) {
	from, to := spanOfDays("2026-03-01", "2026-03-02")
	for _, hours := range []int{-12, -3, 0, 5, 14} {
		zone := time.FixedZone("", hours*60*60)
		first, end := time.Date(2026, 3, 1, 0, 0, 0, 0, zone), time.Date(2026, 3, 3, 0, 0, 0, 0, zone)
		if first.Before(from) || end.After(to) {
			t.Errorf("UTC%+d: %s to %s is not within %s to %s", hours, first, end, from, to)
		}
	}
}

func TestKeysOfAnOrderAreItsJoinKeysAndCodes(t *testing.T) {
	o := wire.Order{OrderID: "o1", CreatedAt: start, PhoneKey: wire.Some("p"), CartKey: wire.Some("c"), DiscountCode: wire.Some("ana10;beto")}
	want := []facts.Key{
		{Kind: facts.KeyCart, Value: "c"}, {Kind: facts.KeyPhone, Value: "p"},
		facts.RuleKey(facts.KeyCode, "ANA10;BETO"), facts.RuleKey(facts.KeyCode, "ANA10"), facts.RuleKey(facts.KeyCode, "BETO"),
	}
	var got []facts.Key
	for _, k := range KeysOfOrder(&o) {
		if k.OrderID != "o1" || k.CreatedAt != start || k.Hub != facts.NoHub || !slices.Contains(facts.OrderKinds, k.Kind) {
			t.Errorf("%+v", k)
		}
		got = append(got, k.Key)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if keys := KeysOfOrder(&wire.Order{OrderID: "o1"}); len(keys) != 0 {
		t.Errorf("%v of an order that says nothing", keys)
	}
}
