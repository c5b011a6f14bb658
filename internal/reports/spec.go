package reports

import (
	"slices"

	"github.com/tributary-io/tributary/internal/models"
)

// Kind is what a metric counts, and how it is written.
type Kind int

// The kinds of metrics.
const (
	Count      Kind = iota // a whole number
	Money                  // minor units of the report's currency; written in currency units
	Share                  // a number that is not whole; written with up to six decimal places
	Ratio                  // a quotient; up to six decimal places, null where the divisor is 0 or less
	MoneyRatio             // a quotient of money and a count, in currency units; null where the divisor is 0 or less
	Portion                // a metric's part of its sum over all rows of the period; as a Ratio
)

// Metric is one column of numbers. A quotient is that of the sum of the metrics in Over
// and the sum of those in Under, also in totals. A Portion is of the metrics in Over.
type Metric struct {
	Name        string
	Kind        Kind
	Over, Under []string
}

var (
	spent      = []string{"commission", "cost"}
	average    = Metric{Name: "average_order", Kind: MoneyRatio, Over: []string{"sales"}, Under: []string{"orders"}}
	roas       = Metric{Name: "roas", Kind: Ratio, Over: []string{"sales"}, Under: spent}
	conversion = Metric{Name: "conversion", Kind: Ratio, Over: []string{"orders"}, Under: []string{"visits"}}
	cac        = Metric{Name: "cac", Kind: MoneyRatio, Over: spent, Under: []string{"new_customers"}}
)

func count(name string) Metric { return Metric{Name: name, Kind: Count} }

func money(name string) Metric { return Metric{Name: name, Kind: Money} }

// Spec is what a report has: its columns.
type Spec struct {
	Name       Name
	Dimensions []string // columns of texts
	Metrics    []Metric
	Models     []string // that the report may be computed by; none: no column depends on one
	SortBy     string   // the metric by which the rows of a period are ordered, the greatest first; empty: by the dimensions
	Every      bool     // every period has a row, also where nothing happened
}

// specs are all reports.
var specs = []*Spec{
	{
		Name: Sales,
		Metrics: []Metric{
			count("orders"), money("sales"), average, count("attributed_orders"), money("attributed_sales"),
			{Name: "attributed_share", Kind: Ratio, Over: []string{"attributed_sales"}, Under: []string{"sales"}},
			count("pending_orders"), money("pending_sales"), money("pending_commission"), count("cancelled_orders"), money("cancelled_sales"),
			count("review_orders"),
			money("commission"), money("cost"), roas, count("new_customers"), count("returning_orders"), cac,
			count("clicks"), count("visits"), conversion,
		},
		Every: true,
	},
	{
		Name:       Influencers,
		Dimensions: []string{"influencer_id", "influencer", "campaign_id", "campaign"},
		Metrics: []Metric{
			count("orders"), money("sales"), average, count("pending_orders"), money("pending_sales"), money("pending_commission"),
			count("cancelled_orders"), money("cancelled_sales"), money("commission"), money("cost"), roas, count("new_customers"),
			count("returning_orders"), cac,
			{Name: "credited_orders", Kind: Share}, money("credited_sales"), count("clicks"), count("visits"), conversion,
		},
		Models: models.OfOrders(),
		SortBy: "sales",
	},
	{
		Name:       Coupons,
		Dimensions: []string{"coupon_id", "coupon", "influencer_id", "influencer", "campaign_id", "campaign"},
		Metrics: []Metric{
			count("orders"), money("sales"), average, count("pending_orders"), money("pending_sales"), money("pending_commission"),
			count("cancelled_orders"), money("cancelled_sales"), money("commission"), count("new_customers"), count("returning_orders"),
		},
		SortBy: "sales",
	},
	{
		Name:       Channels,
		Dimensions: []string{"channel", "influencer_id"},
		Metrics: []Metric{
			{Name: "credited_orders", Kind: Share}, money("credited_sales"), {Name: "share", Kind: Portion, Over: []string{"credited_sales"}},
		},
		Models: models.All,
		SortBy: "credited_sales",
	},
	{
		Name:       Products,
		Dimensions: []string{"product_id", "product", "item_id"},
		Metrics:    []Metric{count("orders"), count("quantity"), money("sales")},
		SortBy:     "sales",
	},
	{
		Name:       Funnel,
		Dimensions: []string{"product_id", "product", "item_id"},
		Metrics: []Metric{
			count("viewed"), count("added_to_cart"), count("began_checkout"), count("bought"),
			{Name: "conversion", Kind: Ratio, Over: []string{"bought"}, Under: []string{"viewed"}},
		},
		SortBy: "viewed",
	},
	{
		Name:       Paths,
		Dimensions: []string{"path"},
		Metrics:    []Metric{count("orders"), money("sales"), {Name: "share", Kind: Portion, Over: []string{"orders"}}},
		SortBy:     "orders",
	},
	{
		Name:       Costs,
		Dimensions: []string{"kind", "influencer_id", "influencer", "campaign_id", "category", "name"},
		Metrics:    []Metric{{Name: "amount", Kind: Money}},
		SortBy:     "amount",
	},
	{
		Name:       Delivery,
		Dimensions: []string{"outcome", "reason"},
		Metrics:    []Metric{count("events"), count("streams")},
	},
	{
		Name:       Sources,
		Dimensions: []string{"origin", "browser", "outcome"},
		Metrics:    []Metric{count("events")},
		SortBy:     "events",
	},
}

// Specs returns all reports, in the order in which they are shown.
func Specs() []*Spec { return slices.Clone(specs) }

// SpecOf returns what a report has. Where there is no such report it has no columns.
func SpecOf(name Name) *Spec {
	if i := slices.IndexFunc(specs, func(s *Spec) bool { return s.Name == name }); i >= 0 {
		return specs[i]
	}
	return &Spec{Name: name}
}

// Column returns the place of a metric among Metrics. It panics where the report has
// none of that name: a mistake in this program.
func (s *Spec) Column(name string) int {
	i := slices.IndexFunc(s.Metrics, func(m Metric) bool { return m.Name == name })
	if i < 0 {
		panic("reports: " + string(s.Name) + " has no column " + name)
	}
	return i
}

// isQuotient reports whether a metric is computed from others.
func (m Metric) isQuotient() bool {
	return m.Kind == Ratio || m.Kind == MoneyRatio || m.Kind == Portion
}
