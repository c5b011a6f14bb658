package woocommerce

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/tributary-io/tributary/test/fakes/shop"
)

const layout = "2006-01-02T15:04:05"

// local and gmt write a time in the site's zone and in GMT; null when there is none.
func local(t time.Time) any { return written(t, zone) }
func gmt(t time.Time) any   { return written(t, time.UTC) }

func written(t time.Time, in *time.Location) any {
	if t.IsZero() {
		return nil
	}
	return t.In(in).Format(layout)
}

// OrderID is the number as text.
func (p *Platform) OrderID(o shop.Order) string { return strconv.FormatInt(o.ID, 10) }

// OrderNumber is the same as the id, without plug-ins that change it.
func (p *Platform) OrderNumber(o shop.Order) string { return strconv.FormatInt(o.ID, 10) }

// Status is the order's status.
func (p *Platform) Status(o shop.Order) string {
	switch {
	case o.Deleted:
		return "trash"
	case o.Cancelled:
		return "cancelled"
	case o.State == shop.Refunded:
		return "refunded"
	case o.State == shop.Voided:
		return "failed"
	case o.State == shop.Paid && !o.DeliveredAt.IsZero():
		return "completed"
	case o.State == shop.Paid:
		return "processing"
	case o.State == shop.Authorized || o.Method == "boleto":
		return "on-hold"
	}
	return "pending"
}

// completed is when an order became "completed".
func completed(o shop.Order) time.Time {
	if o.State == shop.Paid && !o.Cancelled {
		return o.DeliveredAt
	}
	return time.Time{}
}

func via(o shop.Order) string {
	switch o.Channel {
	case shop.ChannelAdmin:
		return "admin"
	case shop.ChannelAPI, shop.ChannelMarketplace:
		return "rest-api"
	case shop.ChannelPOS:
		return "pos-rest-api"
	}
	return "checkout"
}

// attribution is what the plug-in keeps about a visit since 8.5, as meta data.
func attribution(o shop.Order) []shop.Attribute {
	at, err := url.Parse(o.Landing)
	if o.Landing == "" || err != nil {
		if o.Channel == shop.ChannelAdmin {
			return []shop.Attribute{{Name: "_wc_order_attribution_source_type", Value: "admin"}}
		}
		return nil
	}
	kind := "typein"
	if at.Query().Get("utm_source") != "" {
		kind = "utm"
	} else if o.Referrer != "" {
		kind = "referral"
	}
	list := []shop.Attribute{{Name: "_wc_order_attribution_source_type", Value: kind}}
	if o.Referrer != "" {
		list = append(list, shop.Attribute{Name: "_wc_order_attribution_referrer", Value: o.Referrer})
	}
	for _, name := range []string{"utm_campaign", "utm_source", "utm_medium", "utm_content", "utm_term"} {
		if value := at.Query().Get(name); value != "" {
			list = append(list, shop.Attribute{Name: "_wc_order_attribution_" + name, Value: value})
		}
	}
	return append(list, shop.Attribute{Name: "_wc_order_attribution_session_entry", Value: o.Landing},
		shop.Attribute{Name: "_wc_order_attribution_user_agent", Value: o.Agent},
		shop.Attribute{Name: "_wc_order_attribution_device_type", Value: "Mobile"})
}

func meta(o shop.Order) []shop.Object {
	list := []shop.Object{}
	for i, attribute := range append(attribution(o), o.Attributes...) {
		list = append(list, shop.O("id", o.ID*100+int64(i), "key", attribute.Name, "value", attribute.Value))
	}
	return list
}

func person(c shop.Customer, contact bool) shop.Object {
	out := shop.O("first_name", c.First, "last_name", c.Last, "company", "", "address_1", c.Street+", "+c.StreetNumber, "address_2",
		c.Neighborhood,
		"city", c.City, "state", c.State, "postcode", c.Zip, "country", "BR")
	if contact {
		out = append(out, shop.O("email", c.Email, "phone", c.Phone)...)
	}
	return out
}

