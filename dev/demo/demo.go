package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/tributary-io/tributary/dev/storefront"
	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
)

// Host is the demo shop's host in links. Links must be https on a public host, so
// the edge of dev replaces it by the shop's real address when it redirects.
const Host = "loja.example.com"

// saleOrder is the order that Sale reads.
const saleOrder = "demo-1001"

// Sale is the attributed sale as the API explains it.
type Sale struct {
	OrderID                        string
	Total, Commission              commerce.Amount
	Influencer, Campaign, Evidence string
	Links                          []Link
}

// Link is a short link of an influencer.
type Link struct{ Influencer, Campaign, URL string }

// Store is one store, used over HTTP as a merchant's platform and shoppers'
// browsers use it.
type Store struct {
	edgeURL, companyID string
	adminURL, apiKey   string
	client             *http.Client
}

// NewStore returns the store of a company: the edge's URL, and the admin API's
// with /admin/v1 and a key with all scopes.
func NewStore(edgeURL, companyID, adminURL, apiKey string) *Store {
	return &Store{
		edgeURL: edgeURL, companyID: companyID, adminURL: adminURL, apiKey: apiKey,
		client: &http.Client{
			Timeout:       10 * time.Second,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// Fill registers the products and influencers, sends the visits and orders of the last months and of today, closes two statements
// and pays the first. It may be called again after it was interrupted: influencers that exist are left out, and what is sent again
// changes nothing.
func (s *Store) Fill(ctx context.Context) error {
	for _, p := range storefront.Products() {
		price := money(p.PriceCents)
		body := map[string]any{"productId": p.ID, "productName": p.Name, "status": 1,
			"variants": []any{map[string]any{"variantId": p.ID, "title": p.Name, "sku": p.ID, "price": price, "currency": "BRL"}}}
		if err := s.api(ctx, http.MethodPost, "/product", body, nil); err != nil {
			return err
		}
	}
	known, err := s.links(ctx)
	if err != nil {
		return err
	}
	for _, p := range partners() {
		if hasLinkOf(known, p.name) {
			continue
		}
		if err := s.api(ctx, http.MethodPost, "/influencers", p.body(), nil); err != nil {
			return err
		}
	}
	links, err := s.links(ctx)
	if err != nil {
		return err
	}
	if err := s.history(ctx, time.Now()); err != nil {
		return err
	}
	if err := s.costs(ctx, time.Now()); err != nil {
		return err
	}
	if err := s.traffic(ctx, links); err != nil {
		return err
	}
	if err := s.followers(ctx, links); err != nil {
		return err
	}
	return s.statements(ctx, time.Now())
}

// costs adds what the store pays beside its influencers, once.
func (s *Store) costs(ctx context.Context, now time.Time) error {
	var known []json.RawMessage
	if err := s.api(ctx, http.MethodGet, "/costs", nil, &known); err != nil || len(known) > 0 {
		return err
	}
	begin := now.AddDate(0, -3, 0).Format(time.DateOnly)
	for name, value := range map[string]int{"Plataforma": 199, "Anúncios": 450} {
		cost := map[string]any{"name": name, "category": "marketing", "value": value, "frequency": "monthly", "start_date": begin}
		if err := s.api(ctx, http.MethodPost, "/costs", cost, nil); err != nil {
			return err
		}
	}
	return nil
}

func hasLinkOf(links []Link, influencer string) bool {
	for _, l := range links {
		if l.Influencer == influencer {
			return true
		}
	}
	return false
}

// links lists the short links of the store.
func (s *Store) links(ctx context.Context) ([]Link, error) {
	var list []struct {
		Name      string
		Campaigns []struct{ ID, Name string }
		Links     []struct {
			CampaignID string `json:"campaignId"`
			ShortURL   string `json:"short_url"`
		}
	}
	if err := s.api(ctx, http.MethodGet, "/influencers", nil, &list); err != nil {
		return nil, err
	}
	var links []Link
	for _, i := range list {
		for _, l := range i.Links {
			link := Link{Influencer: i.Name, URL: "http://" + l.ShortURL}
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

// Sale reads how the first order of the demo is credited. It waits a moment for
// the credit; if there is none by then, Influencer is empty.
func (s *Store) Sale(ctx context.Context) (sale Sale, err error) {
	var explained facts.Explanation
	for deadline := time.Now().Add(longestRetry); ; {
		if err := s.api(ctx, http.MethodGet, "/order/"+saleOrder+"/attribution", nil, &explained); err != nil {
			return sale, err
		}
		if explained.Payout.Winner != nil || time.Now().After(deadline) {
			break
		}
		if !background.Sleep(ctx, 50*time.Millisecond) { // the order and its touches come by different topics
			return sale, ctx.Err()
		}
	}
	sale.OrderID = explained.Order.OrderID
	for _, one := range []struct {
		text json.Number
		into *commerce.Amount
	}{{explained.Order.Total, &sale.Total}, {explained.Payout.Commission, &sale.Commission}} {
		minor, err := commerce.ParseMinor(one.text.String(), explained.Order.Currency)
		if err != nil && one.text != "" { // there is no commission if nobody is credited
			return sale, fmt.Errorf("the sale's amount %q: %w", one.text, err)
		}
		*one.into = commerce.Amount{Minor: minor, Currency: explained.Order.Currency}
	}
	if w := explained.Payout.Winner; w != nil {
		sale.Influencer, sale.Campaign, sale.Evidence = w.Influencer, w.Campaign, string(w.Evidence)
	}
	sale.Links, err = s.links(ctx)
	return sale, err
}
