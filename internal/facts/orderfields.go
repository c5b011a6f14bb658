package facts

import (
	"encoding/json"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/fold"
	"github.com/tributary-io/tributary/internal/wire"
)

// foldCodes takes the codes of an older version where the order has neither of the two
// fields that say them: of one version both count or none.
func foldCodes(out, old *wire.Order) {
	if out.DiscountCodes.Present || out.DiscountCode.Present {
		return
	}
	out.DiscountCode, out.DiscountCodes = old.DiscountCode, old.DiscountCodes
	if !old.DiscountCodes.Valid || old.Currency == out.Currency {
		return
	}
	out.DiscountCodes.Value = slices.Clone(old.DiscountCodes.Value)
	for i := range out.DiscountCodes.Value {
		amount := &out.DiscountCodes.Value[i].AmountMinor
		*amount = inCurrency(*amount, old.Currency, out.Currency)
	}
}

// foldRefunds takes the refunds of an older version where the order has none.
func foldRefunds(out, old *wire.Order) {
	if out.Refunds.Present {
		return
	}
	out.Refunds = old.Refunds
	if !old.Refunds.Valid || old.Currency == out.Currency {
		return
	}
	out.Refunds.Value = slices.Clone(old.Refunds.Value)
	for i := range out.Refunds.Value {
		amount := &out.Refunds.Value[i].AmountMinor
		*amount = inCurrency(wire.Some(*amount), old.Currency, out.Currency).Value
	}
}

// foldTax takes the tax of the newest version that has it where the order has none: in
// proportion to what both come to without shipping, so that a lower total has less of it.
// A version does not have a tax that is above its bound. out is the fold of versions but for
// its tax.
func foldTax(out *wire.Order, versions []StoredVersion) {
	if TaxAboveBound(out) {
		out.TaxMinor = wire.Optional[int64]{}
	}
	for i := len(versions) - 2; i >= 0 && !out.TaxMinor.Present; i-- {
		old := versions[i].Order
		for k := i - 1; k >= 0; k-- {
			fillFrom(&old.ShippingMinor, inCurrency(versions[k].Order.ShippingMinor, versions[k].Order.Currency, old.Currency))
		}
		if TaxAboveBound(&old) {
			continue
		}
		if out.TaxMinor = inCurrency(old.TaxMinor, old.Currency, out.Currency); !out.TaxMinor.Valid {
			continue
		}
		was, is := inCurrency(wire.Some(goodsMinor(&old)), old.Currency, out.Currency).Value, goodsMinor(out)
		if was != is && was > 0 {
			tax := decimal.NewFromInt(out.TaxMinor.Value).Mul(decimal.NewFromInt(max(is, 0)))
			out.TaxMinor.Value = tax.Div(decimal.NewFromInt(was)).RoundBank(0).IntPart()
		}
	}
}

// goodsMinor is an order's total without shipping, in minor units.
func goodsMinor(o *wire.Order) int64 { return o.TotalMinor - o.ShippingMinor.Or(0) }

// TaxAboveBound reports whether an order's tax is more than the total without shipping, which
// contains it.
func TaxAboveBound(o *wire.Order) bool {
	return o.TaxMinor.Valid && o.TaxMinor.Value > max(goodsMinor(o), 0)
}

// TaxOf returns the tax that an order's total without shipping contains, in minor units:
// never more than that.
func TaxOf(o *wire.Order) int64 { return max(0, min(o.TaxMinor.Or(0), goodsMinor(o))) }

// OrderCodes returns the folded codes by which a coupon may match the order, each once:
// those of discountCodes where that field is there; else the whole discountCode, then its
// parts.
func OrderCodes(o *wire.Order) []string {
	var texts []string
	if o.DiscountCodes.Present {
		for _, c := range o.DiscountCodes.Value {
			texts = append(texts, c.Code)
		}
	} else {
		field := o.DiscountCode.Or("")
		texts = append([]string{field}, fold.SplitCodes(field)...)
	}
	var codes []string
	seen := map[string]bool{"": true}
	for _, text := range texts {
		if code := fold.Code(text); !seen[code] {
			seen[code] = true
			codes = append(codes, code)
		}
	}
	return codes
}

// CodesText is an order's discountCode as it is shown: what was sent, or the codes of
// discountCodes, joined by commas.
func CodesText(o *wire.Order) wire.Optional[string] {
	if !o.DiscountCodes.Present {
		return o.DiscountCode
	}
	text := ""
	for i, c := range o.DiscountCodes.Value {
		if i > 0 {
			text += ","
		}
		text += c.Code
	}
	if text == "" {
		return wire.Null[string]()
	}
	return wire.Some(text)
}

// UnpaidOrder is an order that had earned and was then said to be a test, or to be paid by hand.
type UnpaidOrder struct {
	OrderID, InfluencerID string
	Taken                 []commerce.Amount // what it had earned
	Actor                 string            // who said so
	Reason                Reason            // ReasonTest or ReasonPaidByHand
}

// What the base of a commission is on an order with tax.
const (
	BaseWithTax    = "with_tax"
	BaseWithoutTax = "without_tax"
)

// ShownCode is one of an order's codes as answers show it.
type ShownCode struct {
	Code   string       `json:"code"`
	Amount *json.Number `json:"amount"` // what it took off; null: not known
}

// ExplainedCode is one of an order's codes, and whether it decides.
type ExplainedCode struct {
	ShownCode
	Influencer   string `json:"influencer,omitempty"` // whose it was when the order was made
	InfluencerID string `json:"influencer_id,omitempty"`
	Decides      bool   `json:"decides"`          // it is the coupon evidence
	Reason       string `json:"reason,omitempty"` // why it does not: Reason.Words
}

// ShowCodes returns codes as answers show them; currency is that of their amounts.
func ShowCodes(codes []wire.DiscountCode, currency string) []ShownCode {
	list := make([]ShownCode, len(codes))
	for i, c := range codes {
		list[i].Code = c.Code
		if c.AmountMinor.Valid {
			amount := Number(c.AmountMinor.Value, currency)
			list[i].Amount = &amount
		}
	}
	return list
}

// ShownRefund is one refund of an order as answers show it.
type ShownRefund struct {
	ID        string            `json:"id,omitempty"`
	Amount    json.Number       `json:"amount"`
	CreatedAt string            `json:"createdAt,omitempty"` // RFC 3339, UTC
	Reason    string            `json:"reason,omitempty"`
	Items     []ShownRefundItem `json:"items,omitempty"`
}

// ShownRefundItem is what was given back of one line of an order.
type ShownRefundItem struct {
	ItemID   string `json:"item_id,omitempty"`
	Quantity int64  `json:"quantity"`
}

// ShowRefunds returns an order's refunds as answers show them.
func ShowRefunds(o *wire.Order) []ShownRefund {
	list := make([]ShownRefund, len(o.Refunds.Value))
	for i, r := range o.Refunds.Value {
		list[i] = ShownRefund{ID: r.ID, Amount: Number(r.AmountMinor, o.Currency), CreatedAt: r.CreatedAt, Reason: r.Reason}
		for _, item := range r.Items {
			list[i].Items = append(list[i].Items, ShownRefundItem(item))
		}
	}
	return list
}
