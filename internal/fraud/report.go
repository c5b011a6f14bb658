package fraud

import (
	"errors"
	"slices"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
)

// ErrBeingMade says that a report takes longer than its reader may wait: it is made in the
// background, and can be read soon.
var ErrBeingMade = errors.New("the report of signs is being made")

// Report is the signs of a company's orders of some days.
type Report struct {
	Start  string // the first day, YYYY-MM-DD, in the store's time zone
	End    string // the last day
	AsOf   time.Time
	Orders int  // that were looked at
	Cut    bool // there were more: only the newest MostOrders were looked at
	Signs  []Signal
	Names  map[string]string // of influencers, by id
}

// MostOrders bounds the orders of one report: what a store sells in a month or a year, and what
// a process can hold, about 30 MB.
const MostOrders = 50_000

// Bounds of what is shown.
const (
	mostSigns  = 200 // those of the first kinds
	mostOrders = 20  // of one sign, the newest
)

// The report as JSON has it. Amounts are in units of their currency.
type (
	shownReport struct {
		Start  string      `json:"start_date"`
		End    string      `json:"end_date"`
		AsOf   string      `json:"as_of,omitempty"`
		Orders int         `json:"orders"`
		Cut    bool        `json:"cut"`
		Signs  []shownSign `json:"signs"`
	}
	shownSign struct {
		Kind         Kind          `json:"kind"`
		Text         string        `json:"text"`
		Influencer   string        `json:"influencer"`
		InfluencerID string        `json:"influencer_id"`
		Code         *string       `json:"code"`
		Since        string        `json:"since"`
		Observed     Rate          `json:"observed"`
		Usual        Rate          `json:"usual"`
		Orders       int           `json:"orders"`
		NewestOrders []string      `json:"newest_orders"`
		Sources      []shownSource `json:"sources"`
		Costs        []shownCost   `json:"costs"`
	}
	shownSource struct {
		Source string `json:"source"`
		Orders int    `json:"orders"`
	}
	shownCost struct {
		Currency   string          `json:"currency"`
		Commission commerce.Amount `json:"commission"`
		Turnover   commerce.Amount `json:"turnover"`
	}
)

// JSON returns the report for json.Marshal.
func (r *Report) JSON() any {
	shown := r.shown()
	shown.AsOf = r.AsOf.UTC().Format(time.RFC3339)
	return shown
}

// Content is JSON without the time of the answer: equal contents are equal reports.
func (r *Report) Content() any { return r.shown() }

func (r *Report) shown() shownReport {
	out := shownReport{Start: r.Start, End: r.End, Orders: r.Orders, Cut: r.Cut, Signs: []shownSign{}}
	for _, s := range r.Signs {
		sign := shownSign{
			Kind: s.Kind, Text: s.Text(r.Names[s.Influencer]), Influencer: r.Names[s.Influencer], InfluencerID: s.Influencer, Since: s.Since,
			Observed: s.Observed, Usual: s.Usual, Orders: s.Total, NewestOrders: []string{}, Sources: []shownSource{}, Costs: []shownCost{},
		}
		if s.Code != "" {
			sign.Code = &s.Code
		}
		for i := len(s.Orders) - 1; i >= 0 && len(sign.NewestOrders) < mostOrders; i-- {
			sign.NewestOrders = append(sign.NewestOrders, s.Orders[i])
		}
		for _, source := range s.Sources {
			sign.Sources = append(sign.Sources, shownSource{source.Name, source.Orders})
		}
		for _, c := range s.Costs {
			sign.Costs = append(sign.Costs,
				shownCost{c.Currency, commerce.Amount{Minor: c.Commission, Currency: c.Currency},
					commerce.Amount{Minor: c.Turnover, Currency: c.Currency}})
		}
		out.Signs = append(out.Signs, sign)
	}
	return out
}

// Limit keeps as many signs and orders as a report shows.
func (r *Report) Limit() {
	r.Signs = r.Signs[:min(len(r.Signs), mostSigns)]
	for i := range r.Signs {
		s := &r.Signs[i]
		s.Orders = slices.Clone(s.Orders[max(0, len(s.Orders)-mostOrders):])
	}
}
