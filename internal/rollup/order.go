package rollup

import (
	"cmp"
	"crypto/sha256"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
)

// Order is all that reports count of an order.
type Order struct {
	Outcome *facts.Outcome // nil: none is computed yet, and the order is not counted
	Counted
}

// Counted is what reports count of an order beside its outcome.
type Counted struct {
	First *bool // whether it is its customer's first; nil: not known
	Items []wire.Item
}

// Equal reports whether two orders count the same beside their outcomes.
func (c Counted) Equal(other Counted) bool {
	return slices.Equal(c.Items, other.Items) && (c.First == nil) == (other.First == nil) && (c.First == nil || *c.First == *other.First)
}

// Add adds what an order counts, times times: 1, or -1 to take it back.
func (s *Sums) Add(o Order, times int64) {
	if o.Outcome == nil || o.Outcome.Payout.Reason == facts.ReasonTest {
		return
	}
	s.addSale(o, times)
	if o.Outcome.Status != commerce.OrderApproved {
		return
	}
	s.addCredits(o.Outcome, times)
	s.addPath(o.Outcome, times)
	s.AddProducts(o.Outcome.Day, o.Outcome.Currency, o.Items, times)
}

func (s *Sums) addSale(o Order, times int64) {
	out, p := o.Outcome, o.Outcome.Payout
	key := SaleKey{Day: out.Day, Currency: out.Currency}
	if p.State != facts.PayoutReview {
		key.InfluencerID, key.CampaignID, key.CouponID = p.InfluencerID, p.CampaignID, p.CouponID
	}
	one, total, commission := decimal.NewFromInt(times), minor(out.TotalMinor, times), minor(p.CommissionMinor, times)
	sums := s.sale(key)
	switch out.Status {
	case commerce.OrderApproved:
		sums.add(Orders, one)
		sums.add(Sales, total)
		if o.First != nil && *o.First {
			sums.add(NewCustomers, one)
		} else if o.First != nil {
			sums.add(ReturningOrders, one)
		}
	case commerce.OrderPending:
		sums.add(PendingOrders, one)
		sums.add(PendingSales, total)
	case commerce.OrderCancelled:
		sums.add(CancelledOrders, one)
		sums.add(CancelledSales, total)
	}
	column := Commission
	switch p.State {
	case facts.PayoutReview:
		sums.add(ReviewOrders, one)
		return
	case facts.PayoutExpected:
		column = PendingCommission
	case facts.PayoutEarned:
	default:
		return
	}
	sums.add(column, commission)
	if p.FixedBRLMinor != 0 { // beside the order's currency
		key.Currency = commerce.BRL
		s.sale(key).add(column, minor(p.FixedBRLMinor, times))
	}
}

func minor(amount, times int64) decimal.Decimal {
	return decimal.NewFromInt(amount).Mul(decimal.NewFromInt(times))
}

// shareDigits are the decimal places of a touch's share of an order: so many that the
// shares of a million orders sum to a whole number but for the sixth place.
const shareDigits = 12

func (s *Sums) addCredits(out *facts.Outcome, times int64) {
	var counted [facts.ModelCount]int64
	for _, c := range out.Credits {
		for i, part := range c.Parts {
			if part.Given {
				counted[i]++
			}
		}
	}
	total := decimal.NewFromInt(out.TotalMinor)
	for _, c := range out.Credits {
		sums := s.credit(CreditKey{Day: out.Day, Currency: out.Currency, Channel: c.Channel, InfluencerID: c.InfluencerID,
			CampaignID: c.CampaignID})
		for i, part := range c.Parts {
			if !part.Given {
				continue
			}
			share := decimal.NewFromInt(1).DivRound(decimal.NewFromInt(counted[i]), shareDigits) // of an order that comes to nothing
			if out.TotalMinor != 0 {
				share = decimal.NewFromInt(part.Minor).DivRound(total, shareDigits)
			}
			sums.add(2*i, share.Mul(decimal.NewFromInt(times)))
			sums.add(2*i+1, minor(part.Minor, times))
		}
	}
}

// PathOf returns the channels of the touches that count for an order, in their order: of
// those that the model linear counts.
func PathOf(credits []facts.Credit) (path []string) {
	for _, c := range credits { // by position
		if c.Of("linear").Given {
			path = append(path, c.Channel)
		}
	}
	return path
}

// PathSeparator stands between the channels of a path's digest: no name has it.
const PathSeparator = "\x1f"

// pathID is a digest of a path, of fixed size.
func pathID(path []string) string {
	sum := sha256.Sum256([]byte(strings.Join(path, PathSeparator)))
	return string(sum[:16])
}

func (s *Sums) addPath(out *facts.Outcome, times int64) {
	path := PathOf(out.Credits)
	if len(path) == 0 {
		return
	}
	orders, sales := decimal.NewFromInt(times), minor(out.TotalMinor, times)
	key := PathKey{Day: out.Day, Currency: out.Currency, ID: pathID(path)}
	addTo(row(&s.paths, key, len(PathColumns)), orders, sales).Path = path
	key.Day = MonthOf(key.Day)
	addTo(row(&s.months.paths, key, len(PathColumns)), orders, sales).Path = path
	s.addJourney(JourneyKey{Day: key.Day, Currency: key.Currency}, path, orders, sales)
}

// addJourney adds the parts of a path to those of a month. A channel that follows itself is
// no step, as models.Tally has it.
func (s *Sums) addJourney(of JourneyKey, path []string, orders, sales decimal.Decimal) {
	part := func(size int, before, channel string) {
		k := of
		k.Size, k.Before, k.Channel = size, before, channel
		addTo(row(&s.months.journeys, k, len(PathColumns)), orders, sales)
	}
	at := ""
	for _, channel := range path {
		if channel != at {
			part(0, at, channel)
			at = channel
		}
	}
	part(0, at, "")
	distinct := slices.Compact(slices.Sorted(slices.Values(path)))
	for _, channel := range distinct {
		part(len(distinct), "", channel)
	}
}

// AddProducts adds what the items of an approved order of a day count, times times.
func (s *Sums) AddProducts(day, currency string, items []wire.Item, times int64) {
	seen := map[string]bool{}
	for _, item := range items {
		id := cmp.Or(item.ProductID, item.VariantID, item.ItemID)
		if id == "" {
			continue
		}
		key := ProductKey{Day: day, Currency: currency, Item: id}
		if !seen[id] {
			seen[id] = true
			s.addProduct(key, ProductOrders, decimal.NewFromInt(times))
		}
		quantity := decimal.NewFromInt(item.Quantity * times)
		s.addProduct(key, ProductQuantity, quantity)
		if item.Measure != "" { // the price is of what was weighed
			quantity = amount(item.Measure).Mul(decimal.NewFromInt(times))
		}
		s.addProduct(key, ProductSales, amount(item.Price).Mul(quantity).Sub(amount(item.Discount).Mul(decimal.NewFromInt(times))))
	}
}

// amount reads an amount of an item, which was checked when it came; 0 where there is
// none.
func amount(text string) decimal.Decimal {
	d, err := commerce.ParseDecimal(text)
	if err != nil {
		return decimal.Zero
	}
	return d
}
