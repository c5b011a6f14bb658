package shop

import (
	"slices"
	"time"
)

// State is what happened to the money of an order.
type State string

const (
	Pending    State = "pending"    // waits for its payment
	Authorized State = "authorized" // a card is authorised, and not yet captured
	Paid       State = "paid"       // also after a partial refund
	Refunded   State = "refunded"   // all money went back
	Voided     State = "voided"     // the payment was refused or ran out
)

// Kind names a change of an order.
type Kind string

const (
	Placed         Kind = "placed"
	PaidNow        Kind = "paid"
	AuthorizedNow  Kind = "authorized"
	Edited         Kind = "edited"
	Touched        Kind = "touched" // a note: the order's time of update changes and nothing else
	PartlyRefunded Kind = "partly refunded"
	FullyRefunded  Kind = "fully refunded"
	Cancelled      Kind = "cancelled"
	Shipped        Kind = "shipped"
	Delivered      Kind = "delivered"
	Deleted        Kind = "deleted"
)

// Channels that an order can come from.
const (
	ChannelStore       = "store"       // the shop's own pages
	ChannelMarketplace = "marketplace" // sold on somebody else's pages
	ChannelPOS         = "pos"         // sold over the counter
	ChannelAdmin       = "admin"       // typed in by the merchant
	ChannelAPI         = "api"         // made by an app
)

// Product is something that the shop sells.
type Product struct {
	ID, Variant int64
	SKU, Name   string
	Price       Money
}

// Line is one product of an order. Price is for one piece, before discounts.
type Line struct {
	ID       int64
	Product  Product
	Quantity int
	Returned int // pieces whose money went back
}

// Discount is what one code took off. Amount is zero when the code was kept with the order and took nothing off.
type Discount struct {
	Code   string
	Kind   CouponKind
	Value  int64 // as Coupon.Value
	Amount Money
}

// Refund is money that went back: for pieces of lines, or a sum alone.
type Refund struct {
	ID     int64
	At     time.Time
	Amount Money
	Lines  []RefundLine
	Reason string
}

// RefundLine is the part of a refund that belongs to Quantity pieces of a line.
type RefundLine struct {
	Line     int64
	Quantity int
	Amount   Money
}

// Change is one step in the life of an order. Delta is what it did to the total after refunds, PaidDelta what
// changed hands.
type Change struct {
	Kind             Kind
	At               time.Time
	Delta, PaidDelta Money
	Product          string // of an edit: what was changed
	Before, After    int    // of an edit: pieces
}

// Customer is the buyer.
type Customer struct {
	ID                         int64
	First, Last, Email, Phone  string
	Document                   string // CPF, digits alone
	Street, City, State, Zip   string
	CreatedAt                  time.Time
	StreetNumber, Neighborhood string
}

// Attribute is a name and a value that the storefront put on the cart.
type Attribute struct{ Name, Value string }

// Cart is what a buyer orders, and where the browser came from. Empty fields are filled.
type Cart struct {
	Lines    []CartLine
	Codes    []string // coupon codes, in the order typed; codes that the shop does not know are refused
	Landing  string   // first page of the visit, with its query
	Referrer string
	IP       string
	Agent    string
	Method   string // "pix", "credit_card" or "boleto"
	Channel  string // ChannelStore when empty
	Customer *Customer
	// Attributes are cart attributes, order meta or custom data, as the platform has them.
	Attributes []Attribute
	Shipping   Money
	Test       bool
	At         time.Time // the present when zero: a shop's past can be made before it is connected
	// CheckoutToken joins the order to the browser where the platform has such a value; drawn when empty.
	CheckoutToken string
	// Group makes the order part of a purchase of several sellers (VTEX's orderGroup).
	Group string
}

// CartLine is a product by its place in Products, and how many.
type CartLine struct{ Product, Quantity int }

