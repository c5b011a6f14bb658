package fraud

import "fmt"

// Text says in a sentence what a sign shows. name is the influencer's.
func (s *Signal) Text(name string) string {
	seen, usual := s.Observed, s.Usual
	switch s.Kind {
	case CouponSpread:
		return fmt.Sprintf("Since %s the buyers of %d of %d orders with code %s never came by %s; before, those of %d of %d.", s.Since,
			seen.Count, seen.Of, s.Code, name, usual.Count, usual.Of)
	case AfterCheckout:
		return fmt.Sprintf("In %d of %d orders the link of %s was opened after the checkout had begun; with other influencers in %d of %d.",
			seen.Count, seen.Of, name, usual.Count, usual.Of)
	case Unproven:
		return fmt.Sprintf("In %d of %d orders nothing proves that the buyer came by %s; with other influencers in %d of %d.", seen.Count,
			seen.Of, name, usual.Count, usual.Of)
	case SelfPurchase:
		return fmt.Sprintf("In %d of %d orders by %s the influencer is the customer; with other influencers in %d of %d.", seen.Count, seen.Of,
			name, usual.Count, usual.Of)
	case SameBuyer:
		return fmt.Sprintf("One buyer made %d of the %d orders by %s; with other influencers the buyer with the most made %d of %d.", seen.Count,
			seen.Of, name, usual.Count, usual.Of)
	case SharedPlace:
		return fmt.Sprintf("%d of %d buyers of one postal code used code %s of %s; elsewhere %d of %d did.", seen.Count, seen.Of, s.Code, name,
			usual.Count, usual.Of)
	case SharedNetwork:
		return fmt.Sprintf("%d of %d buyers in one network used code %s of %s; elsewhere %d of %d did.", seen.Count, seen.Of, s.Code, name,
			usual.Count, usual.Of)
	case AfterOrder:
		return fmt.Sprintf("In %d of %d orders the visit by %s was received after the order had been made; with other influencers in %d of %d.",
			seen.Count, seen.Of, name, usual.Count, usual.Of)
	case NoPageViews:
		return fmt.Sprintf("In %d of %d orders the visitor by %s gave the buyer's identity, but looked at no page; with other influencers "+
			"in %d of %d.", seen.Count, seen.Of, name, usual.Count, usual.Of)
	case OneNetwork:
		return fmt.Sprintf("In %d of %d orders the visit by %s came from networks of its own; of the visits by other influencers %d of %d "+
			"came from these.", seen.Count, seen.Of, name, usual.Count, usual.Of)
	case NoOrder:
		return fmt.Sprintf("Of %[2]d checkouts that visitors by %[3]s completed, %[1]d became no order; with other influencers %[4]d of %[5]d.",
			seen.Count, seen.Of, name, usual.Count, usual.Of)
	case NoOrderNetwork:
		return fmt.Sprintf("Of %[2]d checkouts that were completed in one network, %[1]d became no order; in other networks %[3]d of %[4]d.",
			seen.Count, seen.Of, usual.Count, usual.Of)
	}
	return string(s.Kind)
}
