package shopify

import (
	"fmt"
	"net/url"
	"time"

	"github.com/tributary-io/tributary/test/fakes/shop"
)

// zone is the shop's time zone.
var zone = time.FixedZone("", -3*60*60)

func stamp(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.In(zone).Format("2006-01-02T15:04:05-07:00")
}

func financial(o shop.Order) string {
	if o.State == shop.Paid && len(o.Refunds) > 0 {
		return "partially_refunded"
	}
	return string(o.State)
}

// set is an amount in the shop's currency and in the buyer's, which are the same here.
func set(m shop.Money, currency string) shop.Object {
	money := shop.O("amount", m.String(), "currency_code", currency)
	return shop.O("shop_money", money, "presentment_money", money)
}

// sums are the amounts of an order as Shopify parts them.
type sums struct {
	goods, shippingOff, goodsOff       shop.Money // before discounts; what codes took off the delivery and the goods
	shipping, rest, restGoods, restOff shop.Money // current: after refunds
}

func amounts(o shop.Order) (a sums) {
	a.goods = o.Subtotal()
	for _, discount := range o.Discounts {
		if discount.Kind == shop.CouponShipping {
			a.shippingOff += discount.Amount
		} else {
			a.goodsOff += discount.Amount
		}
	}
	a.shipping, a.rest = o.Shipping-a.shippingOff, o.Rest()
	a.restGoods = max(0, a.rest-a.shipping)
	a.restOff = a.goodsOff
	if left := a.goods - a.goodsOff; left > 0 {
		a.restOff = shop.Money(int64(a.goodsOff) * int64(a.restGoods) / int64(left))
	}
	return a
}

func source(o shop.Order) string {
	switch o.Channel {
	case shop.ChannelPOS:
		return "pos"
	case shop.ChannelAdmin:
		return "shopify_draft_order"
	case shop.ChannelAPI, shop.ChannelMarketplace:
		return "2329312"
	}
	return "web"
}

// online says whether the order went through a checkout in a browser.
func online(o shop.Order) bool { return o.Channel == shop.ChannelStore }

func text(t string) any {
	if t == "" {
		return nil
	}
	return t
}

// landing is the first page's path with its query.
func landing(o shop.Order) any {
	at, err := url.Parse(o.Landing)
	if o.Landing == "" || err != nil {
		return nil
	}
	return at.RequestURI()
}

func fulfillment(o shop.Order) any {
	if o.ShippedAt.IsZero() {
		return nil
	}
	return "fulfilled"
}

func reason(o shop.Order) any { return text(o.Reason) }

