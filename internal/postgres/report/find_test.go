package report_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/rollup"
	"github.com/tributary-io/tributary/test/fixtures/reporttest"
)

// The list of influencers has what each sold in its days: approved orders in the store's
// currency. Those who sold nothing are listed too.
func TestInfluencersAreListedWithWhatTheySold(t *testing.T) {
	t.Parallel()
	fix := reporttest.New(t)
	company := fix.Store.Live.CompanyID
	ana, bia, caio := fix.Influencer(company, "Ana"), fix.Influencer(company, "Bia"), fix.Influencer(company, "Caio")
	sold := func(influencer, day, currency string, status int, minor int64) {
		payout := facts.Payout{State: facts.PayoutEarned, InfluencerID: influencer, CommissionMinor: minor / 10}
		if status != commerce.OrderApproved {
			payout.State = facts.PayoutExpected
		}
		fix.Sum(company, rollup.Order{Outcome: &facts.Outcome{Day: day, Currency: currency, Status: status, TotalMinor: minor, Payout: payout}})
	}
	sold(ana, "2026-11-20", "BRL", commerce.OrderApproved, 1000)
	sold(bia, "2026-11-20", "BRL", commerce.OrderApproved, 3000)
	sold(bia, "2026-11-21", "BRL", commerce.OrderApproved, 3000)
	sold(bia, "2026-10-01", "BRL", commerce.OrderApproved, 70_000) // before
	sold(ana, "2026-11-20", "USD", commerce.OrderApproved, 70_000)
	sold(ana, "2026-11-20", "BRL", commerce.OrderPending, 70_000)
	sold(caio, "2026-11-20", "BRL", commerce.OrderCancelled, 70_000)
	list, err := fix.DB.FindInfluencers(t.Context(), company,
		commerce.InfluencerSearch{Sort: commerce.SortBySales, From: "2026-11-01", Today: "2026-11-22", Currency: "BRL", Limit: 10})
	if err != nil || len(list) != 3 {
		t.Fatalf("%+v, %v", list, err)
	}
	for i, want := range []struct {
		name                      string
		orders, total, commission int64
	}{{"Bia", 2, 6000, 600}, {"Ana", 1, 1000, 100}, {"Caio", 0, 0, 0}} {
		got := list[i]
		if got.Name != want.name || got.Orders != want.orders || got.TotalMinor.IntPart() != want.total ||
			got.CommissionMinor.IntPart() != want.commission {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}

// An order is found by its e-mail's keyed hash by each hashing secret, once.
func TestOrdersAreFoundByTheEmailOfBothSecrets(t *testing.T) {
	t.Parallel()
	fix := reporttest.New(t)
	company := fix.Store.Live.CompanyID
	at := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	for id, keys := range map[string][]string{"before": {"k1:was"}, "while": {"k1:was", "k1:is"}, "after": {"k1:is"}, "other": {"k1:other"}} {
		fix.Put(reporttest.Order{CompanyID: company, ID: id, TotalMinor: 100, CreatedAt: at})
		for _, key := range keys {
			fix.Key(company, id, facts.Key{Kind: facts.KeyEmail, Value: key}, at)
		}
	}
	f := func(emails []string, want ...string) {
		t.Helper()
		list, err := fix.DB.FindOrders(t.Context(), company, commerce.OrderSearch{Text: "a@x.com", Email: emails, Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, sale := range list {
			got = append(got, sale.OrderID)
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%q finds %q, want %q", emails, got, want)
		}
	}
	f([]string{"k1:is", "k1:was"}, "after", "before", "while")
	f([]string{"k1:is"}, "after", "while")
	f(nil)
}

// Pending and cancelled orders are listed by themselves, the newest first, page by page.
func TestOrdersOfAStatusAreListedPageByPage(t *testing.T) {
	t.Parallel()
	fix := reporttest.New(t)
	company := fix.Store.Live.CompanyID
	for i := range 9 {
		fix.Put(reporttest.Order{CompanyID: company, ID: string(rune('a' + i)), TotalMinor: 100, Status: i % 3})
	}
	for status, want := range map[int]string{commerce.OrderApproved: "gda", commerce.OrderPending: "heb", commerce.OrderCancelled: "ifc"} {
		got, f := "", commerce.OrderFilter{Status: &status, Limit: 2}
		for {
			list, err := fix.DB.Orders(t.Context(), company, f)
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range list {
				got += orderID(t, o)
				f.After = commerce.Cursor{At: o.CreatedAt, OrderID: orderID(t, o)}
			}
			if len(list) < f.Limit {
				break
			}
		}
		if got != want {
			t.Errorf("status %d: %s, want %s", status, got, want)
		}
	}
}

// By each way through the orders, the pages backwards are the pages forwards, and the totals are those of the orders listed.
func TestPagesBackwardsAndTotalsAreThoseOfTheList(t *testing.T) {
	t.Parallel()
	fix := reporttest.New(t)
	company := fix.Store.Live.CompanyID
	ana := fix.Influencer(company, "Ana")
	at := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	for i := range 24 {
		o := reporttest.Order{CompanyID: company, ID: string(rune('a' + i)), TotalMinor: int64(100 + i), Status: i % 3,
			CreatedAt: at.Add(time.Duration(i/2) * 13 * time.Hour)} // two at each moment
		if i%2 == 0 {
			o.InfluencerID, o.Evidence = ana, "coupon"
		}
		fix.Put(o)
		if i%4 == 0 {
			fix.Key(company, o.ID, facts.RuleKey(facts.KeyCode, "ANA10"), o.CreatedAt)
		}
	}
	pending := commerce.OrderPending
	for name, filter := range map[string]commerce.OrderFilter{"all": {}, "days": {From: "2026-03-11", To: "2026-03-14"},
		"status":     {Status: &pending},
		"influencer": {InfluencerID: ana}, "nobody": {Uncredited: true}, "coupon": {Coupon: "ANA10"}} {
		filter.Limit = 100
		all, err := fix.DB.Orders(t.Context(), company, filter)
		if err != nil || len(all) < 3 {
			t.Fatalf("%s: %d orders, %v", name, len(all), err)
		}
		totals, err := fix.DB.OrderTotals(t.Context(), company, filter)
		if err != nil {
			t.Fatal(err)
		}
		var orders, minor int64
		for _, total := range totals {
			orders, minor = orders+total.Orders, minor+total.TotalMinor.IntPart()
		}
		want, sum := "", int64(0)
		for _, o := range all {
			want += orderID(t, o)
			sum += int64(100 + orderID(t, o)[0] - 'a')
		}
		if orders != int64(len(all)) || minor != sum {
			t.Errorf("%s: %d orders of %d, the list has %d of %d", name, orders, minor, len(all), sum)
		}
		got, f := orderID(t, all[len(all)-1]), filter
		last := all[len(all)-1]
		f.Limit = 2
		for f.Before = last.Cursor(orderID(t, last), false); ; f.Before = last.Cursor(orderID(t, last), false) {
			list, err := fix.DB.Orders(t.Context(), company, f)
			if err != nil {
				t.Fatal(err)
			}
			page := ""
			for _, o := range list {
				page += orderID(t, o)
			}
			if got = page + got; len(list) < f.Limit {
				break
			}
			last = list[0]
		}
		if got != want {
			t.Errorf("%s: backwards %s, forwards %s", name, got, want)
		}
	}
	few := commerce.OrderFilter{Limit: 5}
	totals, err := fix.DB.OrderTotals(t.Context(), company, few)
	if err != nil {
		t.Fatal(err)
	}
	n := int64(0)
	for _, total := range totals {
		n += total.Orders
	}
	if n != 5 {
		t.Errorf("at most 5 are counted: %d", n)
	}
}

func orderID(t *testing.T, o commerce.StoredOrder) string {
	t.Helper()
	var body struct {
		OrderID string `json:"orderId"`
	}
	if err := json.Unmarshal(o.Body, &body); err != nil {
		t.Fatal(err)
	}
	return body.OrderID
}
