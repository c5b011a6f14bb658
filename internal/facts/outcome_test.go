package facts

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"time"
)

func outcome() Outcome {
	return Outcome{
		OrderID: "o", Currency: "BRL", Day: "2026-03-10", Status: 1, TotalMinor: 100,
		Credits: []Credit{{Position: 1, TouchID: "t", Channel: "Ana", Parts: [ModelCount]Part{1: {true, 100}}}},
		Payout:  Payout{InfluencerID: "i", Evidence: EvidenceLink, BaseMinor: 100, CommissionMinor: 10},
		Lines:   []Line{{InfluencerID: "i", CostID: "c", AmountMinor: 10, Currency: "BRL"}},
		FoundBy: []OrderKey{{Key: RuleKey(KeyUTM, "ana"), OrderID: "o", CreatedAt: noon}},
		Hubs:    []OrderKey{{Key: Key{KeyPhone, "p"}, OrderID: "o", CreatedAt: noon, Hub: HubOfOrders}},
		Explanation: Explanation{
			Order: ExplainedOrder{OrderID: "o", Total: "1"}, Models: map[string][]ExplainedPart{"last": {{Channel: "Ana", Share: "1", Amount: "1"}}, "first": {}},
			Payout: ExplainedPayout{Base: "1", Commission: "0.1"},
		},
	}
}

// An equal outcome writes nothing (docs/attribution.md, "Two hops"): that is
// told by its hash, so whatever differs must show in it.
func TestEqualOutcomesAloneHaveEqualHashes(t *testing.T) {
	hash := func(o Outcome) []byte {
		t.Helper()
		sum, err := o.Hash()
		if err != nil || len(sum) != 32 {
			t.Fatalf("%x, %v", sum, err)
		}
		return sum
	}
	want := hash(outcome())
	for range 20 {
		if !bytes.Equal(hash(outcome()), want) {
			t.Fatal("equal outcomes have two hashes")
		}
	}
	f := func(name string, change func(o *Outcome)) {
		t.Helper()
		o := outcome()
		change(&o)
		if bytes.Equal(hash(o), want) {
			t.Errorf("%s is not in the hash", name)
		}
	}
	for i := range reflect.TypeFor[Outcome]().NumField() {
		f(reflect.TypeFor[Outcome]().Field(i).Name, func(o *Outcome) { reflect.ValueOf(o).Elem().Field(i).SetZero() })
	}
	f("a credit's amount", func(o *Outcome) { o.Credits[0].Parts[1].Minor++ })
	f("a part of nothing", func(o *Outcome) { o.Credits[0].Parts[0].Given = true })
	f("a line's cost", func(o *Outcome) { o.Lines[0].CostID = "d" })
	f("a key's hub", func(o *Outcome) { o.Hubs[0].Hub = HubOfVisitors })
	f("when a key's order was created", func(o *Outcome) { o.FoundBy[0].CreatedAt = noon.Add(time.Second) })
	f("a touch that was found", func(o *Outcome) { o.Explanation.Touches = []ExplainedTouch{{ID: "t"}} })
}

func TestAnOutcomeThatCannotBeWrittenHasNoHash(t *testing.T) {
	o := outcome()
	o.Explanation.Order.Total = "a lot"
	if sum, err := o.Hash(); err == nil || sum != nil {
		t.Errorf("%x, %v", sum, err)
	}
}

func TestNumbersOfAnExplanationHaveAtMostTheirCurrencysDigits(t *testing.T) {
	f := func(minor int64, currency string, want json.Number) {
		t.Helper()
		if got := Number(minor, currency); got != want {
			t.Errorf("%d %s is %s, want %s", minor, currency, got, want)
		}
		if _, err := json.Marshal(Number(minor, currency)); err != nil {
			t.Error(err)
		}
	}
	f(0, "BRL", "0")
	f(1, "BRL", "0.01")
	f(10, "BRL", "0.1")
	f(-10005, "BRL", "-100.05")
	f(10000, "BRL", "100")
	f(10000, "JPY", "10000")
	f(1234, "KWD", "1.234")
	f(-1<<63, "BRL", "-92233720368547758.08")
}

func TestEachReasonHasWordsOfItsOwn(t *testing.T) {
	reasons := []Reason{
		ReasonNoWinner, ReasonBase, ReasonRecurring, ReasonNoCost, ReasonTooLittle, ReasonOutOfRange,
		ReasonLinkBeatsCoupon, ReasonCouponBeatsLink, ReasonMarketplace, ReasonDirect, ReasonUnproven, ReasonAfterCheckout, ReasonRefused, ReasonPayoutAlone,
	}
	seen := map[string]bool{}
	for _, r := range reasons {
		if words := r.Words(); words == "" || seen[words] {
			t.Errorf("%s: %q", r, words)
		}
		seen[r.Words()] = true
	}
	if len(reasonWords) != len(reasons) {
		t.Errorf("%d reasons have words, %d are named here", len(reasonWords), len(reasons))
	}
	for _, none := range []Reason{"", "other"} {
		if none.Words() != "" {
			t.Errorf("%q: %q", none, none.Words())
		}
	}
}
