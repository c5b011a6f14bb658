package report_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/models"
	"github.com/tributary-io/tributary/internal/reports"
	"github.com/tributary-io/tributary/internal/rollup"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/fixtures/reporttest"
)

// summed is a store of which orders are summed.
type summed struct {
	*reporttest.Fixture
	t                 *testing.T
	company           string
	ana, beto         string
	spring, anaCoupon string
}

func sum(t *testing.T) *summed {
	t.Helper()
	s := &summed{Fixture: reporttest.New(t), t: t}
	s.company = s.Store.Live.CompanyID
	s.ana, s.beto = s.Influencer(s.company, "Ana Prado"), s.Influencer(s.company, "Beto Lima")
	s.spring = s.Campaign(s.company, s.ana, "Spring")
	s.anaCoupon = s.Coupon(s.company, s.ana, s.spring, "ANA10")
	return s
}

// order is an approved order of a day that nobody is paid for. Its touches are of the
// channels; the first of them has it by the model first, and so on.
func (s *summed) order(day string, minor int64, channels ...string) rollup.Order {
	o := &facts.Outcome{Day: day, Currency: "BRL", TotalMinor: minor, Payout: facts.Payout{State: facts.PayoutNone}}
	for i, channel := range channels {
		c := facts.Credit{Position: i + 1, Channel: channel}
		switch channel {
		case "Ana Prado":
			c.InfluencerID, c.CampaignID = s.ana, s.spring
		case "Beto Lima":
			c.InfluencerID = s.beto
		}
		linear := minor / int64(len(channels))
		if i == 0 {
			linear = minor - linear*int64(len(channels)-1)
		}
		c.Parts[3] = facts.Part{Given: true, Minor: linear}
		if i == 0 {
			c.Parts[0] = facts.Part{Given: true, Minor: minor}
		}
		if i == len(channels)-1 {
			c.Parts[1], c.Parts[2] = facts.Part{Given: true, Minor: minor}, facts.Part{Given: true, Minor: minor}
		}
		o.Credits = append(o.Credits, c)
	}
	return rollup.Order{Outcome: o}
}

// paid is an order for which an influencer is paid.
func (s *summed) paid(o rollup.Order, influencerID, campaignID, couponID string, commission int64) rollup.Order {
	o.Outcome.Payout = facts.Payout{State: facts.PayoutEarned, InfluencerID: influencerID, CampaignID: campaignID, CouponID: couponID,
		CommissionMinor: commission}
	return o
}

// lines reads a report and returns its rows as texts: the period, the texts that are not
// empty, and the numbers, each with the name of its column where it is not 0 or null.
func (s *summed) lines(q reports.Query) []string {
	s.t.Helper()
	q.CompanyID = s.company
	if bad := q.Check(); bad.Any() {
		s.t.Fatalf("%+v", bad.List)
	}
	r, err := s.DB.Report(s.t.Context(), q)
	if err != nil {
		s.t.Fatal(err)
	}
	text, err := json.Marshal(r)
	if err != nil {
		s.t.Fatal(err)
	}
	var read struct {
		Rows   []map[string]any
		Totals map[string]any
	}
	if err := json.Unmarshal(text, &read); err != nil {
		s.t.Fatal(err)
	}
	var lines []string
	for _, row := range append(read.Rows, read.Totals) {
		line := []string{}
		if period, ok := row["period"]; ok {
			line = append(line, fmt.Sprint(period))
		} else {
			line = append(line, "totals")
		}
		for _, name := range r.Spec.Dimensions {
			if text, ok := row[name].(string); ok && len(text) != 36 {
				line = append(line, text)
			}
		}
		for _, m := range r.Spec.Metrics {
			if n, ok := row[m.Name].(float64); ok && n != 0 {
				line = append(line, fmt.Sprintf("%s=%v", m.Name, n))
			}
		}
		lines = append(lines, strings.Join(line, " "))
	}
	return lines
}

