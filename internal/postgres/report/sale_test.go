package report_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/test/fixtures/reporttest"
)

func TestDaySales(t *testing.T) {
	t.Parallel()
	fix, ctx := reporttest.New(t), t.Context()
	live := fix.Store.Live.CompanyID
	ana := fix.Influencer(live, "Ana Prado")
	spring := fix.Campaign(live, ana, "Spring")
	at := func(clock string) time.Time {
		when, err := time.Parse(time.RFC3339, "2026-11-21T"+clock+"Z")
		if err != nil {
			t.Fatal(err)
		}
		return when
	}
	// The store's day begins at 03:00 UTC.
	put := func(id, created, processed string, o reporttest.Order) {
		o.CompanyID, o.ID, o.CreatedAt, o.ProcessedAt = live, id, at(created), at(processed)
		fix.Put(o)
	}
	put("yesterday", "02:59:59", "12:00:00", reporttest.Order{TotalMinor: 1})
	put("first", "03:00:00", "12:00:01",
		reporttest.Order{TotalMinor: 10000, InfluencerID: ana, CampaignID: spring, Evidence: "coupon", CommissionMinor: 1000})
	put("second", "10:00:00", "12:00:02", reporttest.Order{TotalMinor: 5000})
	put("third", "11:00:00", "12:00:02",
		reporttest.Order{TotalMinor: 700, Currency: "USD", InfluencerID: ana, Evidence: "link", CommissionMinor: 70, FixedFeeMinor: 500})
	put("pending", "11:00:00", "12:00:03",
		reporttest.Order{TotalMinor: 900, Status: 1, InfluencerID: ana, Evidence: "link", CommissionMinor: 90})
	fix.Put(reporttest.Order{CompanyID: fix.Store.Sandbox.CompanyID, ID: "other", CreatedAt: at("10:00:00"), TotalMinor: 77})

	ids := func(d commerce.DaySales) (list []string) {
		for _, s := range d.Sales {
			list = append(list, s.OrderID)
		}
		return list
	}
	f := func(what string, got commerce.DaySales, err error, more bool, want ...string) {
		t.Helper()
		if err != nil || !slices.Equal(ids(got), want) || got.More != more {
			t.Errorf("%s: %v, more %t, %v; want %v, more %t", what, ids(got), got.More, err, want, more)
		}
	}
	const day = "2026-11-21"
	d, err := fix.DB.DaySales(ctx, live, day, commerce.Cursor{}, 3)
	f("newest first", d, err, true, "third", "pending", "second")
	if got := d.Cursor.OrderID; got != "pending" {
		t.Errorf("the cursor stands at %q, want the last processed", got)
	}
	last := d.Sales[2]
	d, err = fix.DB.DaySales(ctx, live, day, commerce.Cursor{At: last.CreatedAt, OrderID: last.OrderID}, 3)
	f("the page before", d, err, false, "first")
	s := d.Sales[0]
	if s.Influencer != "Ana Prado" || s.Campaign != "Spring" || s.Evidence != "coupon" || s.CommissionMinor != 1000 || s.Day != day {
		t.Errorf("first sale reads %+v", s)
	}
	since := func(c commerce.Cursor) (commerce.DaySales, error) {
		sales, err := fix.DB.SalesSince(ctx, live, day, c, 10)
		return commerce.DaySales{Sales: sales}, err
	}
	d, err = since(commerce.Cursor{At: at("12:00:02"), OrderID: "second"})
	f("since a cursor within one instant", d, err, false, "third", "pending")
	d, err = since(commerce.Cursor{})
	f("since the beginning", d, err, false, "third", "pending", "second", "first")
	d, err = fix.DB.DaySalesOf(ctx, live, day, []string{"first", "yesterday", "other", "nowhere"})
	f("named ones, of this company", d, err, false, "first", "yesterday")

	minor := decimal.NewFromInt
	wantGroups := []commerce.SaleGroup{
		{Status: 0, Currency: "BRL", Orders: 1, TotalMinor: minor(5000)},
		{InfluencerID: ana, Influencer: "Ana Prado", Evidence: "coupon", Currency: "BRL", Orders: 1, TotalMinor: minor(10000),
			CommissionMinor: minor(1000)},
		{InfluencerID: ana, Influencer: "Ana Prado", Evidence: "link", Currency: "USD", Orders: 1, TotalMinor: minor(700),
			CommissionMinor: minor(70), FixedBRLMinor: minor(500)},
		{InfluencerID: ana, Influencer: "Ana Prado", Evidence: "link", Status: 1, Currency: "BRL", Orders: 1, TotalMinor: minor(900),
			CommissionMinor: minor(90)},
	}
	byAll := func(a, b commerce.SaleGroup) int { return b.TotalMinor.Cmp(a.TotalMinor) }
	slices.SortFunc(wantGroups, byAll)
	slices.SortFunc(d.Groups, byAll)
	if fmt.Sprint(d.Groups) != fmt.Sprint(wantGroups) {
		t.Errorf("groups %+v, want %+v", d.Groups, wantGroups)
	}
	wantCommissions := []commerce.CommissionGroup{
		{InfluencerID: ana, Influencer: "Ana Prado", Currency: "BRL", AmountMinor: minor(1500)},
		{InfluencerID: ana, Influencer: "Ana Prado", Currency: "USD", AmountMinor: minor(70)},
	}
	if fmt.Sprint(d.Commissions) != fmt.Sprint(wantCommissions) {
		t.Errorf("commissions %+v, want %+v", d.Commissions, wantCommissions)
	}
}

