package attribution

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/sdk/core"
)

var update = flag.Bool("update", false, "write the golden explanations anew; look at the difference")

// A golden explanation for each kind of decision: testdata/explanations has one file
// for each, as the processor stores it.
func TestExplanationsOfEachKindOfDecision(t *testing.T) {
	const dir = "testdata/explanations"
	seen := map[string]bool{}
	f := func(name string, x *Index, c facts.Case) {
		t.Helper()
		c.ApprovedSince = c.Order.CreatedAt
		wantSameBySnapshot(t, name, x, c)
		text, err := json.MarshalIndent(x.Decide(c).Explanation, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, '\n')
		path := filepath.Join(dir, name+".json")
		seen[name+".json"] = true
		if *update {
			if err := os.WriteFile(path, text, 0o644); err != nil {
				t.Fatal(err)
			}
			return
		}
		want, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(text, want) {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, text, want)
		}
	}
	viaAna, viaBeto := at(0, "/?utm_source=ig&utm_campaign=ana&utm_content=inverno"), at(5, "/?utm_campaign=BETO")
	began := at(10, "/checkout")
	began.Event.Event = core.InitiateCheckout
	late := at(20, "/?utm_source=ext&utm_campaign=ana")
	decided := func(c facts.Case, decision string) facts.Case {
		c.Decisions = facts.Decisions{{InfluencerID: "ana", Decision: decision, AcceptedAt: start.Add(2 * time.Hour)}}
		return c
	}
	plain := shop(nil)

	f("earned_by_link", plain, sale(nil, viaAna, at(40, "/ < https://www.google.com/")))
	f("earned_by_coupon", plain, sale(code("beto")))
	f("earned_by_coupon_beside_a_link", plain, sale(code("BETO"), viaAna))
	f("earned_by_link_beside_a_coupon", shop(func(r *facts.Rules) { r.PayoutRule = facts.LastTouch }), sale(code("BETO"), viaAna))
	f("earned_by_the_orders_own_campaign", plain, sale(func(o *wire.Order) { o.UTMSource, o.UTMCampaign = wire.Some("ig"), wire.Some("Ana") }))
	f("earned_in_two_currencies", plain, sale(func(o *wire.Order) { o.Currency, o.DiscountCode = "USD", wire.Some("BETO") }))
	f("earned_though_nothing_proves_it", shop(func(r *facts.Rules) { r.Unproven = commerce.UnprovenPay }), claimed(sale(nil, viaAna)))
	f("earned_after_a_decision", plain, decided(claimed(sale(nil, viaAna)), commerce.EvidenceAccept))
	f("expected", plain, sale(status(commerce.OrderPending), viaAna))
	f("reversed", plain, sale(status(commerce.OrderCancelled), viaAna))
	f("review_unproven", plain, claimed(sale(nil, viaAna)))
	f("review_after_checkout", plain, sale(nil, began, late))
	ownUTM := func(name string) func(*wire.Order) {
		return func(o *wire.Order) { o.UTMSource, o.UTMCampaign = wire.Some("ig"), wire.Some(name) }
	}
	f("earned_by_the_orders_own_campaign_before_a_late_link", plain, sale(ownUTM("Ana"), began, at(20, "/?utm_source=ext&utm_campaign=beto")))
	f("review_after_checkout_with_its_own_campaign", plain, sale(ownUTM("Ana"), began, late))
	f("none_refused", plain, decided(sale(nil, viaAna), commerce.EvidenceRefuse))
	f("none_ignored", shop(func(r *facts.Rules) { r.Unproven = commerce.UnprovenIgnore }), claimed(sale(nil, viaAna)))
	f("none_nobody", plain, sale(nil, at(0, "/")))
	f("none_cut_by_a_limit", plain, func() facts.Case {
		c := sale(nil, viaAna)
		c.Visitors[0].Carts = hubCarts + 1
		c.Keys = append(c.Keys, facts.KeyReach{Key: facts.Key{Kind: facts.KeyPhone, Value: "k1:p"}, Orders: hubOrders + 1})
		return c
	}())
	f("none_claims_hidden", plain, hidden(claimed(sale(nil, viaAna))))
	f("none_marketplace", plain, sale(func(o *wire.Order) { o.Source = wire.Some(commerce.SourceMarketplace) }, viaAna))
	f("none_base_not_positive", plain, sale(func(o *wire.Order) { o.ShippingMinor = wire.Some(o.TotalMinor) }, viaAna))
	f("none_recurring_excluded", plain, sale(func(o *wire.Order) { o.IsRecurring = wire.Some(true) }, viaAna))
	f("none_no_agreement", plain, sale(nil, viaBeto))
	f("none_below_minor_unit", plain, sale(func(o *wire.Order) { o.TotalMinor = 1 }, viaAna))
	f("none_test_order", plain, sale(func(o *wire.Order) { o.Test = wire.Some(true) }, viaAna))
	f("none_paid_by_hand", plain, sale(func(o *wire.Order) { o.NoCommission = wire.Some(true) }, viaAna))
	taxed := func(o *wire.Order) {
		o.TotalMinor, o.ShippingMinor, o.TaxMinor = 13900, wire.Some(int64(2000)), wire.Some(int64(1900))
	}
	f("earned_on_a_base_with_tax", plain, sale(taxed, viaAna))
	f("earned_on_a_base_without_tax", shop(func(r *facts.Rules) { r.WithoutTax = true }), sale(taxed, viaAna))
	f("earned_by_one_of_two_coupons", plain, sale(func(o *wire.Order) {
		o.DiscountCodes = wire.Some([]wire.DiscountCode{{Code: "Other", AmountMinor: wire.Some(int64(900))},
			{Code: "beto", AmountMinor: wire.Some(int64(500))}, {Code: "ana10", AmountMinor: wire.Some(int64(700))}})
	}, viaAna))
	f("earned_with_a_refund", plain, sale(func(o *wire.Order) {
		o.Refunds = wire.Some([]wire.Refund{{ID: "r1", AmountMinor: 1000, CreatedAt: "2026-03-11T00:00:00Z", Reason: "damaged",
			Items: []wire.RefundItem{{ItemID: "a", Quantity: 1}}}})
	}, viaAna))
	f("review_self_purchase_by_coupon", knowsAna(commerce.SelfPurchaseReview), sale(byAna(code("ANA10"))))
	f("review_self_purchase_by_link", knowsAna(commerce.SelfPurchaseReview), sale(byAna(), viaAna))
	f("none_self_purchase", knowsAna(commerce.SelfPurchaseDeny), sale(byAna(code("ANA10")), viaAna))
	f("earned_self_purchase_after_a_decision", knowsAna(commerce.SelfPurchaseReview),
		decided(sale(byAna(code("ANA10"))), commerce.EvidenceAccept))
	f("none_amount_out_of_range", plain, sale(func(o *wire.Order) { o.TotalMinor = maxMinor * 11 }, viaAna))

	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !seen[file.Name()] {
			t.Errorf("%s is of no case", file.Name())
		}
	}
}
