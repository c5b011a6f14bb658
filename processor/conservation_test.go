package processor

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/facts"
	pgbooks "github.com/tributary-io/tributary/internal/postgres/books"
	"github.com/tributary-io/tributary/internal/upkeep/books"
	"github.com/tributary-io/tributary/internal/wire"
)

// withBooks is a processor that checks its books without a pause.
func (s *stack) withBooks() *Processor {
	p := s.processor(s.group(), s.producer)
	return New(Config{CheckEvery: time.Millisecond}, Deps{Store: p.Store, Log: p.Log, Results: p.Results, Books: pgbooks.New(s.db)})
}

// TestAnImbalanceIsFound plants credits that are not what their order comes to, without
// any fact that says so: on a day that has just changed, and on one that nothing changes.
func TestAnImbalanceIsFound(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	jpy := func(o *wire.Order) { o.Currency = "JPY" }
	s.produce(s.order("1001", noon, 10000, nil), s.order("1002", noon, 5000, nil), s.order("1003", noon.AddDate(0, 0, -40), 700, jpy))
	p := s.withBooks()
	stop := s.runs(p)
	s.applied()
	ready := func() (int, string) {
		w := httptest.NewRecorder()
		p.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/readyz", nil))
		return w.Code, w.Body.String()
	}
	f := func(what string, imbalances int, status int, contains string) {
		t.Helper()
		s.await(what, func() bool {
			code, body := ready()
			return s.metric(p, "tributary_processor_imbalances") == imbalances && code == status && strings.Contains(body, contains)
		})
	}
	f("the books are in order", 0, 200, `"books":{"state":"ok","checked_at"`)
	s.exec(setCredits("1001", 7, "((f ->> 7)::bigint + 7)::text"))
	f("a changed credit", 1, 503, `"day":"2026-03-10","currency":"BRL","model":"linear","credited_minor":"15007","approved_minor":"15000"`)
	s.exec(`update payout set credits = null where order_id = '1003'`)
	f("credits that are gone", 1+len(facts.Models), 503,
		`"day":"2026-01-29","currency":"JPY","model":"first","credited_minor":"0","approved_minor":"700"`)
	stop()
	p = s.withBooks() // knows of no change
	stop = s.runs(p)
	f("after a restart", 1+len(facts.Models), 503, `"model":"linear"`)
	s.exec(setCredits("1001", 7, "((f ->> 7)::bigint - 7)::text"))
	f("a repaired credit", len(facts.Models), 503, `"JPY"`)
	s.exec(`insert into recompute (company_id, order_id, cause) values ($1, '1003', 'rule 1 settings')`, s.company) // it waits
	f("an order that waits", 0, 200, `"state":"ok"`)
	stop()
}

func TestAnImbalanceSaysWhatDiffersAndByHowMuch(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.apply([]record{s.record(s.order("1001", noon, 10000, nil)), s.record(s.order("1002", noon, 5000, func(o *wire.Order) { o.Status = 2 }))},
		func() int { return 1 })
	f := func(change string, want ...string) {
		t.Helper()
		s.exec(change)
		found, err := pgbooks.AllImbalances(s.ctx, s.pool, s.company, 20)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, i := range found {
			got = append(got, i.String())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n%q\nwant\n%q", change, got, want)
		}
	}
	of := "company " + s.company + ", 2026-03-10, "
	f(`select 1`)
	f(setCredits("1001", 4, "((f ->> 4)::bigint - 125)::text"), of+"BRL, model first: credits of 98.75, approved orders of 100.00: 1.25 too little")
	f(setCredits("1001", 4, "null"), of+"BRL, model first: credits of 0.00, approved orders of 100.00: 100.00 too little")
	f(setCredits("1001", 4, "'10000'")+`; update payout set currency = 'KWD' where order_id = '1001'`, func() (want []string) {
		for _, c := range []string{"BRL, model %: credits of 0.00, approved orders of 100.00: 100.00 too little",
			"KWD, model %: credits of 10.000, approved orders of 0.000: 10.000 too much"} {
			for _, model := range facts.Models {
				want = append(want, of+strings.Replace(c, "%", model, 1))
			}
		}
		return want
	}()...)
}

// bookless has companies and days, and no orders.
type bookless struct{ days map[string][]books.SoldDay }

func (b bookless) Imbalances(context.Context, string, []string, int) ([]books.Imbalance, error) {
	return nil, nil
}

func (b bookless) SoldDays(_ context.Context, company, before string, limit int) (list []books.SoldDay, err error) {
	for _, d := range b.days[company] {
		if (before == lastDay || d.Day < before) && len(list) < limit {
			list = append(list, d)
		}
	}
	return list, nil
}

func (b bookless) CompaniesAfter(_ context.Context, company string, limit int) (list []string, err error) {
	for id := range b.days {
		if id > company {
			list = append(list, id)
		}
	}
	slices.Sort(list)
	return list[:min(limit, len(list))], nil
}

// TestEachDayIsLookedAtInTurn: all days of all own companies, few orders at a time, and
// then from the beginning again.
func TestEachDayIsLookedAtInTurn(t *testing.T) {
	t.Parallel()
	of := func(orders int64, days ...string) (list []books.SoldDay) {
		for _, d := range days {
			list = append(list, books.SoldDay{Day: d, Orders: orders})
		}
		return list
	}
	sales := bookless{map[string][]books.SoldDay{
		"c1": of(12_000, "2026-03-03", "2026-03-02", "2026-03-01"), "c2": of(1, "2026-03-03"), "c3": nil, "c4": of(5, "2026-03-05", "2026-03-04"),
		"c5": of(90_000, "2026-03-09", "2026-03-08"),
	}}
	var w dayWalk
	for round := range 2 {
		var got []string
		for {
			company, days, err := w.next(t.Context(), sales, sales.CompaniesAfter, func(id string) bool { return id != "c2" })
			if err != nil {
				t.Fatal(err)
			}
			if len(days) == 0 {
				break
			}
			got = append(got, company+" "+strings.Join(days, " "))
		}
		want := []string{"c1 2026-03-03", "c1 2026-03-02", "c1 2026-03-01", "c4 2026-03-05 2026-03-04", "c5 2026-03-09", "c5 2026-03-08"}
		if !slices.Equal(got, want) {
			t.Errorf("round %d: %q", round, got)
		}
	}
}

// TestWhatTheCheckRemembersIsBounded by days and by imbalances, and to own companies.
func TestWhatTheCheckRemembersIsBounded(t *testing.T) {
	t.Parallel()
	c := newConservation()
	days := map[companyDay]bool{}
	for n := range maxChangedDays + 10 {
		days[companyDay{"c1", noon.AddDate(0, 0, -n).Format(time.DateOnly)}] = true
	}
	c.note(days)
	if len(c.changed) != maxChangedDays {
		t.Errorf("%d changed days", len(c.changed))
	}
	for d := range days {
		c.put("c1", []string{d.day}, []books.Imbalance{{CompanyID: "c1", Day: d.day}}, noon)
	}
	if list, _ := c.found(); len(list) != maxImbalances {
		t.Errorf("%d imbalances", len(list))
	}
	if s := c.state(); len(s.Imbalances) != shownImbalances || s.More != maxImbalances-shownImbalances {
		t.Errorf("%d shown and %d more", len(s.Imbalances), s.More)
	}
	c.keep(func(id string) bool { return id != "c1" })
	if list, _ := c.found(); len(list) > 0 || len(c.changed) > 0 {
		t.Errorf("%d imbalances and %d days of another member", len(list), len(c.changed))
	}
}
