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
	"github.com/tributary-io/tributary/internal/postgres/upkeep"
	"github.com/tributary-io/tributary/internal/upkeep/books"
	"github.com/tributary-io/tributary/internal/wire"
)

// withBooks is a processor that checks its books without a pause.
func (s *stack) withBooks() *Processor {
	p := s.processor(s.group(), s.producer)
	return New(Config{CheckEvery: time.Millisecond}, Deps{Store: p.Store, Log: p.Log, Results: p.Results, Books: upkeep.NewBooks(s.db)})
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
	s.exec(setCredits("1001", 8, "(f[8]::bigint + 7)::text"))
	f("a changed credit", 1, 503, `"day":"2026-03-10","currency":"BRL","model":"linear","credited_minor":"15007","approved_minor":"15000"`)
	s.exec(`update payout set credits = '' where order_id = '1003'`)
	f("credits that are gone", 1+len(facts.Models), 503,
		`"day":"2026-01-29","currency":"JPY","model":"first","credited_minor":"0","approved_minor":"700"`)
	stop()
	p = s.withBooks() // knows of no change
	stop = s.runs(p)
	f("after a restart", 1+len(facts.Models), 503, `"model":"linear"`)
	s.exec(setCredits("1001", 8, "(f[8]::bigint - 7)::text"))
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
		found, err := upkeep.AllImbalances(s.ctx, s.pool, s.company, 20)
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
	f(setCredits("1001", 5, "(f[5]::bigint - 125)::text"), of+"BRL, model first: credits of 98.75, approved orders of 100.00: 1.25 too little")
	f(setCredits("1001", 5, "null"), of+"BRL, model first: credits of 0.00, approved orders of 100.00: 100.00 too little")
	f(setCredits("1001", 5, "'10000'")+`; update payout set currency = 'KWD' where order_id = '1001'`, func() (want []string) {
		for _, c := range []string{"BRL, model %: credits of 0.00, approved orders of 100.00: 100.00 too little",
			"KWD, model %: credits of 10.000, approved orders of 0.000: 10.000 too much"} {
			for _, model := range facts.Models {
				want = append(want, of+strings.Replace(c, "%", model, 1))
			}
		}
		return want
	}()...)
}

// TestReadinessShowsTheFirstImbalances and how many more there are.
func TestReadinessShowsTheFirstImbalances(t *testing.T) {
	t.Parallel()
	const more = 5
	check := books.New(imbalanced{shownImbalances + more}, nil)
	check.Note([]books.Day{{CompanyID: "c1", Day: "2026-03-10"}})
	if _, checked, err := check.Next(t.Context(), func(string) bool { return true }, noon); err != nil || !checked {
		t.Fatal(checked, err)
	}
	if s := booksStateOf(check); s.State != "error" || len(s.Imbalances) != shownImbalances || s.More != more {
		t.Errorf("%s: %d shown and %d more", s.State, len(s.Imbalances), s.More)
	}
}

// imbalanced finds so many imbalances of every day.
type imbalanced struct{ imbalances int }

func (i imbalanced) Imbalances(context.Context, string, []string, int) ([]books.Imbalance, error) {
	return make([]books.Imbalance, i.imbalances), nil
}

func (imbalanced) SoldDays(context.Context, string, string, int) ([]books.SoldDay, error) {
	return nil, nil
}
