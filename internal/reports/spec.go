package reports

import "slices"

// Kind is what a metric counts, and how it is written.
type Kind int

// The kinds of metrics.
const (
	Count      Kind = iota // a whole number
	Money                  // minor units of the report's currency; written in currency units
	Share                  // millionths; written with up to six decimal places
	Ratio                  // a quotient; up to six decimal places, null where the divisor is 0
	MoneyRatio             // a quotient of money and a count, in currency units; null where the divisor is 0
)

// Metric is one column of numbers. A quotient is that of the sum of the metrics in Over
// and the sum of those in Under, also in totals.
type Metric struct {
	Name        string
	Kind        Kind
	Over, Under []string
}

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
		Name:       Costs,
		Dimensions: []string{"kind", "influencer_id", "influencer", "campaign_id", "category", "name"},
		Metrics:    []Metric{{Name: "amount", Kind: Money}},
		SortBy:     "amount",
	},
	{
		Name:       Delivery,
		Dimensions: []string{"outcome", "reason"},
		Metrics:    []Metric{{Name: "events", Kind: Count}},
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
func (m Metric) isQuotient() bool { return m.Kind == Ratio || m.Kind == MoneyRatio }
