package fraud

import "time"

// Sale is an order that is not cancelled, as the signs see it.
type Sale struct {
	OrderID    string
	At         time.Time
	Day        string // of At in the store's time zone, YYYY-MM-DD
	Currency   string // ISO 4217
	Total      int64  // minor units
	Commission int64  // minor units: earned, expected or waiting for a decision
	FixedBRL   int64  // centavos: fixed fees of an order in another currency

	Influencer string   // id of who is paid, or waits; "": nobody
	Code       string   // the coupon that decided for Influencer, folded; "": none did
	Customers  []string // influencers whom the order's evidence names, and who are its customer
	Touches    []Touch  // of influencers, each within the window before the order
	Last       Last     // the newest of Influencer's touches
	Visit      *Visit   // what the event of Last tells; nil: there is none, or it is removed by age
	Source     string   // where the last visit that was not direct came from; "": unknown

	Buyers  []string // digests of what names the buyer: customer, e-mail, phone
	Place   string   // digest of the buyer's postal code; "": unknown
	Network string   // digest of the buyer's network; "": unknown
}

// Touch is one arrival by an influencer's link before an order.
type Touch struct {
	Influencer    string // id
	AfterCheckout bool   // the visitor had begun the checkout
	Proven        bool   // something that a stranger cannot make shows that it was the buyer
}

// Last is an influencer's newest touch before an order.
type Last struct {
	EventID    string // "": there is none; of the order's own UTM values it is no id of an event
	ByIdentity bool   // only a customer id, e-mail or phone leads from the order to its visitor
}

// touched reports whether the sale has a touch of its influencer.
func (s *Sale) touched() bool {
	for _, t := range s.Touches {
		if t.Influencer == s.Influencer {
			return true
		}
	}
	return false
}

// Kind is what a sign is of.
type Kind string

// The kinds of signs, in the order in which they are shown.
const (
	CouponSpread  Kind = "coupon_spread"  // a code is used by ever more buyers who never came by its influencer
	AfterCheckout Kind = "after_checkout" // an influencer's links are opened when the checkout has begun
	SelfPurchase  Kind = "self_purchase"  // an influencer is the customer of orders by the own coupon or links
	SameBuyer     Kind = "same_buyer"     // one buyer makes a large part of an influencer's orders
	SharedPlace   Kind = "shared_place"   // many buyers of one postal code use one code
	SharedNetwork Kind = "shared_network" // many buyers of one network use one code
	Unproven      Kind = "unproven"       // nothing proves that the buyers came by the influencer's links
	AfterOrder    Kind = "after_order"    // visits by the influencer are received when the order is made
	NoPageViews   Kind = "no_page_views"  // visitors tell the buyer's identity, but look at no page
	OneNetwork    Kind = "one_network"    // many visits by the influencer come from one network

	NoOrder        Kind = "no_order"         // visitors by the influencer complete checkouts that become no orders
	NoOrderNetwork Kind = "no_order_network" // such checkouts come from one network; no influencer is concerned
)

// Rate is a part of a whole.
type Rate struct {
	Count int `json:"count"`
	Of    int `json:"of"`
}

// Signal is one finding.
type Signal struct {
	Kind       Kind
	Influencer string   // id; "" of NoOrderNetwork
	Code       string   // of the kinds about a coupon
	Since      string   // day of the first order that it concerns, or on which a spread began, YYYY-MM-DD
	Observed   Rate     // what was seen
	Usual      Rate     // how often it is seen otherwise; docs/signs.md says where for each kind
	Orders     []string // ids, by time; a report that is shown has the newest ones
	Total      int      // how many orders it is about
	Sources    []Source // CouponSpread: where the buyers who never came by the influencer came from, the most frequent first
	Costs      []Cost
}

// Source is where orders came from. Name is "" where it is not known.
type Source struct {
	Name   string
	Orders int
}

// Cost is what the orders of a sign are about, in one currency. Of CouponSpread it is
// the part above what was usual before.
type Cost struct {
	Currency   string
	Commission int64 // minor units
	Turnover   int64 // minor units
}
