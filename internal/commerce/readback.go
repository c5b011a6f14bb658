package commerce

import (
	"encoding/json"
	"time"

	"github.com/shopspring/decimal"
)

// StoredOrder is an order as it stands, with who is paid for it.
type StoredOrder struct {
	Body         json.RawMessage // the current order, a wire.Order without its personal part
	CreatedAt    time.Time
	IsFirstOrder *bool     // as the merchant sent it, or as it is inferred; nil: not known
	ProcessedAt  time.Time // when the order or who is paid for it last changed here
	Payout       StoredPayout
}

// Cursor returns the order's place in the list of orders by their creation, or with
// processed by when they last changed here.
func (o *StoredOrder) Cursor(orderID string, processed bool) Cursor {
	if processed {
		return Cursor{At: o.ProcessedAt, OrderID: orderID}
	}
	return Cursor{At: o.CreatedAt, OrderID: orderID}
}

// StoredPayout is who is paid for an order. Amounts are minor units. An empty State
// means that it is not computed yet.
type StoredPayout struct {
	State           string // earned | expected | review | reversed | none
	Reason          string
	InfluencerID    string
	Influencer      string
	CampaignID      string
	Campaign        string
	Evidence        Evidence
	Proof           string
	CommissionMinor int64 // in the order's currency
	FixedBRLMinor   int64 // in BRL, beside CommissionMinor
	PayableOn       string
}

// OrderFilter narrows a list of orders. An empty field does not narrow it.
type OrderFilter struct {
	Status       *int
	InfluencerID string // who is paid, or would be after a review
	Uncredited   bool   // only orders that no influencer is paid for, and would not be after a review
	Coupon       string // the discount code or a part of it, folded (fold.Code)
	Text         string // the order's id, name or number in any case; "1001" finds "#1001" too. Not with Coupon or UpdatedSince
	From, To     string // days on which the orders were created, YYYY-MM-DD, inclusive
	// UpdatedSince lists the orders that changed here from then on, those that changed
	// first first. Without it the newest orders come first.
	UpdatedSince time.Time
	After        Cursor // of the last order of the page before
	Before       Cursor // instead: of the first order of the page after; those next to it, the newest first all the same
	Limit        int
}

// OrderTotal is what orders of one currency and status add up to, in minor units.
type OrderTotal struct {
	Currency   string
	Status     int
	Orders     int64
	TotalMinor decimal.Decimal
}

// StoredProduct is a product as the merchant sent it last: a wire.Product.
type StoredProduct struct {
	ProductID string
	Body      json.RawMessage
}

// ProductCursor is a place in a company's list of products: after the product of that
// id. The zero value is the beginning.
type ProductCursor struct{ ProductID string }

// String is "" for the zero cursor.
func (c ProductCursor) String() string { return cursorText(c.ProductID) }

// ParseProductCursor reads what String wrote.
func ParseProductCursor(text string) (ProductCursor, error) {
	parts, ok := cursorParts(text, 1)
	if !ok || parts[0] != "" && !IsLedgerAccount(parts[0]) {
		return ProductCursor{}, badCursor(text)
	}
	return ProductCursor{ProductID: parts[0]}, nil
}