// order renders an order as REST and webhooks show it, in the documented order of its members.
func (p *Platform) order(o shop.Order) shop.Object {
	a, money := amounts(o), func(m shop.Money) shop.Object { return set(m, o.Currency) }
	checkout, cart, client, ip := any(nil), any(nil), any(nil), any(nil)
	if online(o) {
		checkout, cart, ip = o.CheckoutToken, o.CartToken, o.IP
		client = shop.O("accept_language", "pt-BR", "browser_height", nil, "browser_ip", o.IP, "browser_width", nil, "session_hash", nil,
			"user_agent", o.Agent)
	}
	codes, notes := []shop.Object{}, []shop.Object{}
	for _, discount := range o.Discounts {
		kind := map[shop.CouponKind]string{shop.CouponPercent: "percentage", shop.CouponAmount: "fixed_amount",
			shop.CouponShipping: "shipping"}[discount.Kind]
		codes = append(codes, shop.O("code", discount.Code, "amount", discount.Amount.String(), "type", kind))
	}
	for _, attribute := range o.Attributes {
		notes = append(notes, shop.O("name", attribute.Name, "value", attribute.Value))
	}
	outstanding := shop.Money(0)
	if o.State == shop.Pending || o.State == shop.Authorized {
		outstanding = o.Rest()
	}
	name := fmt.Sprintf("#%s", p.OrderNumber(o))
	return append(shop.O("id", o.ID, "admin_graphql_api_id", gid("Order", o.ID), "app_id", 580111, "browser_ip", ip,
		"buyer_accepts_marketing", false,
		"cancel_reason", reason(o), "cancelled_at", stamp(o.CancelledAt), "cart_token", cart, "checkout_token", checkout, "client_details",
		client,
		"closed_at", nil, "confirmation_number", o.Key[9:18], "confirmed", true, "contact_email", o.Customer.Email, "created_at",
		stamp(o.CreatedAt),
		"currency", o.Currency, "current_shipping_price_set", money(a.shipping),
		"current_subtotal_price", a.restGoods.String(), "current_subtotal_price_set", money(a.restGoods), "current_total_additional_fees_set",
		nil,
		"current_total_discounts", a.restOff.String(), "current_total_discounts_set", money(a.restOff), "current_total_duties_set", nil,
		"current_total_price", a.rest.String(), "current_total_price_set", money(a.rest), "current_total_tax", "0.00", "current_total_tax_set",
		money(0),
		"customer_locale", "pt-BR", "device_id", nil, "discount_codes", codes, "duties_included", false, "email", o.Customer.Email,
		"estimated_taxes", false, "financial_status", financial(o), "fulfillment_status", fulfillment(o), "landing_site", landing(o),
		"landing_site_ref", nil, "location_id", nil, "merchant_business_entity_id", "MTU0ODM4MDAwOQ", "merchant_of_record_app_id", nil,
		"name", name, "note", text(o.Note), "note_attributes", notes, "number", o.Number, "order_number", o.Number+900,
		"order_status_url", fmt.Sprintf("https://%s/%d/orders/%s/authenticate?key=%s", p.domain, p.shopID, o.Token[:32], o.Key),
		"original_total_additional_fees_set", nil, "original_total_duties_set", nil, "payment_gateway_names", []string{"manual"}, "phone", nil,
		"po_number", nil, "presentment_currency", o.Currency, "processed_at", stamp(o.CreatedAt), "reference", nil, "referring_site",
		text(o.Referrer),
		"source_identifier", nil, "source_name", source(o), "source_url", nil, "subtotal_price", (a.goods-a.goodsOff).String(),
		"subtotal_price_set", money(a.goods-a.goodsOff), "tags", "", "tax_exempt", false, "tax_lines", []any{}, "taxes_included", true, "test",
		o.Test,
		"token", o.Token[:32], "total_cash_rounding_payment_adjustment_set", money(0), "total_cash_rounding_refund_adjustment_set", money(0),
		"total_discounts", o.Discount().String(), "total_discounts_set", money(o.Discount()), "total_line_items_price", a.goods.String(),
		"total_line_items_price_set", money(a.goods), "total_outstanding", outstanding.String(), "total_price", o.Total().String(),
		"total_price_set", money(o.Total()), "total_shipping_price_set", money(o.Shipping), "total_tax", "0.00", "total_tax_set", money(0),
		"total_tip_received", "0.00", "total_weight", 0, "updated_at", stamp(o.UpdatedAt), "user_id", nil), p.parts(o, a)...)
}

