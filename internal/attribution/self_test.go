package attribution

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
)

// anasMail is Ana's own e-mail, as an order has it.
var anasMail = facts.Key{Kind: facts.KeyEmail, Value: "k1:ana"}

// knowsAna has Ana's e-mail known since the beginning, and a rule for what she buys herself.
func knowsAna(rule string, changes ...func(*facts.Rules)) *Index {
	return shop(func(r *facts.Rules) {
		r.SelfPurchase = rule
		r.Identities = []facts.Identity{{InfluencerID: "ana", Key: anasMail, Since: start}}
		for _, change := range changes {
			change(r)
		}
	})
}

// byAna is an order with Ana's own e-mail.
func byAna(changes ...func(*wire.Order)) func(*wire.Order) {
	return func(o *wire.Order) {
		o.EmailKey = wire.Some(anasMail.Value)
		for _, change := range changes {
			change(o)
		}
	}
}

// payoutText is "influencer evidence proof state reason lines; losers; customer".
func payoutText(o facts.Outcome) string {
	p := o.Payout
	text := []string{strings.Join(strings.Fields(fmt.Sprint(p.InfluencerID, " ", p.Evidence, " ", p.Proof, " ", p.State, " ", p.Reason, " ",
		len(o.Lines))), " ")}
	for _, l := range o.Explanation.Payout.Losers {
		text = append(text, "not "+l.Influencer+" "+string(l.Evidence))
	}
	for _, c := range o.Explanation.Order.CustomerIs {
		text = append(text, "customer "+c.Influencer)
	}
	return strings.Join(text, "; ")
}

// docs/attribution.md, "Self-purchase".
func TestWhoBuysByTheOwnCouponOrLinkWaitsForTheStore(t *testing.T) {
	viaAna, viaBeto := at(0, "/?utm_campaign=ana"), at(5, "/?utm_campaign=beto")
	review, deny, pay := commerce.SelfPurchaseReview, commerce.SelfPurchaseDeny, commerce.SelfPurchasePay
	f := func(name string, x *Index, c facts.Case, want string) {
		t.Helper()
		if got := payoutText(x.Decide(c)); got != want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, want)
		}
	}
	coupon := byAna(code("ANA10"))
	const waits = "ana coupon order review self_purchase 0; customer Ana"
	f("by the own coupon", knowsAna(review), sale(coupon), waits)
	f("the store has not chosen", knowsAna(""), sale(coupon), waits)
	f("by the own link", knowsAna(review), sale(byAna(), viaAna), "ana link cart review self_purchase 0; customer Ana")
	f("by the own link that nothing proves", knowsAna(review), claimed(sale(byAna(), viaAna)),
		"ana link claimed review self_purchase 0; customer Ana")
	f("on a marketplace", knowsAna(review), sale(byAna(code("ANA10"), func(o *wire.Order) { o.Source = wire.Some(1) })), waits)
	f("by another's coupon", knowsAna(review), sale(byAna(code("BETO"))), "beto coupon order earned 1")
	f("by another's coupon, having come by the own link", knowsAna(review), sale(byAna(code("BETO")), viaAna),
		"beto coupon order earned 1; not Ana link; customer Ana")
	f("somebody else by Ana's coupon", knowsAna(review), sale(code("ANA10")), "ana coupon order earned 1")
	f("it is paid", knowsAna(pay), sale(coupon), "ana coupon order earned 1; customer Ana")
	f("it is denied", knowsAna(deny), sale(coupon), "none self_purchase 0; not Ana coupon; customer Ana")
	f("a denied link", knowsAna(deny), sale(byAna(), viaAna), "none self_purchase 0; not Ana link; customer Ana")
	f("a denied link that nothing proves", knowsAna(deny), claimed(sale(byAna(), viaAna)), "none self_purchase 0; not Ana link; customer Ana")
	f("denied, the one before counts", knowsAna(deny, func(r *facts.Rules) { r.Costs[1].CouponOnly = false }),
		sale(byAna(), at(0, "/?utm_campaign=beto"), at(40, "/?utm_campaign=ana")), "beto link cart earned 1; not Ana link; customer Ana")
	f("denied, another's link counts", knowsAna(deny, func(r *facts.Rules) { r.Costs[1].CouponOnly = false }), sale(coupon, viaBeto),
		"beto link cart earned 1; not Ana coupon; customer Ana")
	f("a pending order waits too", knowsAna(review), sale(byAna(code("ANA10"), status(commerce.OrderPending))), waits)
	f("a cancelled order waits for nothing", knowsAna(review), sale(byAna(code("ANA10"), status(commerce.OrderCancelled))),
		"ana coupon order reversed 0; customer Ana")
	f("nothing would be owed", knowsAna(review, func(r *facts.Rules) { r.Costs = nil }), sale(coupon),
		"ana coupon order none no_agreement 0; customer Ana")
	f("a test counts nowhere", knowsAna(review), sale(byAna(code("ANA10"), func(o *wire.Order) { o.Test = wire.Some(true) })),
		"ana coupon order none test_order 0; customer Ana")
	f("the setting of the order's own day", knowsAna(deny, func(r *facts.Rules) {
		r.Past = []facts.PastSettings{{Settings: r.Settings, Until: start.Add(2 * time.Hour)}}
		r.Past[0].SelfPurchase = pay
	}), sale(coupon), "ana coupon order earned 1; customer Ana")

	f("accepted", knowsAna(review), disputed(sale(coupon), "ana accept"), "ana coupon accepted earned 1; customer Ana")
	f("an accepted link", knowsAna(review), disputed(sale(byAna(), viaAna), "ana accept"), "ana link accepted earned 1; customer Ana")
	f("refused", knowsAna(review), disputed(sale(coupon), "ana refuse"), "none self_purchase 0; not Ana coupon; customer Ana")
	f("refused, another's link counts", knowsAna(review, func(r *facts.Rules) { r.Costs[1].CouponOnly = false }),
		disputed(sale(coupon, viaBeto), "ana refuse"), "beto link cart earned 1; not Ana coupon; customer Ana")
	f("withdrawn", knowsAna(review), disputed(sale(coupon), "ana refuse", "ana withdraw"), waits)
	f("about another", knowsAna(review), disputed(sale(coupon), "beto accept"), waits)
	f("the setting denies what was accepted", knowsAna(deny), disputed(sale(coupon), "ana accept"),
		"none self_purchase 0; not Ana coupon; customer Ana")
	f("given to Ana all the same", knowsAna(deny), disputed(sale(coupon), "ana assign"), "ana coupon assigned earned 1; customer Ana")
	f("refused, but nobody's own", knowsAna(review), disputed(sale(code("ANA10")), "ana refuse"), "ana coupon order earned 1")
}

