package attribution

import (
	"encoding/json"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
)

// The explanation (docs/attribution.md, "Explanation"); the admin API adds the ledger.
type explanation struct {
	Order          explainedOrder             `json:"order"`
	Keys           []explainedKey             `json:"keys"`
	Touches        []explainedTouch           `json:"touches"`
	Payout         explainedPayout            `json:"payout"`
	Models         map[string][]explainedPart `json:"models"`
	Counterfactual struct {
		WithoutCoupon explainedPayout `json:"without_coupon"`
		WithoutLink   explainedPayout `json:"without_link"`
	} `json:"counterfactual"`
}

type explainedOrder struct {
	OrderID   string          `json:"orderId"`
	Total     commerce.Amount `json:"total"`
	Currency  string          `json:"currency"`
	CreatedAt string          `json:"createdAt"`
	Status    int             `json:"status"`
	Day       string          `json:"day"`
}

type explainedKey struct {
	Kind     string `json:"kind"`
	Strength int    `json:"strength"` // 5 cart … 1 phone
	Hub      bool   `json:"hub"`
	Visitors int    `json:"visitors"`
}

type explainedTouch struct {
	ID         string `json:"id"`
	At         string `json:"at"`
	Source     string `json:"source"`
	Medium     string `json:"medium"`
	Campaign   string `json:"campaign"`
	Channel    string `json:"channel"`
	Influencer string `json:"influencer,omitempty"`
	Click      string `json:"click,omitempty"`
	Evidence   string `json:"evidence"`
	MatchedBy  string `json:"matched_by"`
	Used       bool   `json:"used"`
	Reason     string `json:"reason,omitempty"`
}

type explainedWinner struct {
	Influencer   string `json:"influencer"`
	InfluencerID string `json:"influencer_id"`
	Campaign     string `json:"campaign"`
	CampaignID   string `json:"campaign_id,omitempty"`
	Evidence     string `json:"evidence"`
}

type explainedLoser struct {
	Influencer string `json:"influencer"`
	Evidence   string `json:"evidence"`
	Reason     string `json:"reason"`
}

type explainedCost struct {
	CostID   string          `json:"cost_id"`
	Level    string          `json:"level"`
	FixedFee commerce.Amount `json:"fixed_fee"`
	VarFee   json.Number     `json:"var_fee"`
	Revision int64           `json:"revision"`
	Amount   commerce.Amount `json:"amount"`  // in the order's currency
	Amounts  []explainedSum  `json:"amounts"` // all that is not zero, one a currency
}

// explainedSum is an amount that says its currency: a fixed fee is in BRL,
// whatever the order is in.
type explainedSum struct {
	Amount   commerce.Amount `json:"amount"`
	Currency string          `json:"currency"`
}

type explainedPayout struct {
	Winner      *explainedWinner `json:"winner"`
	Rule        string           `json:"rule"`
	Losers      []explainedLoser `json:"losers"`
	Costs       []explainedCost  `json:"costs"`
	Base        commerce.Amount  `json:"base"`
	Commission  commerce.Amount  `json:"commission"`       // in the order's currency; 0 where reversed
	Commissions []explainedSum   `json:"commissions"`      // all that is not zero, one a currency; none where reversed
	State       string           `json:"state"`            // earned | expected | reversed | none
	Reason      string           `json:"reason,omitempty"` // why none
	Note        string           `json:"note,omitempty"`   // the reason for people
}

type explainedPart struct {
	Touch      string          `json:"touch,omitempty"` // none where the share is of no touch
	Channel    string          `json:"channel"`
	Influencer string          `json:"influencer,omitempty"`
	Share      json.Number     `json:"share"`
	Amount     commerce.Amount `json:"amount"`
}

const stamp = "2006-01-02T15:04:05.000Z"

