package preview

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/attribution"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
)

// mostSums bounds the totals and the credit of an answer, each: those that move most
// come first.
const mostSums = 1000

// findings collects what differs between outcomes before and after a change.
type findings struct {
	mostMoves int
	orders    Orders
	moves     []Move
	step      []Move // of the orders that are compared together now, in no order
	totals    map[totalKey]*beforeAfter
	credit    map[creditKey]*beforeAfter
	names     map[string]string // of influencers, by id
}

type totalKey struct {
	influencerID string
	state        facts.PayoutState
	currency     string
}

type creditKey struct{ model, channel, influencerID, currency string }

// beforeAfter are sums in minor units.
type beforeAfter struct{ before, after decimal.Decimal }

func (b *beforeAfter) difference() decimal.Decimal { return b.after.Sub(b.before) }

func newFindings(mostMoves int) *findings {
	return &findings{mostMoves: mostMoves, totals: map[totalKey]*beforeAfter{}, credit: map[creditKey]*beforeAfter{},
		names: map[string]string{}}
}

// add compares an order's outcomes before and after the change.
func (f *findings) add(o *wire.Order, was *facts.Outcome, is facts.Outcome, before, after *attribution.Index) {
	currencies := []string{o.Currency}
	if o.Currency != commerce.BRL && (was.Payout.FixedBRLMinor != 0 || is.Payout.FixedBRLMinor != 0) {
		currencies = append(currencies, commerce.BRL) // of the fixed fees
	}
	moved := false
	for i, currency := range currencies {
		from, fromMinor := f.share(&was.Payout, i == 0, currency, before)
		to, toMinor := f.share(&is.Payout, i == 0, currency, after)
		if same(from, to) {
			continue
		}
		moved = true
		if from != nil && isCounted(from.State) {
			s := sumOf(f.totals, totalKey{from.InfluencerID, from.State, currency})
			s.before = s.before.Add(fromMinor)
		}
		if to != nil && isCounted(to.State) {
			s := sumOf(f.totals, totalKey{to.InfluencerID, to.State, currency})
			s.after = s.after.Add(toMinor)
		}
		f.step = append(f.step, Move{OrderID: o.OrderID, CreatedAt: o.CreatedAt.UTC(), From: from, To: to,
			Amount: commerce.Sum{Minor: toMinor.Sub(fromMinor), Currency: currency}, Currency: currency})
	}
	if moved {
		f.orders.Moved++
	}
	if credits := renamed(was.Credits, before, after); !slices.Equal(credits, is.Credits) {
		f.orders.Credited++
		f.addCredit(o.Currency, credits, is.Credits)
	}
}

// endStep lists the moves of the orders that were compared together, the newest first,
// as far as there is room.
func (f *findings) endStep() {
	slices.SortStableFunc(f.step, func(a, b Move) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(a.OrderID, b.OrderID))
	})
	f.moves = append(f.moves, f.step[:min(len(f.step), f.mostMoves-len(f.moves))]...)
	f.step = f.step[:0]
}

// isCounted reports whether a payout of a state is an amount that somebody has, or waits
// for.
func isCounted(state facts.PayoutState) bool {
	return state == facts.PayoutEarned || state == facts.PayoutExpected || state == facts.PayoutReview
}

// share returns who has what of a payout in a currency, and the amount in minor units.
// It returns nil where the payout names nobody. isOwn: the currency is the order's.
func (f *findings) share(p *facts.Payout, isOwn bool, currency string, x *attribution.Index) (*Share, decimal.Decimal) {
	if p.InfluencerID == "" {
		return nil, decimal.Decimal{}
	}
	minor := decimal.NewFromInt(p.CommissionMinor)
	if !isOwn {
		minor = decimal.NewFromInt(p.FixedBRLMinor)
	}
	s := &Share{
		Influencer: x.InfluencerName(p.InfluencerID), InfluencerID: p.InfluencerID, Campaign: x.CampaignName(p.CampaignID),
		CampaignID: p.CampaignID,
		Evidence:   p.Evidence, State: p.State, Reason: p.Reason, Amount: commerce.Sum{Minor: minor, Currency: currency}, PayableOn: p.PayableOn,
	}
	f.names[s.InfluencerID] = s.Influencer
	return s, minor
}