// parts are the members of an order that are objects and lists.
func (p *Platform) parts(o shop.Order, a sums) shop.Object {
	applications := []shop.Object{}
	for _, discount := range o.Discounts {
		target, kind, value := "line_item", "percentage", percent(discount.Value)
		switch discount.Kind {
		case shop.CouponAmount:
			kind, value = "fixed_amount", shop.Money(discount.Value).String()
		case shop.CouponShipping:
			target, value = "shipping_line", "100.0"
		}
		applications = append(applications, shop.O("target_type", target, "type", "discount_code", "value", value, "value_type", kind,
			"allocation_method", "across", "target_selection", "all", "code", discount.Code))
	}
	refunds := []shop.Object{}
	for _, r := range o.Refunds {
		refunds = append(refunds, p.refund(o, r))
	}
	shipping := shop.O("id", o.ID*10+1, "carrier_identifier", nil, "code", "PAC", "current_discounted_price_set", set(a.shipping, o.Currency),
		"discounted_price", a.shipping.String(), "discounted_price_set", set(a.shipping, o.Currency), "is_removed", false, "phone", nil,
		"price", o.Shipping.String(), "price_set", set(o.Shipping, o.Currency), "requested_fulfillment_service_id", nil, "source", "shopify",
		"title", "PAC", "tax_lines", []any{}, "discount_allocations", []any{})
	return shop.O("billing_address", address(o.Customer), "customer", customer(o), "discount_applications", applications,
		"fulfillments", fulfillments(o), "line_items", lines(o), "payment_terms", nil, "refunds", refunds, "shipping_address",
		address(o.Customer),
		"shipping_lines", []shop.Object{shipping}, "returns", []any{}, "line_item_groups", []any{})
}

// percent writes hundredths of a percent as Shopify does: "10.0".
func percent(hundredths int64) string {
	if hundredths%100 == 0 {
		return fmt.Sprintf("%d.0", hundredths/100)
	}
	return shop.Money(hundredths).String()
}

func lines(o shop.Order) []shop.Object {
	list, parts := []shop.Object{}, o.LineDiscounts()
	for i, line := range o.Lines {
		allocations := []shop.Object{}
		for d, part := range parts[i] {
			if part > 0 {
				allocations = append(allocations, shop.O("amount", part.String(), "amount_set", set(part, o.Currency), "discount_application_index", d))
			}
		}
		list = append(list, shop.O("id", line.ID, "admin_graphql_api_id", gid("LineItem", line.ID), "attributed_staffs", []any{},
			"current_quantity", line.Quantity-line.Returned, "fulfillable_quantity", line.Quantity-line.Returned, "fulfillment_service", "manual",
			"fulfillment_status", fulfillment(o), "gift_card", false, "grams", 100, "name", line.Product.Name, "price", line.Product.Price.String(),
			"price_set", set(line.Product.Price, o.Currency), "product_exists", true, "product_id", line.Product.ID, "properties", []any{},
			"quantity", line.Quantity, "requires_shipping", true, "sales_line_item_group_id", nil, "sku", line.Product.SKU, "taxable", true,
			"title", line.Product.Name, "total_discount", "0.00", "total_discount_set", set(0, o.Currency), "variant_id", line.Product.Variant,
			"variant_inventory_management", "shopify", "variant_title", nil, "vendor", nil, "tax_lines", []any{}, "duties", []any{},
			"discount_allocations", allocations))
	}
	return list
}

func fulfillments(o shop.Order) []shop.Object {
	if o.ShippedAt.IsZero() {
		return []shop.Object{}
	}
	status := any(nil)
	if !o.DeliveredAt.IsZero() {
		status = "delivered"
	}
	updated := o.ShippedAt
	if !o.DeliveredAt.IsZero() {
		updated = o.DeliveredAt
	}
	return []shop.Object{shop.O("id", o.ID*10+2, "admin_graphql_api_id", gid("Fulfillment", o.ID*10+2), "created_at", stamp(o.ShippedAt),
		"location_id", 1, "name", fmt.Sprintf("#%d.1", o.Number+900), "order_id", o.ID, "service", "manual", "shipment_status", status,
		"status", "success", "tracking_company", nil, "tracking_number", nil, "tracking_numbers", []any{}, "tracking_url", nil,
		"tracking_urls", []any{}, "updated_at", stamp(updated), "line_items", lines(o))}
}

