package facts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"
)

func outcome() Outcome {
	return Outcome{
		OrderID: "o", Currency: "BRL", Day: "2026-03-10", Status: 1, TotalMinor: 100,
		Credits: []Credit{{Position: 1, TouchID: "t", Channel: "Ana",
			Parts: [ModelCount]Part{{true, 0}, {true, 100}, {true, 0}, {true, 1}, {true, 2}, {true, 3}}}},
		Payout:  Payout{InfluencerID: "i", Evidence: EvidenceLink, BaseMinor: 100, CommissionMinor: 10},
		Lines:   []Line{{InfluencerID: "i", CostID: "c", AmountMinor: 10, Currency: "BRL"}},
		FoundBy: []OrderKey{{Key: RuleKey(KeyUTM, "ana"), OrderID: "o", CreatedAt: noon}},
		Hubs:    []OrderKey{{Key: Key{KeyPhone, "p"}, OrderID: "o", CreatedAt: noon, Hub: HubOfOrders}},
		Explanation: Explanation{
			Order:  ExplainedOrder{OrderID: "o", Total: "1"},
			Models: map[string][]ExplainedPart{"last": {{Channel: "Ana", Share: "1", Amount: "1"}}, "first": {}},
			Payout: ExplainedPayout{Base: "1", Commission: "0.1"},
		},
	}
}

// An equal outcome writes nothing (docs/attribution.md, "Two hops"): that is
// told by its hash, so whatever differs must show in it.
func TestEqualOutcomesAloneHaveEqualHashes(t *testing.T) {
	hash := func(o Outcome) []byte {
		t.Helper()
		stored, err := o.ToStore()
		if err != nil || len(stored.Hash) != hashLength || !json.Valid(stored.Text) || !reflect.DeepEqual(stored.Outcome, o) {
			t.Fatalf("%+v, %v", stored, err)
		}
		return stored.Hash
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
	// Each value of what the lists and the payout are made of, whatever is added to them.
	var each func(name string, of func(o *Outcome) reflect.Value)
	each = func(name string, of func(o *Outcome) reflect.Value) {
		o := outcome()
		switch v := of(&o); {
		case v.Type() == reflect.TypeFor[time.Time]():
			f(name, func(o *Outcome) { of(o).Set(reflect.ValueOf(noon.Add(time.Hour))) })
		case v.Kind() == reflect.Struct:
			for i := range v.NumField() {
				each(name+"."+v.Type().Field(i).Name, func(o *Outcome) reflect.Value { return of(o).Field(i) })
			}
		case v.Kind() == reflect.Array:
			for i := range v.Len() {
				each(fmt.Sprint(name, " ", i), func(o *Outcome) reflect.Value { return of(o).Index(i) })
			}
		case v.Kind() == reflect.String:
			f(name, func(o *Outcome) { of(o).SetString(of(o).String() + "x") })
		case v.Kind() == reflect.Bool:
			f(name, func(o *Outcome) { of(o).SetBool(!of(o).Bool()) })
		case v.CanInt():
			f(name, func(o *Outcome) { of(o).SetInt(of(o).Int() + 1) })
		default:
			t.Errorf("%s: a %s", name, v.Kind())
		}
	}
	each("a credit", func(o *Outcome) reflect.Value { return reflect.ValueOf(&o.Credits[0]).Elem() })
	each("the payout", func(o *Outcome) reflect.Value { return reflect.ValueOf(&o.Payout).Elem() })
	each("a line", func(o *Outcome) reflect.Value { return reflect.ValueOf(&o.Lines[0]).Elem() })
	each("a key", func(o *Outcome) reflect.Value { return reflect.ValueOf(&o.FoundBy[0]).Elem() })
	each("a hub", func(o *Outcome) reflect.Value { return reflect.ValueOf(&o.Hubs[0]).Elem() })
	f("a credit's amount", func(o *Outcome) { o.Credits[0].Parts[1].Minor++ })
	f("a line's cost", func(o *Outcome) { o.Lines[0].CostID = "d" })
	f("a key's hub", func(o *Outcome) { o.Hubs[0].Hub = HubOfVisitors })
	f("when a key's order was created", func(o *Outcome) { o.FoundBy[0].CreatedAt = noon.Add(time.Second) })
	f("a touch that was found", func(o *Outcome) { o.Explanation.Touches = []ExplainedTouch{{ID: "t"}} })
}

func TestAnOutcomeThatCannotBeWrittenIsNotStored(t *testing.T) {
	o := outcome()
	o.Explanation.Order.Total = "a lot"
	if stored, err := o.ToStore(); err == nil || stored.Hash != nil {
		t.Errorf("%+v, %v", stored, err)
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
		ReasonNoWinner, ReasonHidden, ReasonBase, ReasonRecurring, ReasonNoCost, ReasonTooLittle, ReasonOutOfRange,
		ReasonLinkBeatsCoupon, ReasonCouponBeatsLink, ReasonMarketplace, ReasonDirect, ReasonUnproven, ReasonAfterCheckout,
		ReasonRefused, ReasonPayoutAlone, ReasonSelfPurchase,
		ReasonTest, ReasonPaidByHand, ReasonAssigned, ReasonCodeNothing, ReasonCodeNobodys, ReasonCodeLess, ReasonCodeLater,
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
