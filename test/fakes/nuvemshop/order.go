package nuvemshop

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/tributary-io/tributary/test/fakes/shop"
)

// layout is how the API writes times: the offset has no colon.
const layout = "2006-01-02T15:04:05-0700"

func stamp(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format(layout)
}

// version says which documentation an answer follows.
type version struct {
	v1           bool
	undocumented bool // see the package's comment
	customers    bool // the app may read customers
	keepTotal    bool // see shop.Options.RefundKeepsTotal
	storeID      int64
	single       bool // GET /orders/{id}
	aggregates   bool // of fulfillment orders
}

func (p *Platform) version(r *http.Request) version {
	return version{
		v1: r.PathValue("version") == "v1", undocumented: p.options.Undocumented, customers: p.may("read_customers"),
		keepTotal: p.options.RefundKeepsTotal, storeID: p.storeID,
	}
}

// OrderID is the number as text.
func (p *Platform) OrderID(o shop.Order) string { return strconv.FormatInt(o.ID, 10) }

// OrderNumber is what the customer sees.
func (p *Platform) OrderNumber(o shop.Order) string { return strconv.Itoa(o.Number) }

// Status is status and payment_status of version 2025-03, with a slash between.
func (p *Platform) Status(o shop.Order) string {
	return status(o) + "/" + paymentStatus(o, version{})
}

func status(o shop.Order) string {
	if o.Cancelled || o.Deleted {
		return "cancelled"
	}
	return "open"
}

func paymentStatus(o shop.Order, v version) string {
	if o.State == shop.Paid && len(o.Refunds) > 0 && !v.v1 {
		return "partially_refunded"
	}
	return string(o.State)
}

func shippingStatus(o shop.Order, v version) string {
	switch {
	case !o.DeliveredAt.IsZero() && !v.v1:
		return "delivered"
	case !o.ShippedAt.IsZero():
		return "shipped"
	case o.State == shop.Paid:
		return "unshipped"
	}
	return "unpacked"
}

// shipping is what the customer pays for the delivery: a coupon of the kind "shipping" takes from here.
func shipping(o shop.Order) shop.Money {
	cost := o.Shipping
	for _, discount := range o.Discounts {
		if discount.Kind == shop.CouponShipping {
			cost -= discount.Amount
		}
	}
	return cost
}

// order renders an order in the documented order of its members.
func order(o shop.Order, v version) shop.Object {
	total, onGoods := o.Rest(), o.Discount()-(o.Shipping-shipping(o))
	if v.keepTotal {
		total = o.Total()
	}
	paid := shop.Money(0)
	if !o.PaidAt.IsZero() {
		paid = o.Rest()
	}
	name := o.Customer.First + " " + o.Customer.Last
	coupons := []shop.Object{}
	for _, code := range o.Codes() {
		coupons = append(coupons, shop.O("code", code))
	}
	out := shop.O("id", o.ID, "token", o.Token, "store_id", strconv.FormatInt(v.storeID, 10))
	if v.v1 {
		out = append(out, shop.O("shipping_min_days", 1, "shipping_max_days", 4)...)
	} else {
		out = append(out, shop.O("contact_email", o.Customer.Email, "contact_name", name, "contact_phone", o.Customer.Phone,
			"contact_identification", o.Customer.Document)...)
	}
	out = append(out, billing(o.Customer, name)...)
	if v.v1 || v.undocumented {
		out = append(out, shop.O("shipping_cost_owner", o.Shipping.String(), "shipping_cost_customer", shipping(o).String())...)
	}
	out = append(out, shop.O(
		"coupon", coupons,
		"promotional_discount", shop.O("id", nil, "store_id", v.storeID, "order_id", strconv.FormatInt(o.ID, 10),
			"created_at", stamp(o.CreatedAt), "total_discount_amount", "0.00", "contents", []any{}, "promotions_applied", []any{}),
		"subtotal", o.Subtotal().String(), "discount", onGoods.String(), "discount_coupon", onGoods.String(), "discount_gateway", "0.00",
		"total", total.String(), "total_usd", (total/5).String(), "checkout_enabled", true, "weight", "0.500",
		"currency", o.Currency, "language", "pt",
	)...)
	out = append(out, gateway(o)...)
	if v.v1 {
		out = append(out, shop.O("shipping", "correios", "shipping_option", "PAC", "shipping_option_code", "pac",
			"shipping_option_reference", nil, "shipping_pickup_details", nil, "shipping_tracking_number", nil,
			"shipping_tracking_url", nil, "shipping_store_branch_name", nil, "shipping_pickup_type", "ship",
			"shipping_suboption", []any{})...)
	}
	extra := shop.Object{}
	for _, attribute := range o.Attributes {
		extra = append(extra, shop.Member{Name: attribute.Name, Value: attribute.Value})
	}
	out = append(out, shop.O("extra", extra, "storefront", storefront(o), "note", o.Note,
		"created_at", stamp(o.CreatedAt), "updated_at", stamp(o.UpdatedAt),
		"completed_at", shop.O("date", o.CreatedAt.UTC().Format("2006-01-02 15:04:05.000000"), "timezone_type", 3, "timezone", "UTC"))...)
	if v.v1 {
		out = append(out, shop.O("next_action", "noop", "payment_details", payment(o, strconv.Itoa(installments(o))))...)
	} else {
		out = append(out, shop.O("payment_details", payment(o, installments(o)), "same_billing_and_shipping_address", true)...)
	}
	out = append(out, shop.O("attributes", []any{})...)
	if v.customers {
		out = append(out, shop.O("customer", customer(o, name))...)
	}
	out = append(out, shop.O("products", products(o, v), "number", o.Number, "cancel_reason", reason(o), "owner_note", nil,
		"cancelled_at", stamp(o.CancelledAt), "closed_at", nil, "read_at", nil, "status", status(o),
		"payment_status", paymentStatus(o, v))...)
	if !v.v1 {
		out = append(out, shop.O("gateway_link", nil)...)
	}
	out = append(out, shop.O("shipping_address", append(address(o, name, false), shop.Member{Name: "customs"}),
		"shipping_status", shippingStatus(o, v))...)
	if v.v1 {
		out = append(out, shop.O("shipped_at", stamp(o.ShippedAt))...)
	}
	if v.single && !v.v1 {
		fulfillments := []shop.Object{}
		if v.aggregates {
			fulfillments = append(fulfillments, fulfillment(o, name))
		}
		out = append(out, shop.O("fulfillments", fulfillments)...)
	}
	out = append(out, shop.O("paid_at", stamp(o.PaidAt))...)
	if v.v1 || v.undocumented {
		out = append(out, shop.O("landing_url", text(o.Landing))...)
	}
	out = append(out, shop.O("client_details", shop.O("browser_ip", o.IP, "user_agent", o.Agent), "app_id", app(o))...)
	if !v.v1 {
		out = append(out, shop.O("is_subscription", false, "is_subscription_initial", false, "total_paid_by_customer", paid.String())...)
	}
	if v.aggregates {
		out = append(out, shop.O("fulfillment_orders", []shop.Object{fulfillment(o, name)})...)
	}
	return out
}

