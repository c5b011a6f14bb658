package facts

import "github.com/tributary-io/tributary/internal/wire"

// Sold is what networks are told of an order by, beside its case.
type Sold struct {
	Known    bool           // there is such an order
	Order    wire.Order     // as it is now
	State    PayoutState    // of its payout; "": it has no outcome yet
	Erased   bool           // its person is erased
	Erasing  bool           // an erasure that was asked for after the order came is not done: the order's person may be the one
	Personal *wire.Personal // nil: the shop sent nothing of the person
	RulesRev int64          // of the company's rules
}
