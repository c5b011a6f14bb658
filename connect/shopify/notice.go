package shopify

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/tributary-io/tributary/connect/platform"
)

// payload is what a webhook's body has of use. Ids are numbers beyond 2^53.
// Source: shopify.dev/docs/apps/build/webhooks and /docs/apps/build/compliance/privacy-law-compliance.
type payload struct {
	ID        json.Number `json:"id"`
	OrderID   json.Number `json:"order_id"` // of a refund
	OrderEdit *struct {
		OrderID json.Number `json:"order_id"`
	} `json:"order_edit"`
	MyshopifyDomain json.RawMessage `json:"myshopify_domain"` // of app/uninstalled, whose example has null
	ShopDomain      string          `json:"shop_domain"`      // of the compliance topics
	Customer        *customer       `json:"customer"`
	ToRedact        []json.Number   `json:"orders_to_redact"`
	Requested       []json.Number   `json:"orders_requested"`
}

type customer struct {
	ID    json.Number `json:"id"`
	Email string      `json:"email"`
	Phone string      `json:"phone"`
}

const mostOrders = 1000 // of a person whom a notice names

// NoticeSecret is the client secret of the merchant's own app: Shopify signs with it, and takes no other.
func (*shopify) NoticeSecret(c platform.Credentials) string { return c["client_secret"] }

// signed tells that one of the secrets signed a delivery.
func signed(d platform.Delivery, secrets ...string) bool {
	sum, err := base64.StdEncoding.DecodeString(header(d.Header, "Hmac-Sha256"))
	return err == nil && platform.Signed(d.Body, sum, secrets...)
}

// NoticedShop is the shop of a compliance topic: the body names it, which is signed; the headers are not.
func (*shopify) NoticedShop(d platform.Delivery) (string, error) {
	if !signed(d, d.AppSecrets...) {
		return "", platform.ErrForged
	}
	var body payload
	if json.Unmarshal(d.Body, &body) != nil {
		return "", nil
	}
	return strings.ToLower(platform.Text(body.ShopDomain, 255)), nil
}

// Notices checks the HMAC over the raw body first. The headers are not signed: what a topic does must fit the signed body, so
// that a body that was sent for another topic does nothing.
func (*shopify) Notices(d platform.Delivery) ([]platform.Notice, error) {
	if !signed(d, append([]string{d.Secret}, d.AppSecrets...)...) {
		return nil, platform.ErrForged
	}
	if d.Shop == "" || !strings.EqualFold(header(d.Header, "Shop-Domain"), d.Shop) {
		return nil, platform.ErrForged // one secret signs for every shop that has the app
	}
	var body payload
	if json.Unmarshal(d.Body, &body) != nil {
		return nil, nil
	}
	topic := strings.ToLower(header(d.Header, "Topic"))
	switch kind, _, _ := strings.Cut(topic, "/"); kind {
	case "orders", "refunds":
		return body.order(topic), nil
	case "app":
		var domain *string
		if topic != "app/uninstalled" || json.Unmarshal(body.MyshopifyDomain, &domain) != nil ||
			domain != nil && !strings.EqualFold(*domain, d.Shop) {
			return nil, nil // no shop, or another one
		}
		return []platform.Notice{{Kind: platform.NoticeUninstalled}}, nil
	case "customers", "shop":
		if !strings.EqualFold(body.ShopDomain, d.Shop) {
			return nil, platform.ErrForged
		}
		return body.privacy(topic), nil
	}
	return nil, nil
}

// header has X-Shopify- before its name, and Shopify- in deliveries of the newer kind.
func header(h http.Header, name string) string {
	if value := h.Get("X-Shopify-" + name); value != "" {
		return value
	}
	return h.Get("Shopify-" + name)
}

func (p *payload) order(topic string) []platform.Notice {
	id := p.ID
	switch {
	case topic == "orders/edited" && p.OrderEdit != nil:
		id = p.OrderEdit.OrderID
	case strings.HasPrefix(topic, "refunds/"):
		id = p.OrderID
	}
	if text := digits(id); text != "" {
		return []platform.Notice{{Kind: platform.NoticeOrder, OrderID: text}}
	}
	return nil
}

func (p *payload) privacy(topic string) []platform.Notice {
	notice := platform.Notice{}
	var orders []json.Number
	switch {
	case topic == "customers/redact" && p.Customer != nil && p.Requested == nil:
		notice.Kind, orders = platform.NoticeRedact, p.ToRedact
	case topic == "customers/data_request" && p.Customer != nil && p.ToRedact == nil:
		notice.Kind, orders = platform.NoticeDataRequest, p.Requested
	case topic == "shop/redact" && p.Customer == nil:
		return []platform.Notice{{Kind: platform.NoticeRedactShop}}
	default:
		return nil
	}
	notice.Person = platform.Person{
		CustomerID: digits(p.Customer.ID), Email: platform.Text(p.Customer.Email, 512), Phone: platform.Text(p.Customer.Phone, 255),
	}
	for _, id := range orders[:min(len(orders), mostOrders)] {
		if text := digits(id); text != "" {
			notice.Person.OrderIDs = append(notice.Person.OrderIDs, text)
		}
	}
	return []platform.Notice{notice}
}

// digits is an id as text; empty where it is none.
func digits(n json.Number) string {
	if s := string(n); len(s) <= 20 && strings.Trim(s, "0123456789") == "" {
		return s
	}
	return ""
}
