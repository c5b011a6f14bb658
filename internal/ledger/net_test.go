package ledger_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/tributary-io/tributary/internal/ledger"
)

func nets(list ...ledger.Net) ledger.Nets {
	return func(yield func(ledger.Net, error) bool) {
		for _, n := range list {
			if !yield(n, nil) {
				return
			}
		}
	}
}

// amount is an order's net amount of an influencer.
func amount(order, influencer, minor string) ledger.Net {
	return ledger.Net{CompanyID: "c", OrderID: order, Kind: ledger.NetEntry, InfluencerID: influencer, Currency: "BRL", AmountMinor: minor}
}

func hashOf(t *testing.T, list ...ledger.Net) string {
	t.Helper()
	hash, _, err := ledger.Hash(nets(list...))
	if err != nil {
		t.Fatal(err)
	}
	return hash
}

func TestHashDependsOnEachFieldAndNotOnTheOrderWithinAnOrder(t *testing.T) {
	a, b := amount("o1", "ana", "1"), amount("o1", "beto", "2")
	want := hashOf(t, a, b)
	if got := hashOf(t, b, a); got != want {
		t.Error("the order of an order's amounts changes the hash")
	}
	for name, change := range map[string]func(n *ledger.Net){
		"company":    func(n *ledger.Net) { n.CompanyID = "b" },
		"order":      func(n *ledger.Net) { n.OrderID = "o0" },
		"kind":       func(n *ledger.Net) { n.Kind = ledger.NetCredit },
		"of":         func(n *ledger.Net) { n.Of = "last" },
		"touch":      func(n *ledger.Net) { n.Touch = "t" },
		"influencer": func(n *ledger.Net) { n.InfluencerID = "" },
		"currency":   func(n *ledger.Net) { n.Currency = "USD" },
		"amount":     func(n *ledger.Net) { n.AmountMinor = "-1" },
	} {
		changed := a
		change(&changed)
		if hashOf(t, changed, b) == want {
			t.Errorf("another %s has the same hash", name)
		}
	}
	// What a text ends with is not what the next begins with.
	if hashOf(t, amount("o1", "x", "1")) == hashOf(t, amount("o", "1x", "1")) {
		t.Error("two amounts have one text")
	}
}

func TestCompareNamesTheOrdersThatDiffer(t *testing.T) {
	live := nets(amount("a", "ana", "1"), amount("b", "ana", "2"), amount("b", "beto", "3"), amount("d", "ana", "4"))
	replayed := nets(amount("a", "ana", "1"), amount("b", "beto", "3"), amount("b", "ana", "9"), amount("c", "ana", "5"))
	found, err := ledger.Compare(live, replayed, 2)
	if err != nil || found.Equal() || found.Orders != 4 || found.Different != 3 || len(found.Differences) != 2 {
		t.Fatalf("%+v, %v", found, err)
	}
	b, c := found.Differences[0], found.Differences[1]
	if b.OrderID != "b" || !slices.Equal(b.Live, []ledger.Net{amount("b", "ana", "2")}) ||
		!slices.Equal(b.Replayed, []ledger.Net{amount("b", "ana", "9")}) {
		t.Errorf("%+v", b)
	}
	if c.OrderID != "c" || c.Live != nil || !slices.Equal(c.Replayed, []ledger.Net{amount("c", "ana", "5")}) {
		t.Errorf("%+v", c)
	}
	if found, err := ledger.Compare(live, live, 2); err != nil || !found.Equal() || found.Orders != 3 {
		t.Errorf("%+v, %v", found, err)
	}
	if found, err := ledger.Compare(nets(), nets(), 2); err != nil || !found.Equal() || found.Orders != 0 {
		t.Errorf("%+v, %v", found, err)
	}
}

func TestCompareFailsWhereAmountsCannotBeRead(t *testing.T) {
	broken := errors.New("broken")
	cut := func(yield func(ledger.Net, error) bool) {
		_ = yield(amount("a", "ana", "1"), nil) && yield(ledger.Net{}, broken)
	}
	whole := nets(amount("a", "ana", "1"))
	for name, sides := range map[string][2]ledger.Nets{"live": {cut, whole}, "replayed": {whole, cut}} {
		if _, err := ledger.Compare(sides[0], sides[1], 1); !errors.Is(err, broken) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := ledger.Compare(nets(amount("b", "ana", "1"), amount("a", "ana", "1")), whole, 1); err == nil {
		t.Error("orders that are out of order are compared")
	}
}