// Nothing but the order's own keys, at the instant of the order, makes it a self-purchase.
func TestOnlyAnOrderOfTheTimeOfAnIdentityIsASelfPurchase(t *testing.T) {
	const paid, waits = "ana coupon order earned 1", "ana coupon order review self_purchase 0; customer Ana"
	created := start.Add(time.Hour)
	f := func(name string, change func(i *facts.Identity), c facts.Case, want string) {
		t.Helper()
		x := knowsAna("", func(r *facts.Rules) { change(&r.Identities[0]) })
		if got := payoutText(x.Decide(c)); got != want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, want)
		}
	}
	same := func(*facts.Identity) {}
	order := sale(byAna(code("ANA10")))
	f("known since the order's instant", func(i *facts.Identity) { i.Since = created }, order, waits)
	f("known since later", func(i *facts.Identity) { i.Since = created.Add(1) }, order, paid)
	f("until later", func(i *facts.Identity) { i.Until = created.Add(1) }, order, waits)
	f("until the order's instant", func(i *facts.Identity) { i.Until = created }, order, paid)
	f("another kind of key", func(i *facts.Identity) { i.Kind = facts.KeyPhone }, order, paid)
	f("by a former secret", same, sale(func(o *wire.Order) {
		o.EmailKey, o.Former, o.DiscountCode = wire.Some("k2:ana"), []wire.Former{{EmailKey: anasMail.Value}}, wire.Some("ANA10")
	}), waits)
	// Strangers can send any events with Ana's e-mail, and lead the order to visitors who have it.
	visited := claimed(sale(code("ANA10"), at(0, "/?utm_campaign=ana")))
	visited.Keys = append(visited.Keys, facts.KeyReach{Key: anasMail, Visitors: []string{shopper}, Orders: 1})
	f("events with the e-mail", same, visited, paid)
	// What makes a key a hub for visits makes it none here: anybody can send visits with an e-mail.
	hub := sale(byAna(code("ANA10")))
	hub.Keys = append(hub.Keys, facts.KeyReach{Key: anasMail, DayVisitors: hubVisitors + 1, Orders: 1})
	f("so many visitors", same, hub, waits)
	erased := sale(code("ANA10"))
	erased.SelfPurchases = []string{"ana"}
	f("the keys are erased", same, erased, waits)
	f("… and not yet, too", same, func() facts.Case { c := sale(byAna(code("ANA10"))); c.SelfPurchases = []string{"ana"}; return c }(), waits)
}

// An order is computed again when its influencer changes, also where the setting denies what it would have earned.
func TestADeniedSelfPurchaseIsFoundByItsInfluencer(t *testing.T) {
	for _, rule := range commerce.SelfPurchaseRules {
		o := knowsAna(rule).Decide(sale(byAna(code("ANA10"))))
		found := false
		for _, k := range o.FoundBy {
			found = found || k.Key == facts.Key{Kind: facts.KeyInfluencer, Value: "ana"}
		}
		if !found {
			t.Errorf("%s: found by %v", rule, o.FoundBy)
		}
		if got := o.Credits[0]; got.InfluencerID != "ana" { // the coupon was used, whoever is paid
			t.Errorf("%s: credit %+v", rule, got)
		}
	}
}

// What a decision released is not payable before it, and what was decided is told.
func TestAnAcceptedSelfPurchaseIsPayableAfterTheDecision(t *testing.T) {
	c := disputed(sale(byAna(code("ANA10"))), "beto refuse", "beto refuse", "ana accept")
	c.ApprovedSince = start.AddDate(0, 0, -60)
	o := knowsAna("").Decide(c)
	if want := knowsAna("").DayOf(start.AddDate(0, 0, 2)); o.Payout.PayableOn != want {
		t.Errorf("payable on %s, want %s", o.Payout.PayableOn, want)
	}
	if d := o.Explanation.Decisions; len(d) != 1 || d[0].Influencer != "Ana" || d[0].Decision != commerce.EvidenceAccept ||
		d[0].By != "user/u" {
		t.Errorf("decisions %+v", d)
	}
}
