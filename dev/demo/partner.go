package demo

import (
	"encoding/json"
	"net/url"
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
}

// partners are the influencers of the demo store: a few sell much, most a little.
func partners() []partner {
	percent := func(n json.Number) map[string]any { return map[string]any{"var_fee": n} }
	return []partner{
		{"Ana Prado", "Inverno", "fashion", "vestido", "ANA10", 10, percent("10"), 40, 30, 28},
		{"Beto Lima", "Inverno", "travel", "bolsa", "BETO15", 15,
			map[string]any{"fixed_fee": json.Number("12.50"), "is_coupon_cost": true}, 26, 12, 22},
		{"Caio Melo", "Estreia", "surf", "", leaked, 5, percent("8"), 22, 75, 3},
		{"Dandara Reis", "Verão", "beauty", "oculos", "DANDARA10", 10, percent("12"), 18, 9, 14},
		{"Elis Nogueira", "Verão", "fashion", "sandalia", "ELIS10", 10, percent("10"), 14, 7, 12},
		{"Fábio Arruda", "Verão", "fitness", "camiseta", "FABIO5", 5, percent("7.5"), 12, 6, 8},
		{"Gabi Torres", "Verão", "lifestyle", "chapeu", "GABI10", 10, percent("10"), 10, 5, 9},
		{"Hugo Sales", "Estreia", "photo", "oculos", "HUGO5", 5, percent("6"), 8, 3, 6},
		{"Íris Monteiro", "Inverno", "fashion", "bolsa", "IRIS15", 15, percent("12.5"), 8, 4, 5},
		{"João d'Ávila", "Estreia", "surf", "camiseta", "JOAO10", 10, percent("9"), 6, 2, 4},
		{"Karina Luz", "Verão", "mothers", "vestido", "KARI10", 10, percent("10"), 5, 2, 4},
		{"Léo Pacheco", "Verão", "music", "chapeu", "LEO5", 5, percent("5"), 4, 1, 2},
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
		"coupons": []any{map[string]any{"cupom": p.coupon}}, "costs": costs}
}

// query are the UTM values of the partner's links.
func (p partner) query() string {
	return url.Values{"utm_source": {"influencer"}, "utm_medium": {"link"}, "utm_campaign": {p.name}, "utm_content": {p.campaign}}.Encode()
}
