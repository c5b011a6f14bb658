package site

import "github.com/shopspring/decimal"

// Chart is bars as the template "chart" draws them: an SVG, and a table with the
// same numbers behind it (docs/adr/0011).
type Chart struct {
	Title          string
	Ticks          []string // labels below the bars: of each, or of some at equal distances with those of both ends
	Each           bool     // Ticks are of each bar
	Columns        [2]string
	More           []string // heads of further columns of the table
	Bars           []Bar
	Width, Height  int // of the SVG's own units
	HasValues      bool
	Greatest       string // text of the greatest bar
	GreatestHeight int
}

// Bar is one bar: Value says how high it is, Text is the value for people.
type Bar struct {
	Label, Text string
	More        []string        // one for each of chart.More
	Value       decimal.Decimal // negative counts as 0
	X, Y, W, H  int             // set by NewChart
}

// Units of a chart's SVG.
const (
	chartHeight = 120
	barWidth    = 20
	barGap      = 4
)

// NewChart scales bars to the greatest of them. label and value are the heads of
// the table's columns.
func NewChart(title, label, value string, bars []Bar) *Chart {
	c := &Chart{Title: title, Columns: [2]string{label, value}, Bars: bars, Width: len(bars) * (barWidth + barGap), Height: chartHeight}
	if len(bars) == 0 {
		return c
	}
	c.ticks()
	greatest := decimal.Zero
	for _, b := range bars {
		if b.Value.GreaterThan(greatest) {
			greatest, c.Greatest = b.Value, b.Text
		}
	}
	c.HasValues = greatest.IsPositive()
	for i := range bars {
		b := &bars[i]
		b.X, b.W = i*(barWidth+barGap), barWidth
		if b.Value.IsPositive() {
			b.H = max(1, int(b.Value.Mul(decimal.NewFromInt(chartHeight)).Div(greatest).Round(0).IntPart()))
		}
		b.Y = chartHeight - b.H
	}
	return c
}

// mostTicks is how many labels fit below a chart. A phone shows every other one of them.
const mostTicks = 5

// ticks labels each bar where they are few, else some at equal distances.
func (c *Chart) ticks() {
	n := min(len(c.Bars), mostTicks)
	c.Each = n == len(c.Bars)
	for i := range n {
		at := i
		if !c.Each {
			at = (i*(len(c.Bars)-1) + (n-1)/2) / (n - 1)
		}
		c.Ticks = append(c.Ticks, c.Bars[at].Label)
	}
}
