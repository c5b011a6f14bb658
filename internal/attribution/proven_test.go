package attribution

import (
	"reflect"
	"testing"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
)

// Where all visitors are proven, the touches of the payout are those of the models. They
// are not computed twice; this computes them twice and compares.
func TestTheTouchesOfThePayoutAreTheirOwn(t *testing.T) {
	f := func(name string, shared bool, change func(c *facts.Case)) {
		t.Helper()
		c := sale(nil, at(0, "/?utm_campaign=ana"), at(40, "/"), at(50, "/?utm_source=google&utm_medium=cpc"))
		change(&c)
		x := shop(nil)
		o := x.orderOf(&c)
		j := x.join(&c)
		ofModels, cut := x.modelTouches(o, j)
		if allProven(o, j) != shared {
			t.Errorf("%s: all are proven: %t", name, !shared)
		}
		own := x.touchesOfOrder(o, j, func(v reached) ([]facts.Event, facts.KeyKind) {
			return provenEvents(o, v, proofKeys(j)), v.proof
		})
		got := x.provenTouches(o, j, ofModels, cut)
		if len(got) != len(own) || len(got) > 0 && !reflect.DeepEqual(got, own) {
			t.Errorf("%s: %+v, want %+v", name, got, own)
		}
		if shared && len(got) > 0 {
			got[0].Proof = facts.ProofRefused
			if ofModels[0].Proof == facts.ProofRefused {
				t.Errorf("%s: a refused touch of the payout is refused for the models", name)
			}
		}
	}
	second := func(kind facts.KeyKind, id string) func(c *facts.Case) {
		return func(c *facts.Case) {
			c.Keys = append(c.Keys, facts.KeyReach{Key: facts.Key{Kind: kind, Value: "x"}, Orders: 1, Visitors: []string{id}})
			c.Visitors = append(c.Visitors, facts.Visitor{ID: id, Events: []facts.Event{at(20, "/?utm_campaign=beto")}})
		}
	}
	f("one visitor of a cart", true, func(*facts.Case) {})
	f("and one of a cookie", true, second(facts.KeyCookie, cookie))
	f("and one of an e-mail", false, second(facts.KeyEmail, cookie))
	f("and one of a network, whose e-mail is stronger", false, func(c *facts.Case) {
		second(facts.KeyEmail, cookie)(c)
		c.Keys = append(c.Keys, facts.KeyReach{Key: facts.Key{Kind: facts.KeyNetwork, Value: "n"}, Orders: 1, Visitors: []string{cookie}})
	})
	f("and one whose id may be guessed", false, second(facts.KeyCart, "guest-1"))
	f("and a hub", true, func(c *facts.Case) {
		second(facts.KeyCart, cookie)(c)
		c.Visitors[1].Carts = hubCarts + 1
	})
	f("no key", true, func(c *facts.Case) { c.Keys, c.Visitors = nil, nil })
	f("the order's own campaign", true, func(c *facts.Case) {
		c.Order.UTMCampaign, c.Visitors[0].Events = wire.Some("ana"), nil
	})
}
