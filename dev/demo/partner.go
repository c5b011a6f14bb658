package demo

import (
	"encoding/json"
	"net/url"
	"strings"

	"github.com/tributary-io/tributary/internal/commerce"
)

// partner is an influencer of the demo store.
type partner struct {
	name, campaign, category, product string // product: to which the link leads; empty: to the shop
	coupon                            string
	discount                          int            // of the coupon, in percent
	cost                              map[string]any // without its start date
	weight                            int            // how many of the followers' visits are theirs
	// Orders in 100 days: of followers who came by the link, and of those of whom only the code is known.
	buyers, codes int
	// The document is of one pattern of digits, so that nobody takes it for a person's. The Pix key is an e-mail of example.com, or
	// random: whoever scans a demo's code pays nobody.
	document, pix string
}

// partners are the influencers of the demo store: a few sell much, most a little.
func partners() []partner {
	percent := func(n json.Number) map[string]any { return map[string]any{"var_fee": n} }
	return []partner{
		{"Ana Prado", "Inverno", "fashion", "vestido", "ANA10", 10, percent("10"), 40, 30, 28, "111.222.333-96", "ana@example.com"},
		{"Beto Lima", "Inverno", "travel", "bolsa", "BETO15", 15,
			map[string]any{"fixed_fee": json.Number("12.50"), "is_coupon_cost": true}, 26, 12, 22, "222.333.444-05", "beto@example.com"},
		{"Caio Melo", "Estreia", "surf", "", leaked, 5, percent("8"), 22, 75, 3, "11.222.333/0001-81", "00000000-0000-4000-8000-00000000ca10"},
		{"Dandara Reis", "Verão", "beauty", "oculos", "DANDARA10", 10, percent("12"), 18, 9, 14, "333.444.555-08", "dandara@example.com"},
		{"Elis Nogueira", "Verão", "fashion", "sandalia", "ELIS10", 10, percent("10"), 14, 7, 12, "444.555.666-19", "elis@example.com"},
		{"Fábio Arruda", "Verão", "fitness", "camiseta", "FABIO5", 5, percent("7.5"), 12, 6, 8, "555.666.777-20", "fabio@example.com"},
		{"Gabi Torres", "Verão", "lifestyle", "chapeu", "GABI10", 10, percent("10"), 10, 5, 9, "666.777.888-30", "gabi@example.com"},
		{"Hugo Sales", "Estreia", "photo", "oculos", "HUGO5", 5, percent("6"), 8, 3, 6, "777.888.999-41", "hugo@example.com"},
		{"Íris Monteiro", "Inverno", "fashion", "bolsa", "IRIS15", 15, percent("12.5"), 8, 4, 5, "123.123.123-87", "iris@example.com"},
		{"João d'Ávila", "Estreia", "surf", "camiseta", "JOAO10", 10, percent("9"), 6, 2, 4, "234.234.234-98", "joao@example.com"},
		{"Karina Luz", "Verão", "mothers", "vestido", "KARI10", 10, percent("10"), 5, 2, 4, "345.345.345-07", "karina@example.com"},
		{"Léo Pacheco", "Verão", "music", "chapeu", "LEO5", 5, percent("5"), 4, 1, 2, "456.456.456-00", "leo@example.com"},
	}
}

// Coupons returns the codes of the demo influencers' coupons, each with the shop's discount in percent.
func Coupons() map[string]int {
	all := map[string]int{}
	for _, p := range partners() {
		all[p.coupon] = p.discount
	}
	return all
}

// body is that of POST /influencers. Costs begin long ago, so that orders of every date earn a commission.
func (p partner) body() map[string]any {
	const since = "2016-01-01"
	link := "https://" + Host + "/"
	if p.product != "" {
		link += "p/" + p.product
	}
	p.cost["start_date"] = since
	costs := []any{p.cost}
	if p.name == "Caio Melo" {
		costs = append(costs, map[string]any{"value": 500, "frequency": "monthly", "start_date": since})
	}
	return map[string]any{"name": p.name, "campaign": p.campaign, "category": p.category, "links": []any{map[string]any{"url": link}},
		"coupons": []any{map[string]any{"cupom": p.coupon}}, "costs": costs,
		"details": map[string]any{"document": p.document, "pix": map[string]any{"type": p.pixType(), "key": p.pix}}}
}

// pixType is that of the partner's key.
func (p partner) pixType() string {
	if strings.Contains(p.pix, "@") {
		return commerce.PixEmail
	}
	return commerce.PixRandom
}

// query are the UTM values of the partner's links.
func (p partner) query() string {
	return url.Values{"utm_source": {"influencer"}, "utm_medium": {"link"}, "utm_campaign": {p.name}, "utm_content": {p.campaign}}.Encode()
}
