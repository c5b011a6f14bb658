package woocommerce

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/commerce"
)

// order is an order as GET /wc/v3/orders gives it: the fields that are read. Times are read from the fields that are in UTC.
type order struct {
	ID            platform.Scalar          `json:"id"`
	Number        platform.Scalar          `json:"number"`
	OrderKey      platform.Scalar          `json:"order_key"`
	CreatedVia    platform.Scalar          `json:"created_via"`
	Status        platform.Scalar          `json:"status"`
	Currency      platform.Scalar          `json:"currency"`
	CreatedAt     platform.Scalar          `json:"date_created_gmt"`
	UpdatedAt     platform.Scalar          `json:"date_modified_gmt"`
	DiscountTotal platform.Scalar          `json:"discount_total"`
	ShippingTotal platform.Scalar          `json:"shipping_total"`
	Total         platform.Scalar          `json:"total"`
	TotalTax      platform.Scalar          `json:"total_tax"`
	CustomerID    platform.Scalar          `json:"customer_id"`
	IP            platform.Scalar          `json:"customer_ip_address"`
	UserAgent     platform.Scalar          `json:"customer_user_agent"`
	Billing       platform.Object[billing] `json:"billing"`
	PaymentMethod platform.Scalar          `json:"payment_method"`
	Meta          platform.List[meta]      `json:"meta_data"`
	Lines         platform.List[line]      `json:"line_items"`
	Coupons       platform.List[coupon]    `json:"coupon_lines"`
	Refunds       platform.List[refund]    `json:"refunds"`
}

type billing struct {
	FirstName platform.Scalar `json:"first_name"`
	LastName  platform.Scalar `json:"last_name"`
	State     platform.Scalar `json:"state"`
	Country   platform.Scalar `json:"country"`
	Email     platform.Scalar `json:"email"`
	Phone     platform.Scalar `json:"phone"`
}

type meta struct {
	Key   platform.Scalar `json:"key"`
	Value platform.Scalar `json:"value"`
}

type line struct {
	ProductID   platform.Scalar `json:"product_id"`
	VariationID platform.Scalar `json:"variation_id"`
	Quantity    platform.Scalar `json:"quantity"`
	Total       platform.Scalar `json:"total"` // of the whole line, after discounts
}

type coupon struct {
	Code         platform.Scalar `json:"code"`
	Discount     platform.Scalar `json:"discount"`
	FreeShipping json.RawMessage `json:"free_shipping"` // a bool, which older versions do not send
}

type refund struct {
	ID    platform.Scalar `json:"id"`
	Total platform.Scalar `json:"total"` // "-10.00"
}

// states are statuses of plug-ins, and the orderStatus that the merchant says each of them is.
type states map[string]int

// readStates reads fieldStates.
func readStates(text string) states {
	own := states{}
	for one := range strings.SplitSeq(text, ",") {
		name, means, _ := strings.Cut(strings.TrimSpace(one), "=")
		if is := slices.Index([]string{"approved", "pending", "cancelled"}, means); name != "" && is >= 0 {
			own[name] = is
		}
	}
	return own
}

// item reads one order of a list, or sets it aside.
func (own states) item(body []byte) platform.Item {
	return platform.ReadItem(body, func(o *order) (item platform.Item, err error) {
		item.ID = o.ID.Text
		item.CreatedAt, _ = platform.TimeGMT("date_created_gmt", o.CreatedAt) // zero where the order is set aside for it
		item.UpdatedAt, _ = platform.TimeGMT("date_modified_gmt", o.UpdatedAt)
		item.Order, err = o.read(own)
		return item, err
	})
}

// read maps an order to ours. Errors are *platform.Error: the field that cannot be read.
func (o *order) read(own states) (*platform.Order, error) {
	id, err := platform.ID("id", o.ID)
	if err != nil {
		return nil, err
	}
	out := &platform.Order{OrderID: id, Currency: o.Currency.Text, Codes: []platform.Code{}, Source: o.source()}
	if out.Status, err = o.state(own); err != nil {
		return nil, err
	}
	if out.CreatedAt, err = platform.TimeGMT("date_created_gmt", o.CreatedAt); err != nil {
		return nil, err
	}
	if out.UpdatedAt, err = platform.TimeGMT("date_modified_gmt", o.UpdatedAt); err != nil {
		return nil, err
	}
	if err := o.money(out); err != nil {
		return nil, err
	}
	if err := o.codes(out); err != nil {
		return nil, err
	}
	if err := o.items(out); err != nil {
		return nil, err
	}
	if out.Number, err = strconv.ParseInt(o.Number.Text, 10, 64); err != nil {
		out.Number, out.Name = 0, o.Number.Text // plug-ins write numbers such as "A-1042"
	}
	out.PaymentMethod = paymentMethod(o.PaymentMethod.Text)
	o.visit(out)
	out.Browser(o.IP, o.UserAgent)
	b := o.Billing.Value
	out.Country, out.Province = b.Country.Text, b.State.Text
	out.Buyer(o.CustomerID, strings.TrimSpace(b.FirstName.Text+" "+b.LastName.Text), b.Email.Text, b.Phone.Text)
	// The key is random, and the page after the order knows it. It also stands in that page's address, out of which the edge takes
	// it (internal/scrub, checkout.go). cart_hash is never sent: it is a hash of what was bought.
	out.CartToken = o.OrderKey.Text
	return out, out.Tidy()
}