// Order is one order with all that happened to it. Copies are safe to keep: a change makes new slices.
type Order struct {
	ID            int64
	Number        int
	Token         string // 40 hex digits, a secret of the order
	Key           string // "wc_order_" and 13 characters, a secret of the order
	CheckoutToken string // 32 hex digits
	CartToken     string // 32 hex digits
	Group         string
	Sequence      int // the order's place in its group, from 1

	State     State
	Cancelled bool
	Deleted   bool
	Reason    string

	Lines      []Line
	Discounts  []Discount
	Shipping   Money
	Refunds    []Refund
	History    []Change
	Customer   Customer
	Landing    string
	Referrer   string
	IP, Agent  string
	Method     string
	Channel    string
	Attributes []Attribute
	Note       string
	Test       bool
	Currency   string

	CreatedAt, UpdatedAt, PaidAt, CancelledAt, ShippedAt, DeliveredAt time.Time
}

// Subtotal is the sum of the lines before discounts.
func (o Order) Subtotal() (sum Money) {
	for _, line := range o.Lines {
		sum += line.Product.Price * Money(line.Quantity)
	}
	return sum
}

// Discount is what the codes took off together.
func (o Order) Discount() (sum Money) {
	for _, discount := range o.Discounts {
		sum += discount.Amount
	}
	return sum
}

// Total is what the order cost, before refunds.
func (o Order) Total() Money { return o.Subtotal() - o.Discount() + o.Shipping }

// Refunded is what went back.
func (o Order) Refunded() (sum Money) {
	for _, refund := range o.Refunds {
		sum += refund.Amount
	}
	return sum
}

// Rest is the total after refunds.
func (o Order) Rest() Money { return o.Total() - o.Refunded() }

// LineDiscounts gives for each line what each discount took off it: [line][discount]. A discount on the
// shipping belongs to no line.
func (o Order) LineDiscounts() [][]Money {
	parts := make([][]Money, len(o.Lines))
	rest := make([]Money, len(o.Lines))
	for i, line := range o.Lines {
		parts[i] = make([]Money, len(o.Discounts))
		rest[i] = line.Product.Price * Money(line.Quantity)
	}
	for d, discount := range o.Discounts {
		if discount.Kind == CouponShipping {
			continue
		}
		for i, part := range share(discount.Amount, rest) {
			parts[i][d] = part
			rest[i] -= part
		}
	}
	return parts
}

// Codes lists the coupon codes in the order in which they were applied.
func (o Order) Codes() (codes []string) {
	for _, discount := range o.Discounts {
		codes = append(codes, discount.Code)
	}
	return codes
}

// Line finds a line by its id; false when the order has none.
func (o Order) Line(id int64) (Line, bool) {
	for _, line := range o.Lines {
		if line.ID == id {
			return line, true
		}
	}
	return Line{}, false
}

// Attribute is the value of a cart attribute, or "".
func (o Order) Attribute(name string) string {
	at := slices.IndexFunc(o.Attributes, func(attribute Attribute) bool { return attribute.Name == name })
	if at < 0 {
		return ""
	}
	return o.Attributes[at].Value
}

// Statuses of a Truth: the words of the product's public API, 0, 1 and 2 there.
const (
	StatusApproved  = "approved"
	StatusPending   = "pending"
	StatusCancelled = "cancelled"
)

// Status is the order's state in the three words of Truth.Status.
func (o Order) Status() string {
	switch {
	case o.Cancelled || o.Deleted || o.State == Refunded || o.State == Voided:
		return StatusCancelled
	case o.State == Paid:
		return StatusApproved
	default:
		return StatusPending
	}
}

// Truth is what is so in the shop: what a ledger must say in the end.
type Truth struct {
	ID, Number     string // as the platform writes them
	Status         string // StatusApproved, StatusPending or StatusCancelled
	PlatformStatus string // the platform's own word or words
	// Total is what the order cost after refunds, shipping included, as text with two decimals. Of a cancelled
	// order it is what the platform goes on showing.
	Total     string
	Currency  string
	Codes     []string   // coupon codes, in the order in which they were applied
	Discounts []Discount // the same with what each took off
	Channel   string
	Group     string
	Test      bool
	CreatedAt time.Time
	// UpdatedAt has the resolution of the shop's clock; most platforms show whole seconds of it.
	UpdatedAt   time.Time
	PaidAt      time.Time // zero while unpaid
	DeliveredAt time.Time // zero until delivered
}