func TestExplainedSale(t *testing.T) {
	t.Parallel()
	fix, ctx := reporttest.New(t), t.Context()
	live := fix.Store.Live.CompanyID
	ana := fix.Influencer(live, "Ana Prado")
	fix.Put(reporttest.Order{CompanyID: live, ID: "a/1", TotalMinor: 10000, InfluencerID: ana, Evidence: "coupon", CommissionMinor: 1000,
		Currency: "USD", FixedFeeMinor: 500, Explanation: map[string]any{"keys": []any{}}})
	e, err := fix.DB.ExplainedSale(ctx, live, "a/1")
	if err != nil || e.Sale.OrderID != "a/1" || string(e.Explanation) != `{"keys":[]}` || len(e.Ledger) != 2 ||
		e.Ledger[0].AmountMinor != 1000 {
		t.Fatalf("explained %+v, %v", e, err)
	}
	if l := e.Ledger[1]; l.Currency != "BRL" || l.AmountMinor != 500 || l.InfluencerID != ana || l.CostID == "" || l.RuleRev != 1 {
		t.Errorf("the second entry reads %+v", l)
	}
	if got := e.Sale.Commissions(); !slices.Equal(got, []commerce.Amount{{Minor: 1000, Currency: "USD"}, {Minor: 500, Currency: "BRL"}}) {
		t.Errorf("commissions %v", got)
	}
	if _, err := fix.DB.ExplainedSale(ctx, fix.Store.Sandbox.CompanyID, "a/1"); !errors.Is(err, commerce.ErrNotFound) {
		t.Errorf("an order of the other environment: %v, want not found", err)
	}
}

// Whoever may write orders must not be able to make a day unreadable.
func TestADayOfHugeOrdersIsSummed(t *testing.T) {
	t.Parallel()
	fix, ctx := reporttest.New(t), t.Context()
	live := fix.Store.Live.CompanyID
	ana := fix.Influencer(live, "Ana Prado")
	const day, most = "2026-11-21", math.MaxInt64
	for _, id := range []string{"1", "2", "3"} {
		fix.Put(reporttest.Order{CompanyID: live, ID: id, CreatedAt: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), Currency: "USD",
			TotalMinor: most, InfluencerID: ana, Evidence: "coupon", CommissionMinor: most, FixedFeeMinor: most})
	}
	d, err := fix.DB.DaySales(ctx, live, day, commerce.Cursor{}, 3)
	if err != nil {
		t.Fatal(err)
	}
	want := decimal.NewFromInt(most).Mul(decimal.NewFromInt(3))
	if g := d.Groups; len(g) != 1 || g[0].Orders != 3 || !g[0].TotalMinor.Equal(want) || !g[0].CommissionMinor.Equal(want) ||
		!g[0].FixedBRLMinor.Equal(want) {
		t.Errorf("groups %+v, want sums of %s", g, want)
	}
	if c := d.Commissions; len(c) != 2 || !c[0].AmountMinor.Equal(want) || !c[1].AmountMinor.Equal(want) {
		t.Errorf("commissions %+v, want sums of %s", c, want)
	}
}