func text(t string) any {
	if t == "" {
		return nil
	}
	return t
}

func reason(o shop.Order) any { return text(o.Reason) }

func app(o shop.Order) any {
	if o.Channel == shop.ChannelAPI {
		return 2181
	}
	return nil
}

func storefront(o shop.Order) string {
	switch o.Channel {
	case shop.ChannelMarketplace:
		return "meli"
	case shop.ChannelPOS:
		return "pos"
	case shop.ChannelAdmin:
		return "form"
	case shop.ChannelAPI:
		return "api"
	}
	return "store"
}

func installments(o shop.Order) int {
	if o.Method == "credit_card" {
		return 3
	}
	return 1
}

func payment(o shop.Order, installments any) shop.Object {
	company := any(nil)
	if o.Method == "credit_card" {
		company = "visa"
	}
	return shop.O("method", o.Method, "credit_card_company", company, "installments", installments)
}

func gateway(o shop.Order) shop.Object {
	if o.Method == "boleto" {
		return shop.O("gateway", "offline", "gateway_id", nil, "gateway_name", "Boleto")
	}
	return shop.O("gateway", "nuvempago", "gateway_id", strconv.FormatInt(o.ID*3, 10), "gateway_name", "Nuvem Pago")
}

func billing(c shop.Customer, name string) shop.Object {
	return shop.O("billing_name", name, "billing_phone", c.Phone, "billing_address", c.Street, "billing_number", c.StreetNumber,
		"billing_floor", nil, "billing_locality", c.Neighborhood, "billing_zipcode", c.Zip, "billing_city", c.City,
		"billing_province", c.State, "billing_country", "BR")
}

func address(o shop.Order, name string, standard bool) shop.Object {
	c := o.Customer
	return shop.O("address", c.Street, "city", c.City, "country", "BR", "created_at", stamp(o.CreatedAt), "default", standard,
		"floor", nil, "id", c.ID+1, "locality", c.Neighborhood, "name", name, "number", c.StreetNumber, "phone", c.Phone,
		"province", c.State, "updated_at", stamp(o.CreatedAt), "zipcode", c.Zip)
}

func customer(o shop.Order, name string) shop.Object {
	c := o.Customer
	main := address(o, name, true)
	out := shop.O("id", c.ID, "name", name, "email", c.Email, "identification", c.Document, "phone", c.Phone, "note", nil,
		"default_address", main, "addresses", []shop.Object{main})
	out = append(out, billing(c, name)...)
	return append(out, shop.O("extra", shop.Object{}, "total_spent", o.Total().String(), "total_spent_currency", o.Currency,
		"last_order_id", o.ID, "active", false, "created_at", stamp(c.CreatedAt), "updated_at", stamp(c.CreatedAt))...)
}

