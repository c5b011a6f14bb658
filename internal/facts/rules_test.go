package facts

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/wire"
)

func TestChangesOfRulesAreRead(t *testing.T) {
	for _, rule := range []wire.RuleType{wire.RuleInfluencer, wire.RuleCampaign, wire.RuleLink, wire.RuleCoupon, wire.RuleCost} {
		body := `{"type":"` + string(rule) +
			`","change":"archived","influencerId":"i","campaignId":"c","code":"ANA","from":"2026-03-01","to":"2026-03-31"}`
		want := Change{Rev: 7, Rule: wire.Rule{
			Type: rule, Change: wire.RuleArchived, InfluencerID: "i", CampaignID: "c", Code: "ANA", From: "2026-03-01", To: "2026-03-31",
		}}
		if got, err := ParseChange(wire.Commerce{Kind: wire.KindRule, Rev: 7, Body: json.RawMessage(body)}); err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", rule, got, err, want)
		}
	}
	// What a change of settings says beside its revision is in the store.
	for _, body := range []string{"", "null", "{}", "{"} {
		got, err := ParseChange(wire.Commerce{Kind: wire.KindSettings, Rev: 7, Body: json.RawMessage(body)})
		if want := (Change{Rev: 7, Rule: wire.Rule{Type: wire.RuleSettings}}); err != nil || got != want {
			t.Errorf("settings %q: %+v, %v; want %+v", body, got, err, want)
		}
	}
}

func TestChangesThatNobodyKnowsAreRefused(t *testing.T) {
	f := func(body string, want error) {
		t.Helper()
		_, err := ParseChange(wire.Commerce{Kind: wire.KindRule, Body: json.RawMessage(body)})
		if !errors.Is(err, want) || len(err.Error()) > 200 {
			t.Errorf("%.60s: %.200v, want %v", body, err, want)
		}
	}
	f(``, ErrNotJSON)
	f(`{`, ErrNotJSON)
	f(`{"type":1}`, ErrNotJSON)
	f(`{}`, ErrUnknownKind)
	f(`null`, ErrUnknownKind)
	f(`{"type":"Coupon"}`, ErrUnknownKind)
	f(`{"type":"settings"}`, ErrUnknownKind) // has a record of its own kind
	f(`{"type":"`+strings.Repeat("x", 1<<20)+`"}`, ErrUnknownKind)
}

// Settings are of the orders before the instant until which they were in force, and an influencer's
// own setting of those from the instant on since which it is.
func TestSettingsChangeAtTheirInstant(t *testing.T) {
	rules := Rules{Settings: Settings{HoldDays: 3},
		Past: []PastSettings{{Settings{HoldDays: 1}, noon}, {Settings{HoldDays: 2}, noon.Add(time.Hour)}}}
	own := Influencer{Unproven: []UnprovenSince{{noon, "pay"}, {noon.Add(time.Hour), ""}}}
	f := func(at time.Time, days int, unproven string) {
		t.Helper()
		if got := rules.SettingsAt(at).HoldDays; got != days {
			t.Errorf("at %s settings %d, want %d", at, got, days)
		}
		if got := own.UnprovenAt(at); got != unproven {
			t.Errorf("at %s %q, want %q", at, got, unproven)
		}
	}
	f(noon.Add(-time.Nanosecond), 1, "")
	f(noon, 2, "pay")
	f(noon.Add(time.Hour-time.Nanosecond), 2, "pay")
	f(noon.Add(time.Hour), 3, "")
}
