package yampi

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/tributary-io/tributary/test/fakes/shop"
)

// zone is that of the shop.
var zone = time.FixedZone("-03:00", -3*60*60)

// stamp writes a time as PHP's date object: local, without its offset.
func stamp(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return shop.O("date", t.In(zone).Format("2006-01-02 15:04:05.000000"), "timezone_type", 3, "timezone", "America/Sao_Paulo")
}

// money writes an amount as a JSON number, exactly.
type money shop.Money

// MarshalJSON writes the digits, without zeros at the end.
func (m money) MarshalJSON() ([]byte, error) {
	text := strings.TrimRight(strings.TrimRight(shop.Money(m).String(), "0"), ".")
	return []byte(text), nil
}

func text(t string) any {
	if t == "" {
		return nil
	}
	return t
}

func cartToken(o shop.Order) string {
	t := o.CheckoutToken
	if len(t) != 32 {
		return t
	}
	return t[:8] + "-" + t[8:12] + "-" + t[12:16] + "-" + t[16:20] + "-" + t[20:]
}

func data(v any) shop.Object { return shop.O("data", v) }

// includes are the members of an order that a client must ask for.
var includes = []string{
	"items", "customer", "status", "shipping_address", "transactions", "promocode", "metadata", "statuses", "marketplace",
	"marketplace_account",
	"spreadsheet", "services", "whatsapp", "pix",
}

// order renders an order with the members that wanted names.
func (p *Platform) order(o shop.Order, wanted func(include string) bool) shop.Object {
	at, err := url.Parse(o.Landing)
	if err != nil {
		at = &url.URL{}
	}
	query, shipping := at.Query(), o.Shipping
	for _, discount := range o.Discounts {
		if discount.Kind == shop.CouponShipping {
			shipping -= discount.Amount
		}
	}
	utm := func(name string) any { return text(query.Get(name)) }
	now, promocode, market := status(o), any(nil), any(nil)
	if len(o.Discounts) > 0 {
		promocode = o.ID*10 + 1
	}
	if o.Channel == shop.ChannelMarketplace {
		market = 2
	}
	out := shop.O("id", o.ID, "merchant_id", p.merchant, "customer_id", o.Customer.ID, "status_id", now.id, "number", number(o),
		"cart_token", cartToken(o),
		"authorized", o.State == shop.Paid || o.State == shop.Authorized, "value_total", money(o.Total()), "value_products", money(o.Subtotal()),
		"value_discount", money(o.Discount()-(o.Shipping-shipping)), "value_shipment", money(shipping), "value_tax", money(0),
		"buyer_value_total", money(o.Total()), "buyer_value_tax", money(0), "shipment_cost", money(o.Shipping), "shipment_service", "PAC",
		"shipment_service_id", "29", "shipment_quote_id", "29", "shipment_icon_url", "https://shop.example/correios.svg", "days_delivery", 5,
		"date_delivery", stamp(o.CreatedAt.AddDate(0, 0, 5)), "delivered", !o.DeliveredAt.IsZero(), "track_code", nil, "track_url", nil,
		"promocode_id", promocode, "utm_source", utm("utm_source"), "utm_medium", utm("utm_medium"), "utm_campaign", utm("utm_campaign"),
		"utm_term", utm("utm_term"), "utm_content", utm("utm_content"), "ip", o.IP, "device", "mobile", "is_upsell", false, "has_upsell", false,
		"has_recomm", false, "sync_by_erp", false, "total_comments", 0, "marketplace_id", market, "marketplace_account_id", nil,
		"marketplace_partner_id", nil, "marketplace_sale_number", nil, "public_url", "https://api.dooki.com.br/v2/public/orders/"+cartToken(o),
		"reorder_url", "https://shop.example/cart", "payments", []shop.Object{payment(o, false)},
		"created_at", stamp(o.CreatedAt), "updated_at", stamp(o.UpdatedAt))
	for _, include := range includes {
		if wanted(include) {
			out = append(out, shop.Member{Name: include, Value: data(p.include(o, include))})
		}
	}
	return out
}

func payment(o shop.Order, whole bool) shop.Object {
	id, alias, name := 26, "pix", "Pix"
	switch o.Method {
	case "credit_card":
		id, alias, name = 2, "visa", "Visa"
	case "boleto":
		id, alias, name = 9, "billet", "Boleto Bancário"
	}
	if !whole {
		return shop.O("icon_url", "https://shop.example/icon.svg", "name", name, "alias", alias)
	}
	return shop.O("icon_url", "https://shop.example/icon.svg", "active_config", true, "is_pix", alias == "pix", "is_credit_card",
		alias == "visa",
		"is_pix_in_installments", false, "is_billet", alias == "billet", "name", name, "alias", alias, "id", id, "has_config", true,
		"is_deposit", false, "is_wallet", false)
}

