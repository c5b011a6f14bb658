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

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/devstack/storefront"
	"github.com/tributary-io/tributary/sdk/core"
)

// demoOrder is the sale that dev shows attributed.
const demoOrder = "demo-1001"

// demoCoupons are the coupons of the demo influencers, with what the shop takes off in percent.
func demoCoupons() map[string]int { return map[string]int{"ANA10": 10, "BETO15": 15} }

// demoInfluencers are registered through the admin API. Costs begin long ago,
// so that whatever a newcomer posts or imports earns.
func demoInfluencers() []map[string]any {
	const since = "2016-01-01"
	return []map[string]any{{
		"name": "Ana Prado", "campaign": "Inverno", "category": "fashion",
		"links":   []any{map[string]any{"url": "https://" + demoHost + "/p/vestido"}},
		"coupons": []any{map[string]any{"cupom": "ANA10"}},
		"costs":   []any{map[string]any{"var_fee": 10, "start_date": since}},
	}, {
		"name": "Beto Lima", "campaign": "Inverno", "category": "travel",
		"links":   []any{map[string]any{"url": "https://" + demoHost + "/p/bolsa"}},
		"coupons": []any{map[string]any{"cupom": "BETO15"}},
		"costs":   []any{map[string]any{"fixed_fee": json.Number("12.50"), "start_date": since, "is_coupon_cost": true}},
	}, {
		"name": "Caio Melo", "campaign": "Estreia", "category": "surf",
		"links": []any{map[string]any{"url": "https://" + demoHost + "/"}},
		"costs": []any{
			map[string]any{"var_fee": 8, "start_date": since},
			map[string]any{"value": 500, "frequency": "monthly", "start_date": since},
		},
	}}
}

// demoSale is the attributed sale as dev shows it, read from the API.
type demoSale struct {
	OrderID, Total, Commission     string // money with its currency
	Influencer, Campaign, Evidence string
	Links                          []demoLink
}

type demoLink struct{ Influencer, Campaign, URL string }

// seed fills an empty store through the real doors, once, and gives the sale
// that came of it; nil with --empty. What a killed start had sent already is
// found (influencers) or sent again to no effect (products, orders).
func (d *dev) seed(ctx context.Context) (*demoSale, error) {
	if d.config.empty && !d.secrets.Seeded {
		return nil, nil
	}
	s := seeder{info: d.info, client: &http.Client{
		Timeout:       10 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	if !d.secrets.Seeded {
		fmt.Fprintln(d.out, "making a demo store: products, influencers, a little traffic")
		if err := s.fill(ctx); err != nil {
			return nil, fmt.Errorf("fill the demo store: %w", err)
		}
		d.secrets.Seeded = true
		if err := d.secrets.save(); err != nil {
			return nil, err
		}
	}
	sale, err := s.sale(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the demo sale: %w", err)
	}
	return sale, nil
}

// seeder is a merchant's platform and a few shoppers' browsers.
type seeder struct {
	info   devInfo
	client *http.Client
}

func (s seeder) fill(ctx context.Context) error {
	for _, p := range storefront.Products() {
		price := json.Number(fmt.Sprintf("%d.%02d", p.PriceCents/100, p.PriceCents%100))
		body := map[string]any{"productId": p.ID, "productName": p.Name, "status": 1,
			"variants": []any{map[string]any{"variantId": p.ID, "title": p.Line, "sku": p.ID, "price": price, "currency": "BRL"}}}
		if err := s.api(ctx, http.MethodPost, "/product", body, nil); err != nil {
			return err
		}
	}
	known, err := s.links(ctx)
	if err != nil {
		return err
	}
	for _, influencer := range demoInfluencers() {
		if hasLinkOf(known, influencer["name"].(string)) {
			continue
		}
		if err := s.api(ctx, http.MethodPost, "/influencers", influencer, nil); err != nil {
			return err
		}
	}
	links, err := s.links(ctx)
	if err != nil {
		return err
	}
	return s.traffic(ctx, links)
}

func hasLinkOf(links []demoLink, influencer string) bool {
	for _, l := range links {
		if l.Influencer == influencer {
			return true
		}
	}
	return false
}

// links lists the short links of the store.
func (s seeder) links(ctx context.Context) ([]demoLink, error) {
	var influencers []struct {
		Name      string
		Campaigns []struct{ ID, Name string }
		Links     []struct {
			CampaignID string `json:"campaignId"`
			ShortURL   string `json:"short_url"`
		}
	}
	if err := s.api(ctx, http.MethodGet, "/influencers", nil, &influencers); err != nil {
		return nil, err
	}
	var links []demoLink
	for _, i := range influencers {
		for _, l := range i.Links {
			link := demoLink{Influencer: i.Name, URL: "http://" + l.ShortURL}
			for _, c := range i.Campaigns {
				if c.ID == l.CampaignID {
					link.Campaign = c.Name
				}
			}
			links = append(links, link)
		}
	}
	return links, nil
}

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

// sale reads how the demo order is credited.
func (s seeder) sale(ctx context.Context) (*demoSale, error) {
	var explained struct {
		Order struct {
			OrderID  string
			Total    json.Number
			Currency string
		}
		Payout struct {
			Winner *struct {
				Influencer, Campaign any // a name, or an object with one
				Evidence             string
			}
			Commission json.Number
		}
	}
	for deadline := time.Now().Add(patience); ; {
		if err := s.api(ctx, http.MethodGet, "/order/"+demoOrder+"/attribution", nil, &explained); err != nil {
			return nil, err
		}
		if explained.Payout.Winner != nil || time.Now().After(deadline) {
			break
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(50 * time.Millisecond): // its touches come by the other topic
		}
	}
	sale := &demoSale{
		OrderID:    explained.Order.OrderID,
		Total:      money(explained.Order.Total, explained.Order.Currency),
		Commission: money(explained.Payout.Commission, explained.Order.Currency),
	}
	if w := explained.Payout.Winner; w != nil {
		sale.Influencer, sale.Campaign, sale.Evidence = nameOf(w.Influencer), nameOf(w.Campaign), w.Evidence
	}
	var err error
	sale.Links, err = s.links(ctx)
	return sale, err
}

// money is a JSON number as people read it: 204.9 is "204.90 BRL".
func money(amount json.Number, currency string) string {
	minor, err := commerce.ParseMinor(amount.String(), currency)
	if err != nil {
		return amount.String() + " " + currency
	}
	return commerce.Amount{Minor: minor, Currency: currency}.String()
}

func nameOf(v any) string {
	if object, ok := v.(map[string]any); ok {
		v = object["name"]
	}
	text, _ := v.(string)
	return text
}
