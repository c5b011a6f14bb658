package admin

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/fold"
	"github.com/tributary-io/tributary/internal/scrub"
	"github.com/tributary-io/tributary/internal/wire"
)

// readExtensions reads the fields of an order that we have added (docs/api.md, "Send one").
func readExtensions(o object, order *wire.Order) {
	amount := money(order.Currency)
	order.DiscountCodes = readCodes(o, amount)
	order.TaxMinor = sent(o, "taxPrice", amount)
	order.Test = sent(o, "test", boolean)
	order.NoCommission = sent(o, "noCommission", boolean)
	order.Refunds = readRefunds(o, amount)
}

// checkCodes decides which of the two fields for codes counts, once both were checked: null in
// one says nothing against a code in the other.
func checkCodes(o object, order *wire.Order) {
	if order.DiscountCode.Valid && !order.DiscountCodes.Valid {
		order.DiscountCodes = wire.Optional[[]wire.DiscountCode]{}
	}
	if order.DiscountCodes.Present && !holds(facts.OrderCodes(order), order.DiscountCode.Value) {
		o.warn(o.at("discountCode"), commerce.CodeConflict, "differs from discountCodes, which counts")
	}
}

// checkTax takes away a tax above its bound: a version after a refund or of a cancelled order may
// repeat the tax as it was first sent, and is right in all else.
func checkTax(o object, order *wire.Order) {
	if facts.TaxAboveBound(order) {
		o.warn(o.at("taxPrice"), commerce.CodeOutOfRange, "must be at most totalPrice less shippingPrice, which contain it")
		order.TaxMinor = wire.Optional[int64]{}
	}
}

// checkCreated warns of an order of the future: a test, or a shop whose clock is wrong.
func checkCreated(o object, order *wire.Order, now time.Time) {
	if order.CreatedAt.After(now.Add(commerce.MaxAhead)) {
		o.doubt(o.at("createdAt"), commerce.CodeOutOfRange, "is more than 24 hours ahead", "it is taken all the same")
	}
}

// holds reports whether codes, folded, hold all of a discountCode, as a whole or in parts.
func holds(codes []string, field string) bool {
	if strings.TrimSpace(field) == "" || slices.Contains(codes, fold.Code(field)) {
		return true
	}
	for _, part := range fold.SplitCodes(field) {
		if code := fold.Code(part); code != "" && !slices.Contains(codes, code) {
			return false
		}
	}
	return true
}

// readCodes reads an order's codes. Where one of them cannot be read, none counts.
func readCodes(o object, amount reader[int64]) wire.Optional[[]wire.DiscountCode] {
	field := doubtful(o, "discountCodes", func(value any) ([]object, *fault) {
		return o.objects("discountCodes", commerce.MaxDiscountCodes)(codeObjects(value))
	})
	if !field.Valid {
		return wire.Optional[[]wire.DiscountCode]{Present: field.Present}
	}
	codes, readable := make([]wire.DiscountCode, 0, len(field.Value)), true
	for _, c := range field.Value {
		code, wrong := take(c, "code", label)
		if wrong == nil && !code.Valid {
			wrong = &fault{commerce.CodeRequired, "is required"}
		}
		if wrong != nil && readable {
			o.warn(o.at("discountCodes"), wrong.code, "cannot be read: "+c.at("code")+" "+wrong.message)
			readable = false
		}
		if wrong == nil {
			warnJoined(c, code.Value)
		}
		codes = append(codes, wire.DiscountCode{Code: code.Value, AmountMinor: sent(c, "amount", amount)})
	}
	if !readable {
		return wire.Optional[[]wire.DiscountCode]{}
	}
	return wire.Some(codes)
}

// codeObjects makes a list of objects of an order's codes, where it is exact what is meant: a
// code alone, or one object instead of a list.
func codeObjects(value any) any {
	list, isList := value.([]any)
	if !isList {
		list = []any{value}
	}
	objects := make([]any, len(list))
	for i, element := range list {
		switch element.(type) {
		case string, json.Number:
			element = map[string]any{"code": element}
		case map[string]any:
		default:
			if !isList {
				return value
			}
		}
		objects[i] = element
	}
	return objects
}

// warnJoined warns of a code that is probably several. It stays one: a coupon's code may have
// such a character, and nothing says what each of several took off.
func warnJoined(o object, code string) {
	if parts := fold.SplitCodes(code); code != "" && (len(parts) != 1 || parts[0] != code) {
		o.doubt(o.at("code"), commerce.CodeInvalidValue, "has a comma, semicolon or bar: several codes are several elements of the list",
			"it counts as one code")
	}
}

func readRefunds(o object, amount reader[int64]) wire.Optional[[]wire.Refund] {
	field := o.doubtfulChildren("refunds", commerce.MaxRefunds)
	if !field.Valid {
		return wire.Optional[[]wire.Refund]{Present: field.Present}
	}
	refunds := make([]wire.Refund, 0, len(field.Value))
	for _, r := range field.Value {
		refund := wire.Refund{
			ID: sent(r, "id", label).Value, AmountMinor: required(r, "amount", amount),
			CreatedAt: instantText(doubtful(r, "createdAt", timestamp)), Reason: doubtful(r, "reason", label).Value,
		}
		for _, item := range r.doubtfulChildren("items", commerce.MaxRefundItems).Value {
			count := doubtful(item, "quantity", readQuantity).Or(quantity{whole: 1})
			refund.Items = append(refund.Items, wire.RefundItem{ItemID: sent(item, "item_id", label).Value, Quantity: count.whole})
		}
		refunds = append(refunds, refund)
	}
	return wire.Some(refunds)
}

// concealRefunds removes e-mails and phones from the texts of an order's refunds.
func concealRefunds(order *wire.Order) {
	for i := range order.Refunds.Value {
		r := &order.Refunds.Value[i]
		r.ID, r.Reason = scrub.Text(r.ID), scrub.Text(r.Reason)
		for k := range r.Items {
			r.Items[k].ItemID = scrub.Text(r.Items[k].ItemID) // as that of the order's items
		}
	}
}

// recordCodes are an order's codes as they are read back, null where they were not sent.
func recordCodes(o *wire.Order) []facts.ShownCode {
	if !o.DiscountCodes.Present {
		return nil
	}
	return facts.ShowCodes(o.DiscountCodes.Value, o.Currency)
}

// codesCell writes codes in a cell of a table: "ANA10 10, FRETE" with what each took off.
func codesCell(codes []facts.ShownCode) string {
	var text strings.Builder
	for i, c := range codes {
		if i > 0 {
			text.WriteString(", ")
		}
		text.WriteString(c.Code)
		if c.Amount != nil {
			text.WriteString(" " + c.Amount.String())
		}
	}
	return text.String()
}
