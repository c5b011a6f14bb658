package facts

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/internal/wire"
)

func TestChangesOfRulesAreRead(t *testing.T) {
	for _, rule := range []wire.RuleType{wire.RuleInfluencer, wire.RuleCampaign, wire.RuleLink, wire.RuleCoupon, wire.RuleCost} {
		body := `{"type":"` + string(rule) + `","change":"archived","influencerId":"i","campaignId":"c","code":"ANA","from":"2026-03-01","to":"2026-03-31"}`
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
