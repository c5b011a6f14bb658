package money

import (
	"testing"
	"time"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
)

// A form that undoes a decision knows about whom it was, where that is one.
func TestAboutWhomADecisionWas(t *testing.T) {
	t.Parallel()
	f := func(explanation, want string) {
		t.Helper()
		if got := decidedOne([]byte(explanation)); got != want {
			t.Errorf("%s: %q, want %q", explanation, got, want)
		}
	}
	f(``, "")
	f(`{"decisions":[]}`, "")
	f(`{"decisions":[{"influencer_id":"i1"},{"influencer_id":"i1"}]}`, "i1")
	f(`{"decisions":[{"influencer_id":"i1"},{"influencer_id":"i2"},{"influencer_id":"i2"}]}`, "")
}

func TestWhyNobodyIsCreditedIsSaid(t *testing.T) {
	t.Parallel()
	languages, err := site.LoadTexts()
	if err != nil {
		t.Fatal(err)
	}
	l := languages.Of("en")
	f := func(x facts.Explanation, verdict, keys string) {
		t.Helper()
		var p orderPage
		p.explain(l, x, commerce.Sale{Currency: "BRL"}, time.UTC)
		if p.Verdict != verdict || p.NoKeys != keys {
			t.Errorf("%q\n%q", p.Verdict, p.NoKeys)
		}
	}
	nothing := l.T("order.no_keys")
	f(facts.Explanation{}, l.T("verdict.nobody"), nothing)
	f(facts.Explanation{Decisions: []facts.ExplainedDecision{{Decision: commerce.DisputeDeny}}}, l.T("verdict.denied"), nothing)
	keys := []facts.ExplainedKey{{Kind: facts.KeyEmail}, {Kind: facts.KeyPhone}, {Kind: facts.KeyEmail}}
	f(facts.Explanation{Keys: keys}, l.T("verdict.nobody"),
		"The order has E-mail and Phone, but no visit was seen with it. Without a visit only a coupon can credit it.")
}