// state is orderStatus. Statuses of plug-ins set the order aside until the merchant says what they mean.
func (o *order) state(own states) (int, error) {
	switch o.Status.Text {
	case "processing", "completed":
		return 0, nil
	case "pending", "on-hold", "checkout-draft":
		return 1, nil
	case "cancelled", "refunded", "failed", "trash":
		return 2, nil
	}
	if is, said := own[o.Status.Text]; said {
		return is, nil
	}
	return 0, platform.Unread("status is not one of WooCommerce's own")
}

// source is where the order comes from: the checkouts of the shop's pages, or an order made by hand or by another program.
func (o *order) source() int {
	switch o.CreatedVia.Text {
	case "", "checkout", "store-api":
		return 0
	}
	return 3
}

// money reads the amounts. What was refunded is taken off the total, which is never below 0; of the tax the same share is left.
func (o *order) money(out *platform.Order) error {
	total, err := platform.Minor("total", o.Total, out.Currency)
	if err != nil {
		return err
	}
	left := total
	if o.Refunds.Wrong {
		return platform.Unread("refunds is no list")
	}
	for _, r := range o.Refunds.Values {
		r.Total.Text = strings.TrimPrefix(r.Total.Text, "-")
		back, err := platform.Minor("refunds[].total", r.Total, out.Currency)
		if err != nil {
			return err
		}
		left = max(left-back, 0)
		out.Refunds = append(out.Refunds, platform.Refund{ID: platform.KnownID(r.ID), Amount: platform.Number(back, out.Currency)})
	}
	out.TotalPrice = platform.Number(left, out.Currency)
	for _, part := range []struct {
		field string
		value platform.Scalar
		to    *json.Number
	}{{"discount_total", o.DiscountTotal, &out.Discounts}, {"shipping_total", o.ShippingTotal, &out.Shipping},
		{"total_tax", o.TotalTax, &out.Tax}} {
		if part.value == (platform.Scalar{}) {
			continue
		}
		minor, err := platform.Minor(part.field, part.value, out.Currency)
		if err != nil {
			return err
		}
		if part.to == &out.Tax && left < total {
			minor = decimal.NewFromInt(minor).Mul(decimal.NewFromInt(left)).Div(decimal.NewFromInt(total)).IntPart()
		}
		*part.to = platform.Number(minor, out.Currency)
	}
	return nil
}

// codes reads the coupons. One that took nothing off may have freed the shipping: what it took off is not known then.
func (o *order) codes(out *platform.Order) error {
	if o.Coupons.Wrong {
		return platform.Unread("coupon_lines is no list")
	}
	for _, c := range o.Coupons.Values {
		if c.Code.Wrong || c.Code.Text == "" {
			return platform.Unread("coupon_lines[].code is no text")
		}
		off, err := platform.Minor("coupon_lines[].discount", c.Discount, out.Currency)
		if err != nil {
			return err
		}
		amount := platform.Number(off, out.Currency)
		if off == 0 && string(c.FreeShipping) != "false" {
			amount = ""
		}
		out.AddCode(c.Code.Text, amount)
	}
	return nil
}

// items reads the lines. price is a float there, so a piece's price is the line's total divided; a line of 0.5 kg is one piece.
func (o *order) items(out *platform.Order) error {
	if o.Lines.Wrong {
		return platform.Unread("line_items is no list")
	}
	for _, l := range o.Lines.Values {
		total, err := platform.Minor("line_items[].total", l.Total, out.Currency)
		if err != nil {
			return err
		}
		measure, err := commerce.ParseDecimal(l.Quantity.Text)
		if err != nil || measure.IsNegative() || measure.GreaterThan(decimal.NewFromInt(commerce.MaxQuantity)) {
			return platform.Unread("line_items[].quantity is no quantity")
		}
		if measure.IsZero() {
			continue
		}
		quantity := 1
		if measure.IsInteger() {
			quantity = int(measure.IntPart())
		}
		item := platform.OrderItem{ProductID: platform.KnownID(l.ProductID), VariantID: platform.KnownID(l.VariationID),
			Quantity: quantity, Price: platform.Price(total, quantity, out.Currency)}
		item.ItemID = cmp.Or(item.VariantID, item.ProductID)
		out.Items = append(out.Items, item)
	}
	return nil
}

// attribution begins the keys in which WooCommerce (8.5 and later) stores where the visit came from.
const attribution = "_wc_order_attribution_"

// visit fills the UTM parameters. Words in brackets, such as "(direct)", are WooCommerce's and no parameters.
func (o *order) visit(out *platform.Order) {
	values := map[string]string{}
	for _, m := range o.Meta.Values {
		if name, ours := strings.CutPrefix(m.Key.Text, attribution); ours && !strings.HasPrefix(m.Value.Text, "(") {
			values[name] = m.Value.Text
		}
	}
	if values["utm_source"] == "" && values["utm_campaign"] == "" {
		out.Landing(values["session_entry"])
		return
	}
	out.UTMSource, out.UTMMedium, out.UTMCampaign = values["utm_source"], values["utm_medium"], values["utm_campaign"]
	out.UTMContent, out.UTMTerm = values["utm_content"], values["utm_term"]
}

// paymentMethod is ours for the id of a payment plug-in, whose names are not documented but for a few; 0 where there is none.
func paymentMethod(id string) int {
	id = strings.ToLower(id)
	switch {
	case id == "":
		return 0
	case id == "bacs":
		return 2
	case strings.Contains(id, "pix"):
		return 4
	case strings.Contains(id, "boleto"):
		return 3
	case strings.Contains(id, "credit"):
		return 1
	}
	return 15
}