// renamed returns credits under the names that influencers have after the change: a rename alone moves no credit.
func renamed(credits []facts.Credit, before, after *attribution.Index) []facts.Credit {
	credits = slices.Clone(credits)
	for i := range credits {
		c := &credits[i]
		if name := before.InfluencerName(c.InfluencerID); name != "" {
			if prefix, of := strings.CutSuffix(c.Channel, name); of && (prefix == "" || prefix == attribution.CouponChannel) {
				c.Channel = prefix + after.InfluencerName(c.InfluencerID)
			}
		}
	}
	return credits
}

// same reports whether both are nobody's, or equal. The name of one influencer may differ.
func same(a, b *Share) bool {
	if a == nil || b == nil {
		return a == b
	}
	x, y := *a, *b
	x.Amount, y.Amount = commerce.Sum{}, commerce.Sum{}
	x.Influencer, y.Influencer = "", ""
	return x == y && a.Amount.Minor.Equal(b.Amount.Minor)
}

// addCredit adds what the touches have of an order by every model.
func (f *findings) addCredit(currency string, was, is []facts.Credit) {
	add := func(list []facts.Credit, to func(s *beforeAfter) *decimal.Decimal) {
		for _, c := range list {
			for i, model := range facts.Models {
				sum := to(sumOf(f.credit, creditKey{model, c.Channel, c.InfluencerID, currency}))
				*sum = sum.Add(decimal.NewFromInt(c.Parts[i].Minor))
			}
		}
	}
	add(was, func(s *beforeAfter) *decimal.Decimal { return &s.before })
	add(is, func(s *beforeAfter) *decimal.Decimal { return &s.after })
}

func sumOf[K comparable](sums map[K]*beforeAfter, key K) *beforeAfter {
	if sums[key] == nil {
		sums[key] = &beforeAfter{}
	}
	return sums[key]
}

// byMost returns the keys of the sums that differ, those that differ most first, at most
// mostSums.
func byMost[K comparable](sums map[K]*beforeAfter, compare func(a, b K) int) []K {
	keys := slices.DeleteFunc(slices.Collect(maps.Keys(sums)), func(k K) bool { return sums[k].difference().IsZero() })
	slices.SortFunc(keys, func(a, b K) int {
		return cmp.Or(sums[b].difference().Abs().Cmp(sums[a].difference().Abs()), compare(a, b))
	})
	return keys[:min(len(keys), mostSums)]
}

// answer returns all that was found.
func (c *comparison) answer() *Answer {
	f := c.found
	a := &Answer{Moves: append([]Move{}, f.moves...), Totals: []Total{}, Credit: []Moved{}, Orders: f.orders, Cut: c.cut}
	a.Orders.Concerned, a.Orders.More, a.Orders.Computed = c.concerned, c.more, c.computed
	a.Orders.LeftOut = c.concerned - c.computed
	sum := func(minor decimal.Decimal, currency string) commerce.Sum {
		return commerce.Sum{Minor: minor, Currency: currency}
	}
	for _, k := range byMost(f.totals, func(a, b totalKey) int {
		return cmp.Or(cmp.Compare(a.influencerID, b.influencerID), cmp.Compare(a.state, b.state), cmp.Compare(a.currency, b.currency))
	}) {
		s := f.totals[k]
		a.Totals = append(a.Totals, Total{
			Influencer: f.names[k.influencerID], InfluencerID: k.influencerID, State: k.state, Currency: k.currency,
			Before: sum(s.before, k.currency), After: sum(s.after, k.currency), Amount: sum(s.difference(), k.currency),
		})
	}
	for _, k := range byMost(f.credit, func(a, b creditKey) int {
		return cmp.Or(cmp.Compare(a.model, b.model), cmp.Compare(a.channel, b.channel), cmp.Compare(a.influencerID, b.influencerID),
			cmp.Compare(a.currency, b.currency))
	}) {
		a.Credit = append(a.Credit, Moved{Model: k.model, Channel: k.channel, InfluencerID: k.influencerID, Currency: k.currency,
			Amount: sum(f.credit[k].difference(), k.currency)})
	}
	return a
}