func products(o shop.Order, v version) []shop.Object {
	list := make([]shop.Object, 0, len(o.Lines))
	for _, line := range o.Lines {
		var quantity, variant any = strconv.Itoa(line.Quantity), strconv.FormatInt(line.Product.Variant, 10)
		if o.Channel == shop.ChannelAPI {
			quantity, variant = line.Quantity, line.Product.Variant
		}
		product := shop.O("id", line.ID, "depth", "0.00", "height", "0.00", "name", line.Product.Name, "price", line.Product.Price.String())
		if !v.v1 {
			product = append(product, shop.O("compare_at_price", line.Product.Price.String())...)
		}
		list = append(list, append(product, shop.O("product_id", line.Product.ID,
			"image", shop.O("id", 0, "product_id", line.Product.ID, "src", "https://loja.example/p.png", "position", 1, "alt", []any{},
				"created_at", stamp(o.CreatedAt), "updated_at", stamp(o.CreatedAt)),
			"quantity", quantity, "free_shipping", false, "weight", "0.50", "width", "0.00", "variant_id", variant,
			"variant_values", []any{}, "properties", []any{}, "sku", line.Product.SKU, "barcode", nil)...))
	}
	return list
}

// fulfillment renders the one shipment of an order.
func fulfillment(o shop.Order, name string) shop.Object {
	state, done := "UNPACKED", any(nil)
	switch {
	case !o.DeliveredAt.IsZero():
		state, done = "DELIVERED", o.ShippedAt.UTC().Format(time.RFC3339)
	case !o.ShippedAt.IsZero():
		state, done = "DISPATCHED", o.ShippedAt.UTC().Format(time.RFC3339)
	}
	lines, pieces := []shop.Object{}, 0
	for i, line := range o.Lines {
		pieces += line.Quantity
		lines = append(lines, shop.O("id", strconv.Itoa(i+1), "quantity", line.Quantity, "order_line_item_id", strconv.FormatInt(line.ID, 10),
			"created_at", o.CreatedAt.UTC().Format(time.RFC3339), "updated_at", o.UpdatedAt.UTC().Format(time.RFC3339)))
	}
	cost := shop.O("value", number(shipping(o)), "currency", o.Currency)
	return shop.O("id", fmt.Sprintf("01BX5ZZKBKACTAV%011d", o.ID%100_000_000_000), "number", strconv.Itoa(o.Number), "total_quantity", pieces,
		"total_weight", 0.5, "total_price", shop.O("value", number(o.Subtotal()), "currency", o.Currency), "line_items", lines,
		"recipient", shop.O("name", name, "phone", o.Customer.Phone, "identifier", o.Customer.Document),
		"shipping", shop.O("type", "ship", "carrier", shop.O("name", "Correios", "id", "12345"),
			"option", shop.O("name", "PAC", "code", "pac", "reference", nil), "merchant_cost", cost, "consumer_cost", cost,
			"min_delivery_date", nil, "max_delivery_date", nil, "pickup_details", nil),
		"status", state, "tracking_info", shop.O("url", nil, "code", nil), "fulfilled_at", done,
		"created_at", o.CreatedAt.UTC().Format(time.RFC3339), "updated_at", o.UpdatedAt.UTC().Format(time.RFC3339))
}

// number writes an amount as a JSON number, exactly.
func number(m shop.Money) any { return exact(m.String()) }

type exact string

// MarshalJSON writes the digits.
func (e exact) MarshalJSON() ([]byte, error) { return []byte(e), nil }

// values renders what changed the total (GET /orders/{id}/history/values). An unpaid change that another follows is CANCELLED.
func values(o shop.Order) []shop.Object {
	list := []shop.Object{}
	for i, change := range o.History {
		if change.Delta == 0 || change.Kind == shop.Placed {
			continue
		}
		list = append(list, value(o, i))
	}
	return list
}

func value(o shop.Order, at int) shop.Object {
	change := o.History[at]
	state, method, closed := "PENDING", any(nil), any(nil)
	switch {
	case change.PaidDelta != 0:
		state, method, closed = "PAID", o.Method, stamp(change.At)
	case o.State != shop.Pending:
		state, closed = "PAID", stamp(o.PaidAt)
	default:
		for _, later := range o.History[at+1:] {
			if later.Delta != 0 {
				state, closed = "CANCELLED", stamp(later.At)
				break
			}
		}
	}
	return shop.O("status", state, "total_delta", number(change.Delta), "total_paid_diff", number(change.PaidDelta),
		"gateway_method", method, "gateway_name", nil, "closed_at", closed, "happened_at", change.At.UTC().Format("2006-01-02T15:04:05-07:00"))
}

// editions renders the edits (GET /orders/{id}/history/editions).
func editions(o shop.Order) []shop.Object {
	list := []shop.Object{}
	for i, change := range o.History {
		if change.Kind != shop.Edited {
			continue
		}
		changes := []shop.Object{}
		if change.Product != "" {
			kind := "ADD"
			if change.After < change.Before {
				kind = "REMOVED"
			}
			changes = append(changes, shop.O("type", kind, "modified_stock", true, "previous_quantity", change.Before,
				"new_quantity", change.After, "product_name", change.Product))
		}
		list = append(list, shop.O("product_changes", changes, "shipping_costs", []any{}, "transaction_information", value(o, i),
			"reason", nil, "happened_at", change.At.UTC().Format("2006-01-02T15:04:05-07:00")))
	}
	return list
}
