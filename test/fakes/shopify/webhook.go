package shopify

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"time"

	"github.com/tributary-io/tributary/test/fakes/shop"
)

// topics are those that can be subscribed to here, with their words in GraphQL.
var topics = map[string]string{
	"ORDERS_CREATE": "orders/create", "ORDERS_UPDATED": "orders/updated", "ORDERS_PAID": "orders/paid", "ORDERS_CANCELLED": "orders/cancelled",
	"ORDERS_EDITED": "orders/edited", "ORDERS_DELETE": "orders/delete", "ORDERS_FULFILLED": "orders/fulfilled",
	"REFUNDS_CREATE":  "refunds/create",
	"APP_UNINSTALLED": "app/uninstalled", "PRODUCTS_UPDATE": "products/update", "DISCOUNTS_UPDATE": "discounts/update",
}

// Topics lists what a change sends. An uninstalled app gets nothing.
func (p *Platform) Topics(kind shop.Kind, o shop.Order) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.installed {
		return nil
	}
	switch kind {
	case shop.Placed:
		return []string{"orders/create", "orders/updated"}
	case shop.PaidNow:
		return []string{"orders/paid", "orders/updated"}
	case shop.Edited:
		return []string{"orders/edited", "orders/updated"}
	case shop.PartlyRefunded, shop.FullyRefunded:
		return []string{"refunds/create", "orders/updated"}
	case shop.Cancelled:
		if o.Cancelled {
			return []string{"orders/cancelled", "orders/updated"}
		}
	case shop.Shipped:
		return []string{"orders/fulfilled", "orders/updated"}
	case shop.Deleted:
		return []string{"orders/delete"}
	}
	return []string{"orders/updated"}
}

// Policy: 5 s for an answer, 8 more attempts over 4 hours with growing waits, then the subscription is removed.
func (p *Platform) Policy() shop.Policy {
	policy := shop.Policy{Timeout: 5 * time.Second, EndAfter: 9}
	for wait := time.Minute; len(policy.Waits) < 7; wait *= 2 {
		policy.Waits = append(policy.Waits, wait)
	}
	policy.Waits = append(policy.Waits, 113*time.Minute) // 127 minutes before it: 4 hours in all
	return policy
}

// Request makes the body of a topic and the headers with the signature: base64 of the HMAC of the raw body with the
// app's client secret.
func (p *Platform) Request(s *shop.Shop, d shop.Delivery) (http.Header, []byte) {
	raw, secret := shop.JSON(p.payload(d)), p.clientSecret
	if d.Forged == shop.ForgedKey {
		secret = "forged"
	}
	header := http.Header{"Content-Type": {"application/json"}, "User-Agent": {"Shopify-Captain-Hook"}}
	for name, value := range map[string]string{
		"Topic": d.Topic, "Hmac-Sha256": Sign(raw, secret), "Shop-Domain": p.domain, "Api-Version": "2026-07", "Webhook-Id": d.ID,
		"Event-Id": d.Event, "Triggered-At": d.At.UTC().Format("2006-01-02T15:04:05.000000000Z"),
	} {
		header.Set("X-Shopify-"+name, value)
	}
	if s.Options().Undocumented || d.Subscription.Name != "" {
		header.Set("X-Shopify-Name", d.Subscription.Name)
	}
	if d.Order.Test {
		header.Set("X-Shopify-Test", "true")
	}
	switch d.Forged {
	case shop.ForgedNone:
		header.Del("X-Shopify-Hmac-Sha256")
	case shop.ForgedBody:
		raw = bytes.Replace(raw, []byte(`":`), []byte(`": `), 1)
	}
	return header, raw
}

func (p *Platform) payload(d shop.Delivery) any {
	o := d.Order
	switch {
	case d.Extra != nil:
		return d.Extra
	case d.Topic == "orders/delete":
		return shop.O("id", o.ID)
	case d.Topic == "refunds/create":
		return p.refund(o, o.Refunds[len(o.Refunds)-1])
	case d.Topic == "orders/edited":
		change := o.History[len(o.History)-1]
		added, removed := []shop.Object{}, []shop.Object{}
		for _, line := range o.Lines {
			if line.Product.Name == change.Product && change.After > change.Before {
				added = append(added, shop.O("id", line.ID, "delta", change.After-change.Before))
			} else if line.Product.Name == change.Product {
				removed = append(removed, shop.O("id", line.ID, "delta", change.Before-change.After))
			}
		}
		none := shop.O("additions", []any{}, "removals", []any{})
		return shop.O("order_edit", shop.O("id", o.ID*10+7, "app_id", nil, "created_at", stamp(change.At), "committed_at", stamp(change.At),
			"notify_customer", false, "order_id", o.ID, "staff_note", "", "user_id", nil, "line_items", shop.O("additions", added, "removals",
				removed),
			"discounts", shop.O("line_item", none), "shipping_lines", none))
	}
	return p.order(o)
}

// Sign is the signature of a webhook's raw body.
func Sign(body []byte, clientSecret string) string {
	mac := hmac.New(sha256.New, []byte(clientSecret))
	mac.Write(body)
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