func (s *summed) want(q reports.Query, want ...string) {
	s.t.Helper()
	if got := s.lines(q); !slices.Equal(got, want) {
		s.t.Errorf("%+v:\n got %s\nwant %s", q, strings.Join(got, "\n     "), strings.Join(want, "\n     "))
	}
}

func TestReportsOfSales(t *testing.T) {
	t.Parallel()
	s := sum(t)
	yes, no := true, false
	first, returning := s.paid(s.order("2026-03-01", 10000, "Ana Prado"), s.ana, s.spring, s.anaCoupon, 1000),
		s.order("2026-03-02", 5000, "Direct")
	first.First, returning.First = &yes, &no
	pending := s.paid(s.order("2026-03-02", 700, "Beto Lima"), s.beto, "", "", 70)
	pending.Outcome.Status, pending.Outcome.Payout.State, pending.Outcome.Credits = commerce.OrderPending, facts.PayoutExpected, nil
	review := s.paid(s.order("2026-03-02", 100, "Beto Lima"), s.beto, "", "", 10)
	review.Outcome.Payout.State = facts.PayoutReview
	dollars := s.paid(s.order("2026-03-09", 2000, "Beto Lima"), s.beto, "", "", 200)
	dollars.Outcome.Currency, dollars.Outcome.Payout.FixedBRLMinor = "USD", 500
	cancelled := s.paid(s.order("2026-03-09", 900), s.beto, "", "", 0)
	cancelled.Outcome.Status, cancelled.Outcome.Payout.State = commerce.OrderCancelled, facts.PayoutReversed
	s.Sum(s.company, first, returning, pending, review, dollars, cancelled)
	s.Sum(s.Store.Sandbox.CompanyID, first)
	s.Cost(s.company, s.ana, s.spring, 3100, commerce.Monthly, "2026-03-01")

	march := reports.Query{Name: reports.Sales, Start: "2026-03-01", End: "2026-03-31", By: reports.ByMonth}
	s.want(march,
		"2026-03-01 orders=3 sales=151 average_order=50.33 attributed_orders=1 attributed_sales=100 attributed_share=0.662252 "+
			"pending_orders=1 pending_sales=7 pending_commission=0.7 "+
			"cancelled_orders=1 cancelled_sales=9 review_orders=1 commission=15 cost=31 roas=3.282609 new_customers=1 returning_orders=1 cac=46",
		"totals orders=3 sales=151 average_order=50.33 attributed_orders=1 attributed_sales=100 attributed_share=0.662252 pending_orders=1 "+
			"pending_sales=7 pending_commission=0.7 "+
			"cancelled_orders=1 cancelled_sales=9 review_orders=1 commission=15 cost=31 roas=3.282609 new_customers=1 returning_orders=1 cac=46")
	march.Currency = "USD"
	s.want(march,
		"2026-03-01 orders=1 sales=20 average_order=20 attributed_orders=1 attributed_sales=20 attributed_share=1 commission=2 roas=10",
		"totals orders=1 sales=20 average_order=20 attributed_orders=1 attributed_sales=20 attributed_share=1 commission=2 roas=10")
	// Each day and each week has a row, also where nothing happened.
	s.want(reports.Query{Name: reports.Sales, Start: "2026-02-27", End: "2026-02-28"}, "2026-02-27", "2026-02-28", "totals")
	if lines := s.lines(reports.Query{Name: reports.Sales, Start: "2026-03-01", End: "2026-03-09", By: reports.ByWeek}); len(lines) != 4 ||
		!strings.HasPrefix(lines[0], "2026-02-23 orders=1 sales=100 ") || !strings.HasPrefix(lines[1], "2026-03-02 orders=2 sales=51 ") ||
		!strings.HasPrefix(lines[2], "2026-03-09 cancelled_orders=1") {
		t.Errorf("by week: %q", lines)
	}

	s.want(reports.Query{Name: reports.Influencers, Start: "2026-03-01", End: "2026-03-31", By: reports.ByTotal, Model: "linear"},
		"2026-03-01 Ana Prado Spring orders=1 sales=100 average_order=100 commission=10 cost=31 roas=2.439024 new_customers=1 cac=41 "+
			"credited_orders=1 credited_sales=100",
		"2026-03-01 Beto Lima pending_orders=1 pending_sales=7 pending_commission=0.7 cancelled_orders=1 cancelled_sales=9 commission=5 "+
			"credited_orders=1 credited_sales=1",
		"totals orders=1 sales=100 average_order=100 pending_orders=1 pending_sales=7 pending_commission=0.7 cancelled_orders=1 "+
			"cancelled_sales=9 commission=15 cost=31 roas=2.173913 new_customers=1 cac=46 credited_orders=2 credited_sales=101")
	s.want(reports.Query{Name: reports.Coupons, Start: "2026-03-01", End: "2026-03-31", By: reports.ByTotal},
		"2026-03-01 ANA10 Ana Prado Spring orders=1 sales=100 average_order=100 commission=10 new_customers=1",
		"totals orders=1 sales=100 average_order=100 commission=10 new_customers=1")

	r, err := s.DB.Report(t.Context(),
		reports.Query{CompanyID: s.company, Name: reports.Sales, Start: "2026-03-09", End: "2026-03-09", Compare: reports.ComparePrevious})
	if err != nil || !slices.Equal(r.OtherCurrencies, []string{"USD"}) || r.Query.Currency != "BRL" || r.Comparison == nil ||
		r.Comparison.Query.Start != "2026-03-08" {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestChannelsByEveryModel(t *testing.T) {
	t.Parallel()
	s := sum(t)
	day := "2026-03-01"
	s.Sum(s.company, s.order(day, 100, "Ana Prado", "Direct", "Email"), s.order(day, 100, "Email"), s.order(day, 100, "Ana Prado", "Email"))
	f := func(model string, want ...string) {
		t.Helper()
		s.want(reports.Query{Name: reports.Channels, Start: day, End: day, Model: model},
			append(want, "totals credited_orders=3 credited_sales=3 share=1")...)
	}
	f("first", day+" Ana Prado credited_orders=2 credited_sales=2 share=0.666667",
		day+" Email credited_orders=1 credited_sales=1 share=0.333333")
	f("", day+" Email credited_orders=3 credited_sales=3 share=1")
	f("linear", day+" Email credited_orders=1.83 credited_sales=1.83 share=0.61",
		day+" Ana Prado credited_orders=0.84 credited_sales=0.84 share=0.28", day+" Direct credited_orders=0.33 credited_sales=0.33 share=0.11")
	f("shapley", day+" Email credited_orders=1.833333 credited_sales=1.83 share=0.61",
		day+" Ana Prado credited_orders=0.833334 credited_sales=0.84 share=0.28",
		day+" Direct credited_orders=0.333333 credited_sales=0.33 share=0.11")
	// Every model gives away what there is, neither more nor less.
	for _, model := range reports.SpecOf(reports.Channels).Models {
		if lines := s.lines(reports.Query{Name: reports.Channels, Start: day, End: day, Model: model}); !strings.Contains(lines[len(lines)-1],
			"credited_sales=3 ") && model != "position" && model != "time_decay" {
			t.Errorf("%s: %q", model, lines)
		}
	}
	s.want(reports.Query{Name: reports.Paths, Start: day, End: day},
		day+" Ana Prado > Direct > Email orders=1 sales=1 share=0.333333", day+" Ana Prado > Email orders=1 sales=1 share=0.333333",
		day+" Email orders=1 sales=1 share=0.333333",
		"totals orders=3 sales=3 share=1")
}

// A path has names, so two influencers who had one name are one channel: its row is the last
// one's.
func TestAChannelOfTwoInfluencersIsTheLastOnes(t *testing.T) {
	t.Parallel()
	s := sum(t)
	day, last := "2026-03-01", map[string]string{}
	var orders []rollup.Order
	for n := range 8 {
		name := fmt.Sprint("Ana ", n)
		first := s.Influencer(s.company, name)
		s.Archive(s.company, first)
		last[name] = s.Influencer(s.company, name)
		for _, id := range []string{first, last[name], first} {
			o := s.order(day, 100, name, "Email")
			o.Outcome.Credits[0].InfluencerID = id
			orders = append(orders, o)
		}
	}
	s.Sum(s.company, orders...)
	for _, model := range []string{models.Markov, models.Shapley} {
		got := map[string]string{}
		for _, row := range s.report(reports.Query{CompanyID: s.company, Name: reports.Channels, Start: day, End: day, Model: model}).Rows {
			if row.Texts[0] != "Email" {
				got[row.Texts[0]] = row.Texts[1]
			}
		}
		if !maps.Equal(got, last) {
			t.Errorf("%s: %q, want %q", model, got, last)
		}
	}
}

// A day's sums may be greater than 63 bits; models of many paths lose nothing of them.
func TestModelsOfManyPathsDivideSumsOfAnySize(t *testing.T) {
	t.Parallel()
	s := sum(t)
	day := "2026-03-01"
	s.Sum(s.company, s.order(day, math.MaxInt64-7, "Ana Prado"), s.order(day, math.MaxInt64-7, "Ana Prado"),
		s.order("2026-03-02", math.MaxInt64-7, "Ana Prado", "Email"))
	for _, model := range []string{"markov", "shapley"} {
		r, err := s.DB.Report(t.Context(),
			reports.Query{CompanyID: s.company, Name: reports.Channels, Start: day, End: "2026-03-31", By: reports.ByMonth, Model: model})
		if err != nil {
			t.Fatal(err)
		}
		want := new(big.Int).Mul(big.NewInt(math.MaxInt64-7), big.NewInt(3))
		if got, _ := r.Value(r.Totals, r.Spec.Column("credited_sales")); len(r.Rows) != 2 || got.BigInt().Cmp(want) != 0 {
			t.Errorf("%s: %d rows, %v, want %v", model, len(r.Rows), got, want)
		}
	}
}

func TestItemsAreFoundInTheCatalogue(t *testing.T) {
	t.Parallel()
	s := sum(t)
	s.Product(s.company, "p1", "Vestido", "v1", "v2")
	o := s.order("2026-03-01", 100, "Direct")
	o.Items = []wire.Item{
		{ProductID: "p1", VariantID: "v1", Quantity: 2, Price: "10.005"}, {VariantID: "v2", Quantity: 1, Price: "5", Discount: "0.5"},
		{ItemID: "sku-v2", Quantity: 1, Price: "1"}, {ItemID: "unknown", Quantity: 3},
	}
	s.Sum(s.company, o)
	s.want(reports.Query{Name: reports.Products, Start: "2026-03-01", End: "2026-03-01"},
		"2026-03-01 p1 Vestido orders=3 quantity=4 sales=25.51", "2026-03-01 unknown orders=1 quantity=3",
		"totals orders=4 quantity=7 sales=25.51")
}

func TestVisitorsAndClicksAreReported(t *testing.T) {
	t.Parallel()
	s := sum(t)
	s.Product(s.company, "p1", "Vestido", "v1")
	s.Link(s.company, s.ana, s.spring, "abc")
	s.Sum(s.company, s.paid(s.order("2026-03-01", 100, "Ana Prado"), s.ana, s.spring, "", 10))
	s.Traffic(s.company, []facts.Traffic{
		{Day: "2026-03-01", Subject: facts.OfStore, Visitors: [5]int64{10, 5, 3, 2, 1}},
		{Day: "2026-03-02", Subject: facts.OfStore, Visitors: [5]int64{10}},
		{Day: "2026-03-01", Subject: facts.OfInfluencer(s.ana, s.spring), Visitors: [5]int64{4}},
		{Day: "2026-03-02", Subject: facts.OfInfluencer(s.beto, ""), Visitors: [5]int64{1}},
		{Day: "2026-03-01", Subject: facts.OfItem("v1"), Visitors: [5]int64{5, 5, 3, 2, 1}},
		{Day: "2026-03-02", Subject: facts.OfItem("sku-v1"), Visitors: [5]int64{1, 1}},
		{Day: "2026-03-01", Subject: facts.OfItem("unknown"), Visitors: [5]int64{1, 1}},
		{Day: "2026-03-03", Subject: facts.OfItem("v1"), Visitors: [5]int64{9, 9, 9, 9, 9}},
	}, []facts.Clicks{{Day: "2026-03-01", Code: "abc", Clicks: 7}, {Day: "2026-03-03", Code: "abc", Clicks: 1}})
	days := reports.Query{Name: reports.Sales, Start: "2026-03-01", End: "2026-03-02", By: reports.ByTotal}
	s.want(days,
		"2026-03-01 orders=1 sales=1 average_order=1 attributed_orders=1 attributed_sales=1 attributed_share=1 commission=0.1 roas=10 "+
			"clicks=7 visits=20 conversion=0.05",
		"totals orders=1 sales=1 average_order=1 attributed_orders=1 attributed_sales=1 attributed_share=1 commission=0.1 roas=10 clicks=7 "+
			"visits=20 conversion=0.05")
	days.Name = reports.Influencers
	s.want(days,
		"2026-03-01 Ana Prado Spring orders=1 sales=1 average_order=1 commission=0.1 roas=10 credited_orders=1 credited_sales=1 clicks=7 "+
			"visits=4 conversion=0.25",
		"2026-03-01 Beto Lima visits=1",
		"totals orders=1 sales=1 average_order=1 commission=0.1 roas=10 credited_orders=1 credited_sales=1 clicks=7 visits=5 conversion=0.2")
	days.Name = reports.Funnel
	s.want(days,
		"2026-03-01 p1 Vestido viewed=6 added_to_cart=3 began_checkout=2 bought=1 conversion=0.166667", "2026-03-01 unknown viewed=1",
		"totals viewed=7 added_to_cart=3 began_checkout=2 bought=1 conversion=0.142857")
}

// Anybody can send events with items that do not exist. The report stays, with the
// products and the items that are seen most.
func TestMadeUpItemsDoNotHideTheFunnel(t *testing.T) {
	t.Parallel()
	s := sum(t)
	s.Product(s.company, "p1", "Vestido", "v1")
	traffic := []facts.Traffic{
		{Day: "2026-03-01", Subject: facts.OfItem("v1"), Visitors: [5]int64{1, 1}},
		{Day: "2026-03-01", Subject: facts.OfItem("no catalogue"), Visitors: [5]int64{3, 3, 1, 1, 1}},
	}
	const madeUp = reports.MaxRows + 1
	for i := range madeUp {
		traffic = append(traffic, facts.Traffic{Day: "2026-03-01", Subject: facts.OfItem(fmt.Sprint("made up ", i)), Visitors: [5]int64{1, 1}})
	}
	s.Traffic(s.company, traffic, nil)
	report, err := s.DB.Report(t.Context(),
		reports.Query{CompanyID: s.company, Name: reports.Funnel, Start: "2026-03-01", End: "2026-03-02", By: reports.ByDay})
	if err != nil {
		t.Fatal(err)
	}
	viewed := reports.SpecOf(reports.Funnel).Column("viewed")
	items := map[string]int64{}
	for _, row := range report.Rows {
		items[strings.Join(row.Texts, " ")] = row.Sums[viewed].IntPart()
	}
	const listed = reports.MaxRows / 2 / 2 // of each of two days
	if items["p1 Vestido "] != 1 || items["  no catalogue"] != 3 || len(report.Rows) != listed+2 || items["  "] != madeUp+1-listed {
		t.Errorf("%d rows; the product has %d, the item %d, the others %d", len(report.Rows), items["p1 Vestido "],
			items["  no catalogue"], items["  "])
	}
	if total := report.Totals.Sums[viewed].IntPart(); total != madeUp+4 {
		t.Errorf("%d were seen in all", total)
	}
}
