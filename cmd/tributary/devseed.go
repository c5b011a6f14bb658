package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/devstack/storefront"
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