func (p *Platform) include(o shop.Order, name string) any {
	now, c := status(o), o.Customer
	full := c.First + " " + c.Last
	switch name {
	case "items":
		return items(o)
	case "customer":
		return shop.O("id", c.ID, "merchant_id", p.merchant, "marketplace_id", nil, "active", true, "type", "f", "first_name", c.First,
			"last_name", c.Last,
			"generic_name", full, "email", c.Email, "cpf", c.Document, "cnpj", nil, "razao_social", nil, "state_registration", nil, "birthday", nil,
			"newsletter", false, "whatsapp", false, "anonymized", false, "notes", nil, "ip", o.IP, "token", cartToken(o), "utm_campaign", nil,
			"phone", shop.O("full_number", strings.TrimPrefix(c.Phone, "+55"), "area_code", "11", "number", c.Phone, "formated_number", c.Phone),
			"created_at", stamp(c.CreatedAt), "updated_at", stamp(c.CreatedAt))
	case "status":
		return shop.O("id", now.id, "name", now.name, "alias", now.alias, "description", now.name)
	case "statuses":
		return []shop.Object{shop.O("id", now.id, "name", now.name, "alias", now.alias, "description", now.name, "details", nil,
			"created_at", stamp(o.UpdatedAt), "updated_at", stamp(o.UpdatedAt))}
	case "shipping_address":
		return shop.O("id", c.ID+1, "order_id", o.ID, "receiver", full, "zip_code", c.Zip, "zipcode", c.Zip, "street", c.Street, "number",
			c.StreetNumber,
			"neighborhood", c.Neighborhood, "complement", nil, "reference", nil, "city", c.City, "state", c.State, "uf", c.State, "country", "BR",
			"full_address", c.Street+", "+c.StreetNumber, "address_name", nil)
	case "transactions":
		return []shop.Object{transaction(o)}
	case "promocode":
		if len(o.Discounts) == 0 {
			return []any{}
		}
		first := o.Discounts[0] // one alone
		return shop.O("id", o.ID*10+1, "code", first.Code, "name", first.Code, "active", true, "value", money(first.Amount), "type",
			string(first.Kind))
	case "metadata":
		list := []shop.Object{}
		for _, attribute := range o.Attributes {
			list = append(list, shop.O("key", attribute.Name, "value", attribute.Value))
		}
		return list
	}
	return []any{}
}

func items(o shop.Order) []shop.Object {
	list := []shop.Object{}
	for _, line := range o.Lines {
		p := line.Product
		sku := shop.O("id", p.Variant, "product_id", p.ID, "sku", p.SKU, "title", p.Name, "price_sale", money(p.Price), "price_discount",
			money(p.Price),
			"price_cost", money(0), "blocked_sale", false, "barcode", nil, "token", "TOKEN", "created_at", stamp(o.CreatedAt), "updated_at",
			stamp(o.CreatedAt))
		list = append(list, shop.O("id", line.ID, "product_id", p.ID, "sku_id", p.Variant, "item_sku", p.SKU, "bundle_id", nil, "bundle_name",
			nil,
			"quantity", line.Quantity, "price", money(p.Price), "price_cost", money(0), "shipment_cost", money(0), "gift", false, "gift_value",
			money(0),
			"is_digital", false, "has_recomm", 0, "customizations", []any{}, "sku", data(sku)))
	}
	return list
}

func transaction(o shop.Order) shop.Object {
	state := map[shop.State]string{
		shop.Pending: "waiting_payment", shop.Authorized: "authorized", shop.Paid: "paid", shop.Refunded: "refunded", shop.Voided: "refused",
	}[o.State]
	return shop.O("id", o.ID*10+3, "customer_id", o.Customer.ID, "payment_id", 26, "affiliation_id", 1, "marketplace_id", nil,
		"marketplace_account_id", nil,
		"status", state, "amount", money(o.Total()), "buyer_amount", money(o.Total()), "installments", 1, "installment_value", money(o.Total()),
		"installment_formated", "1x", "authorized", o.State != shop.Voided, "captured", o.State == shop.Paid, "cancelled", o.Cancelled,
		"can_be_cancelled", true, "can_be_captured", o.State == shop.Authorized, "gateway_transaction_id", fmt.Sprintf("ch_%d", o.ID),
		"gateway_order_id", fmt.Sprintf("or_%d", o.ID), "gateway_authorization_code", nil, "error_code", nil, "error_message", nil,
		"truncated_card", nil, "holder_name", nil, "holder_document", nil, "authorized_at", stamp(o.CreatedAt), "captured_at", stamp(o.PaidAt),
		"cancelled_at", stamp(o.CancelledAt), "created_at", stamp(o.CreatedAt), "updated_at", stamp(o.UpdatedAt), "metadata", data([]any{}),
		"payment", data(payment(o, true)))
}