func address(c shop.Customer) shop.Object {
	return shop.O("first_name", c.First, "address1", c.Street+", "+c.StreetNumber, "phone", c.Phone, "city", c.City, "zip", c.Zip,
		"province", c.State,
		"country", "Brazil", "last_name", c.Last, "address2", c.Neighborhood, "company", nil, "latitude", nil, "longitude", nil,
		"name", c.First+" "+c.Last, "country_code", "BR", "province_code", c.State)
}

func customer(o shop.Order) shop.Object {
	c := o.Customer
	standard := shop.O("id", c.ID+1, "customer_id", c.ID, "first_name", c.First, "last_name", c.Last, "company", nil,
		"address1", c.Street+", "+c.StreetNumber, "address2", c.Neighborhood, "city", c.City, "province", c.State, "country", "Brazil", "zip",
		c.Zip,
		"phone", c.Phone, "name", c.First+" "+c.Last, "province_code", c.State, "country_code", "BR", "country_name", "Brazil", "default", true)
	return shop.O("id", c.ID, "created_at", stamp(c.CreatedAt), "updated_at", stamp(o.CreatedAt), "first_name", c.First, "last_name", c.Last,
		"state", "disabled", "note", nil, "verified_email", true, "multipass_identifier", nil, "tax_exempt", false, "email", c.Email,
		"phone", c.Phone, "currency", o.Currency, "tax_exemptions", []any{}, "admin_graphql_api_id", gid("Customer", c.ID), "default_address",
		standard)
}

// refund renders one refund: pieces of lines, or an adjustment of the order when it is a sum alone.
func (p *Platform) refund(o shop.Order, r shop.Refund) shop.Object {
	returned, adjustments := []shop.Object{}, []shop.Object{}
	for i, line := range r.Lines {
		item, _ := o.Line(line.Line)
		returned = append(returned, shop.O("id", r.ID*10+int64(i), "quantity", line.Quantity, "line_item_id", line.Line, "location_id", nil,
			"restock_type", "no_restock", "subtotal", float64(line.Amount)/100, "total_tax", 0, "subtotal_set", set(line.Amount, o.Currency),
			"total_tax_set", set(0, o.Currency), "line_item", shop.O("id", item.ID, "title", item.Product.Name, "quantity", item.Quantity,
				"price", item.Product.Price.String(), "sku", item.Product.SKU)))
	}
	if len(r.Lines) == 0 {
		adjustments = append(adjustments, shop.O("id", r.ID*10+5, "order_id", o.ID, "refund_id", r.ID, "amount", (-r.Amount).String(),
			"tax_amount", "0.00",
			"kind", "refund_discrepancy", "reason", "Refund discrepancy", "amount_set", set(-r.Amount, o.Currency), "tax_amount_set", set(0,
				o.Currency)))
	}
	transaction := shop.O("id", r.ID*10+6, "order_id", o.ID, "kind", "refund", "gateway", "manual", "status", "success", "message", "Refunded",
		"created_at", stamp(r.At), "test", o.Test, "authorization", nil, "location_id", nil, "user_id", nil, "parent_id", nil,
		"processed_at", stamp(r.At), "device_id", nil, "error_code", nil, "source_name", "web", "receipt", shop.Object{},
		"amount", r.Amount.String(), "currency", o.Currency, "payment_id", fmt.Sprintf("#%d.2", o.Number+900), "manual_payment_gateway", true,
		"amount_rounding", nil, "admin_graphql_api_id", gid("OrderTransaction", r.ID*10+6))
	return shop.O("id", r.ID, "order_id", o.ID, "created_at", stamp(r.At), "note", r.Reason, "user_id", nil, "processed_at", stamp(r.At),
		"duties", []any{}, "total_duties_set", set(0, o.Currency), "return", nil, "restock", false, "refund_shipping_lines", []any{},
		"admin_graphql_api_id", gid("Refund", r.ID), "order_adjustments", adjustments, "refund_line_items", returned,
		"transactions", []shop.Object{transaction})
}

func gid(kind string, id int64) string { return fmt.Sprintf("gid://shopify/%s/%d", kind, id) }
