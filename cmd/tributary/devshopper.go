package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/tributary-io/tributary/sdk/core"
)

// visit is one shopper's: by which link they come, how far they get.
type visit struct {
	visitor string // fixed, so that a repeated seed is the same shopper
	link    string // an influencer's name; empty comes by search
	product string
	events  []string
	order   map[string]any // posted at the end; nil buys nothing
}

// traffic sends a few visits: the first is the sale that dev shows, credited by
// its link; another is credited by its coupon; one is nobody's.
func (s seeder) traffic(ctx context.Context, links []demoLink) error {
	bought := []string{core.PageView, core.ProductView, core.AddToCart, core.InitiateCheckout, core.CheckoutCompleted}
	looked := []string{core.PageView, core.ProductView}
	visits := []visit{
		{"demo-visitor-1", "Ana Prado", "vestido", bought, map[string]any{"orderId": demoOrder, "totalPrice": json.Number("204.90"), "shippingPrice": json.Number("15.00")}},
		{"demo-visitor-2", "Beto Lima", "bolsa", looked, nil},
		{"demo-visitor-3", "", "bolsa", bought, map[string]any{"orderId": "demo-1002", "totalPrice": json.Number("226.65"), "shippingPrice": json.Number("15.00"), "discountCode": "BETO15"}},
		{"demo-visitor-4", "Caio Melo", "chapeu", []string{core.PageView, core.ProductView, core.AddToCart}, nil},
		{"demo-visitor-5", "", "camiseta", bought, map[string]any{"orderId": "demo-1003", "totalPrice": json.Number("94.90"), "shippingPrice": json.Number("15.00")}},
		{"demo-visitor-6", "Ana Prado", "vestido", looked, nil},
	}
	for _, v := range visits {
		if err := s.visit(ctx, v, links); err != nil {
			return fmt.Errorf("visit of %s: %w", v.visitor, err)
		}
	}
	return nil
}

func (s seeder) visit(ctx context.Context, v visit, links []demoLink) error {
	page := "https://" + demoHost + "/p/" + v.product
	referrer := "https://www.google.com/"
	for _, l := range links {
		if l.Influencer == v.link && v.link != "" {
			landed, err := s.follow(ctx, l.URL)
			if err != nil {
				return err
			}
			// The shopper's address bar shows the shop's own name, not dev's rewritten one.
			landed.Scheme, landed.Host = "https", demoHost
			page, referrer = landed.String(), "https://www.instagram.com/"
		}
	}
	cart := v.visitor + "-cart"
	items := []any{map[string]any{"item_id": v.product, "item_quantity": 1}}
	var events []any
	now := time.Now().UTC()
	for i, name := range v.events {
		id, err := uuid.NewV7()
		if err != nil {
			return err
		}
		event := map[string]any{
			"eventId": id.String(), "event": name, "visitorId": v.visitor, "payload": map[string]any{"items": items},
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
	order := map[string]any{"orderStatus": 0, "createdAt": at, "updatedAt": at, "currency": "BRL", "cartToken": cart, "userId": v.visitor,
		"items": []any{map[string]any{"item_id": v.product, "productId": v.product, "variantId": v.product, "quantity": 1}}}
	for key, value := range v.order {
		order[key] = value
	}
	return s.api(ctx, http.MethodPost, "/order", order, nil)
}

// browser is what the demo's shoppers use: a click of a program is a bot's.
const browser = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36"

// follow opens a short link and gives where it leads.
func (s seeder) follow(ctx context.Context, link string) (*url.URL, error) {
	response, err := s.patiently(ctx, http.StatusFound, func() (*http.Request, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, link, nil)
		if err == nil {
			request.Header.Set("User-Agent", browser)
		}
		return request, err
	})
	if err != nil {
		return nil, err
	}
	return url.Parse(response.header.Get("Location"))
}

// track sends a batch of events as a browser's SDK would.
func (s seeder) track(ctx context.Context, events []any) error {
	body, err := json.Marshal(map[string]any{"companyId": s.info.CompanyID, "sentAt": time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), "events": events})
	if err != nil {
		return err
	}
	answer, err := s.patiently(ctx, http.StatusOK, func() (*http.Request, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.info.EdgeURL+"/v1/events", bytes.NewReader(body))
		if err == nil {
			request.Header.Set("Content-Type", "application/json")
			request.Header.Set("User-Agent", browser)
			request.Header.Set("Origin", "https://"+demoHost)
		}
		return request, err
	})
	if err != nil {
		return err
	}
	if strings.Contains(string(answer.body), `"rejected"`) {
		return fmt.Errorf("the edge rejected a demo event: %s", answer.body)
	}
	return nil
}

// api calls the admin API; data of the envelope lands in into.
func (s seeder) api(ctx context.Context, method, path string, body, into any) error {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return err
		}
	}
	answer, err := s.patiently(ctx, http.StatusOK, func() (*http.Request, error) {
		request, err := http.NewRequestWithContext(ctx, method, s.info.AdminURL+path, bytes.NewReader(text))
		if err == nil {
			request.Header.Set("Authorization", "Bearer "+s.info.APIKey)
			request.Header.Set("Content-Type", "application/json")
		}
		return request, err
	})
	if err != nil || into == nil {
		return err
	}
	envelope := struct{ Data any }{into}
	decoder := json.NewDecoder(bytes.NewReader(answer.body))
	decoder.UseNumber()
	return decoder.Decode(&envelope)
}

type answer struct {
	header http.Header
	body   []byte
}

// patience is how long a request is repeated: a link or company just made needs
// a moment to reach the edge, and an order to be processed.
const patience = 20 * time.Second

// patiently repeats a request until it is answered as wanted. 400 is for ever.
func (s seeder) patiently(ctx context.Context, want int, make func() (*http.Request, error)) (answer, error) {
	deadline := time.Now().Add(patience)
	for {
		request, err := make()
		if err != nil {
			return answer{}, err
		}
		response, err := s.client.Do(request)
		if err == nil {
			var body []byte
			body, err = io.ReadAll(io.LimitReader(response.Body, 4<<20))
			response.Body.Close()
			if err == nil && response.StatusCode == want {
				return answer{response.Header, body}, nil
			}
			if err == nil {
				err = fmt.Errorf("%s %s: %s: %s", request.Method, request.URL, response.Status, body)
			}
			if response.StatusCode == http.StatusBadRequest {
				return answer{}, err
			}
		}
		if time.Now().After(deadline) {
			return answer{}, err
		}
		select {
		case <-ctx.Done():
			return answer{}, errors.Join(ctx.Err(), err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
