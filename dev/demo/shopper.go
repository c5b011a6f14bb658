package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/tributary-io/tributary/dev/storefront"
	"github.com/tributary-io/tributary/sdk/core"
)

// visit is one visit of a shopper to the shop.
type visit struct {
	visitor string // fixed, so that a repeated seed is the same shopper
	link    string // the influencer whose link they follow; empty: they come from a search
	product string
	events  []string
	order   map[string]any // the order they place; nil: none
	mail    bool           // the order has their e-mail and nothing that proves the visit
}

// traffic sends a few visits. The first has the order that Sale reads, which is
// credited by its link. One is credited by its coupon, one to nobody, and one waits in
// review.
func (s *Store) traffic(ctx context.Context, links []Link) error {
	bought := []string{core.PageView, core.ProductView, core.AddToCart, core.InitiateCheckout, core.CheckoutCompleted}
	looked := []string{core.PageView, core.ProductView}
	visits := []visit{
		{"demo-visitor-1", "Ana Prado", "vestido", bought,
			map[string]any{"orderId": saleOrder, "totalPrice": json.Number("204.90"), "shippingPrice": json.Number("15.00")}, false},
		{"demo-visitor-2", "Beto Lima", "bolsa", looked, nil, false},
		{"demo-visitor-3", "", "bolsa", bought,
			map[string]any{"orderId": "demo-1002", "totalPrice": json.Number("226.65"), "shippingPrice": json.Number("15.00"),
				"discountCode": "BETO15"}, false},
		{"demo-visitor-4", "Caio Melo", "chapeu", []string{core.PageView, core.ProductView, core.AddToCart}, nil, false},
		{"demo-visitor-5", "", "camiseta", bought,
			map[string]any{"orderId": "demo-1003", "totalPrice": json.Number("94.90"), "shippingPrice": json.Number("15.00")}, false},
		{"demo-visitor-6", "Ana Prado", "vestido", looked, nil, false},
		{"demo-visitor-7", "Caio Melo", "chapeu", bought,
			map[string]any{"orderId": "demo-1004", "totalPrice": json.Number("134.90"), "shippingPrice": json.Number("15.00")}, true},
	}
	for _, v := range visits {
		if err := s.visit(ctx, v, links); err != nil {
			return fmt.Errorf("visit of %s: %w", v.visitor, err)
		}
	}
	return nil
}

func (s *Store) visit(ctx context.Context, v visit, links []Link) error {
	page := "https://" + Host + "/p/" + v.product
	referrer := "https://www.google.com/"
	for _, l := range links {
		if l.Influencer == v.link && v.link != "" {
			landed, err := s.follow(ctx, l.URL, browser)
			if err != nil {
				return err
			}
			page, referrer = landed, "https://www.instagram.com/"
		}
	}
	cart := v.visitor + "-cart"
	items := []any{map[string]any{"item_id": v.product, "item_quantity": 1}}
	var events []any
	now := time.Now().UTC()
	visitor := visitorID(v.visitor)
	for i, name := range v.events {
		id, err := uuid.NewV7()
		if err != nil {
			return err
		}
		event := map[string]any{
			"eventId": id.String(), "event": name, "visitorId": visitor, "payload": map[string]any{"items": items},
			"timestamp": now.Add(time.Duration(i-len(v.events)) * time.Second).Format("2006-01-02T15:04:05.000Z"),
			"context":   map[string]any{"page": map[string]any{"url": page, "referrer": referrer}},
		}
		if name == core.InitiateCheckout || name == core.CheckoutCompleted {
			event["identity"] = map[string]any{"cart_token": cart, "email": v.visitor + "@example.com"}
		}
		events = append(events, event)
	}
	if err := s.track(ctx, events); err != nil {
		return err
	}
	if v.order == nil {
		return nil
	}
	at := now.Format("2006-01-02T15:04:05Z")
	order := map[string]any{"orderStatus": 0, "createdAt": at, "updatedAt": at, "currency": "BRL",
		"items": []any{map[string]any{"item_id": v.product, "productId": v.product, "variantId": v.product, "quantity": 1,
			"price": priceOf(v.product)}}}
	if v.mail {
		order["customer"] = map[string]any{"email": v.visitor + "@example.com"}
	} else {
		order["cartToken"], order["userId"] = cart, visitor
	}
	for key, value := range v.order {
		order[key] = value
	}
	return s.api(ctx, http.MethodPost, "/order", order, nil)
}

// priceOf is what a product costs; nil: there is no such product.
func priceOf(product string) any {
	for _, p := range storefront.Products() {
		if p.ID == product {
			return money(p.PriceCents)
		}
	}
	return nil
}

// browser is the shoppers' user agent: the edge takes a program for a bot.
const browser = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36"