// order renders an order in the documented order of its members.
func (p *Platform) order(s *shop.Shop, o shop.Order) shop.Object {
	shipping, goods := o.Shipping, shop.Money(0)
	coupons := []shop.Object{}
	for i, discount := range o.Discounts {
		taken := discount.Amount
		if discount.Kind == shop.CouponShipping {
			shipping -= taken // free delivery: the coupon's line says 0.00
			taken = 0
		}
		goods += taken
		coupons = append(coupons, shop.O("id", o.ID*10+int64(i), "code", strings.ToLower(discount.Code), "discount", taken.String(),
			"discount_tax", "0.00", "meta_data", []any{}))
	}
	refunds := []shop.Object{}
	for _, refund := range o.Refunds {
		refunds = append(refunds, shop.O("id", refund.ID, "reason", refund.Reason, "total", (-refund.Amount).String()))
	}
	method := map[string]string{"pix": "Pix", "credit_card": "Credit card", "boleto": "Boleto"}[o.Method]
	out := shop.O("id", o.ID, "parent_id", 0, "number", p.OrderNumber(o), "order_key", o.Key, "created_via", via(o), "version", "10.3.5",
		"status", p.Status(o), "currency", o.Currency, "date_created", local(o.CreatedAt), "date_created_gmt", gmt(o.CreatedAt),
		"date_modified", local(o.UpdatedAt), "date_modified_gmt", gmt(o.UpdatedAt), "discount_total", goods.String(), "discount_tax", "0.00",
		"shipping_total", shipping.String(), "shipping_tax", "0.00", "cart_tax", "0.00", "total", o.Total().String(), "total_tax", "0.00",
		"prices_include_tax", false, "customer_id", o.Customer.ID, "customer_ip_address", o.IP, "customer_user_agent", o.Agent, "customer_note",
		o.Note,
		"billing", person(o.Customer, true), "shipping", person(o.Customer, false), "payment_method", o.Method, "payment_method_title", method,
		"transaction_id", "", "date_paid", local(o.PaidAt), "date_paid_gmt", gmt(o.PaidAt), "date_completed", local(completed(o)),
		"date_completed_gmt", gmt(completed(o)), "cart_hash", o.CartToken, "meta_data", meta(o), "line_items", lines(o),
		"tax_lines", []any{}, "shipping_lines", []shop.Object{shop.O("id", o.ID*10+9, "method_title", "PAC", "method_id", "flat_rate",
			"total", shipping.String(), "total_tax", "0.00", "taxes", []any{}, "meta_data", []any{})},
		"fee_lines", []any{}, "coupon_lines", coupons, "refunds", refunds)
	if p.options.Undocumented {
		out = append(out, shop.O("payment_url", s.URL()+"/checkout/order-pay/", "is_editable", o.State == shop.Pending,
			"needs_payment", o.State == shop.Pending, "needs_processing", true, "currency_symbol", "R$")...)
	}
	return append(out, links(s, fmt.Sprintf("orders/%d", o.ID), "orders")...)
}

func lines(o shop.Order) []shop.Object {
	list := make([]shop.Object, 0, len(o.Lines))
	discounts := o.LineDiscounts()
	for i, line := range o.Lines {
		subtotal := line.Product.Price * shop.Money(line.Quantity)
		total := subtotal
		for _, part := range discounts[i] {
			total -= part
		}
		list = append(list, shop.O("id", line.ID, "name", line.Product.Name, "product_id", line.Product.ID, "variation_id", line.Product.Variant,
			"quantity", line.Quantity, "tax_class", "", "subtotal", subtotal.String(), "subtotal_tax", "0.00", "total", total.String(),
			"total_tax", "0.00", "taxes", []any{}, "meta_data", []any{}, "sku", line.Product.SKU,
			"price", float64(total)/100/float64(line.Quantity)))
	}
	return list
}

func links(s *shop.Shop, self, collection string) shop.Object {
	at := func(path string) []shop.Object { return []shop.Object{shop.O("href", s.URL()+"/wp-json/wc/v3/"+path)} }
	return shop.O("_links", shop.O("self", at(self), "collection", at(collection)))
}

// refund renders one refund of an order.
func refund(s *shop.Shop, o shop.Order, r shop.Refund) shop.Object {
	returned := []shop.Object{}
	for i, line := range r.Lines {
		product, _ := o.Line(line.Line)
		returned = append(returned, shop.O("id", r.ID*10+int64(i), "name", product.Product.Name, "product_id", product.Product.ID,
			"variation_id", product.Product.Variant, "quantity", -line.Quantity, "tax_class", "", "subtotal", (-line.Amount).String(),
			"subtotal_tax", "0.00", "total", (-line.Amount).String(), "total_tax", "0.00", "taxes", []any{}, "meta_data", []any{},
			"sku", product.Product.SKU, "price", float64(-line.Amount)/100))
	}
	out := shop.O("id", r.ID, "date_created", local(r.At), "date_created_gmt", gmt(r.At), "amount", r.Amount.String(), "reason", r.Reason,
		"refunded_by", 1, "refunded_payment", false, "meta_data", []any{}, "line_items", returned)
	return append(out, links(s, fmt.Sprintf("orders/%d/refunds/%d", o.ID, r.ID), fmt.Sprintf("orders/%d/refunds", o.ID))...)
}