func (x *Index) explain(o *Order, keys []reach, touches []Touch, coupon, link *claim, paid payout, models []modelled) ([]byte, error) {
	e := explanation{
		Order: explainedOrder{
			OrderID: o.OrderID, Total: commerce.Amount{Minor: o.TotalMinor, Currency: o.Currency}, Currency: o.Currency,
			CreatedAt: o.CreatedAt.UTC().Format(time.RFC3339), Status: o.Status, Day: o.Day,
		},
		Keys: []explainedKey{}, Touches: []explainedTouch{}, Models: map[string][]explainedPart{},
		Payout: x.explainPayout(o, paid),
	}
	strength := map[string]int{}
	for i, kind := range facts.JoinKinds {
		strength[kind] = len(facts.JoinKinds) - i
	}
	for _, k := range keys {
		e.Keys = append(e.Keys, explainedKey{k.Kind, strength[k.Kind], k.hub, len(k.Visitors)})
	}
	for _, t := range touches {
		touch := explainedTouch{
			ID: t.ID, At: t.At.UTC().Format(stamp), Source: t.Source, Medium: t.Medium, Campaign: t.Campaign, Channel: t.Channel,
			Influencer: t.InfluencerName, Click: t.Click, Evidence: string(t.Kind), MatchedBy: t.MatchedBy, Used: true,
		}
		switch {
		case o.Source.Or(commerce.SourceWeb) == commerce.SourceMarketplace:
			touch.Used, touch.Reason = false, "marketplace orders take no link evidence"
		case t.Kind == Direct && x.rules.IgnoreDirect && !allDirect(touches):
			touch.Used, touch.Reason = false, "direct: only the model last counts it"
		}
		e.Touches = append(e.Touches, touch)
	}
	for _, m := range models {
		parts := []explainedPart{}
		for i, c := range m.credits {
			part := explainedPart{Touch: c.TouchID, Channel: c.Channel, Share: json.Number(m.portions[i]), Amount: commerce.Amount{Minor: c.AmountMinor, Currency: o.Currency}}
			if o.Status == commerce.OrderCancelled {
				part.Amount.Minor = 0
			}
			if f := x.byID[c.InfluencerID]; f != nil {
				part.Influencer = f.Name
			}
			parts = append(parts, part)
		}
		e.Models[m.model] = parts
	}
	e.Counterfactual.WithoutCoupon = x.explainPayout(o, x.pay(o, nil, link))
	e.Counterfactual.WithoutLink = x.explainPayout(o, x.pay(o, coupon, nil))
	return json.Marshal(e)
}

func allDirect(touches []Touch) bool {
	for _, t := range touches {
		if t.Kind != Direct {
			return false
		}
	}
	return true
}

func (x *Index) explainPayout(o *Order, p payout) explainedPayout {
	out := explainedPayout{
		Rule: x.rules.PayoutRule, Losers: []explainedLoser{}, Costs: []explainedCost{},
		Base:        commerce.Amount{Minor: o.base(), Currency: o.Currency},
		Commission:  commerce.Amount{Minor: p.commission, Currency: o.Currency},
		Commissions: explainSums(amounts(p.commission, o.Currency, p.fixedBRL)),
		State:       p.state(o), Reason: p.reason, Note: reasonNotes[p.reason],
	}
	if o.Status == commerce.OrderCancelled {
		out.Commission.Minor, out.Commissions = 0, []explainedSum{}
	}
	if p.winner != nil {
		out.Winner = &explainedWinner{
			Influencer: x.influencerName(p.winner.influencerID), InfluencerID: p.winner.influencerID,
			Campaign: x.campaignName(p.winner.campaignID), CampaignID: p.winner.campaignID, Evidence: p.winner.evidence,
		}
	}
	for _, l := range p.losers {
		out.Losers = append(out.Losers, explainedLoser{x.influencerName(l.influencerID), l.evidence, l.reason})
	}
	for _, c := range p.costs {
		out.Costs = append(out.Costs, explainedCost{
			CostID: c.cost.ID, Level: p.level, FixedFee: commerce.Amount{Minor: c.cost.FixedFeeMinor, Currency: commerce.BRL},
			VarFee: json.Number(c.cost.VarFee.String()), Revision: c.cost.Rev, Amount: commerce.Amount{Minor: c.amount, Currency: o.Currency},
			Amounts: explainSums(amounts(c.amount, o.Currency, c.fixedBRL)),
		})
	}
	return out
}

func explainSums(list []commerce.Amount) []explainedSum {
	sums := make([]explainedSum, len(list))
	for i, a := range list {
		sums[i] = explainedSum{a, a.Currency}
	}
	return sums
}

func (x *Index) influencerName(id string) string {
	if f := x.byID[id]; f != nil {
		return f.Name
	}
	return ""
}

func (x *Index) campaignName(id string) string {
	if c := x.campaignIDs[id]; c != nil {
		return c.Name
	}
	return ""
}
