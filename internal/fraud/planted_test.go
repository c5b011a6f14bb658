package fraud_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/tributary-io/tributary/internal/attribution"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/fraud"
	"github.com/tributary-io/tributary/sdk/core"
	"github.com/tributary-io/tributary/test/fixtures/leaks"
)

// score counts what was found of what was planted.
type score struct{ found, wrong, missed int }

func (s score) precision() float64 { return float64(s.found) / float64(max(s.found+s.wrong, 1)) }
func (s score) recall() float64    { return float64(s.found) / float64(max(s.found+s.missed, 1)) }

func (s score) String() string {
	return fmt.Sprintf("%d found, %d wrong, %d missed: precision %.4f, recall %.4f", s.found, s.wrong, s.missed, s.precision(), s.recall())
}

// report gives the score to the output of a benchmark.
func (s score) report(b *testing.B) {
	b.ReportMetric(s.precision(), "precision")
	b.ReportMetric(s.recall(), "recall")
	b.ReportMetric(float64(s.found+s.missed), "planted")
}

// hold fails the test where the score is under the goals.
func (s score) hold(t testing.TB, what string) {
	t.Helper()
	s.holdAt(t, what, .99, .95)
}

// holdAt fails the test where the score is under a precision or a recall.
func (s score) holdAt(t testing.TB, what string, precision, recall float64) {
	t.Helper()
	if s.precision() < precision || s.recall() < recall {
		t.Errorf("%s: %v; it was %.2f and %.2f at least", what, s, precision, recall)
	}
}

// leakedCodes looks for the 4 leaked of 40 codes, with one seed after the other.
func leakedCodes(t testing.TB, from, seeds uint64) score {
	var s score
	var days int
	for seed := from; seed < from+seeds; seed++ {
		sales, planted := leaks.Codes(seed, 40, 4)
		since := map[string]leaks.Leaked{}
		for _, l := range planted {
			since[l.Code] = l
		}
		for _, sign := range fraud.Find(sales, nil) {
			if sign.Kind != fraud.CouponSpread {
				t.Errorf("seed %d: %s of %s", seed, sign.Kind, sign.Influencer)
				continue
			}
			l, leaked := since[sign.Code]
			if !leaked {
				s.wrong++
				t.Logf("seed %d: %s, %v after %v since %s", seed, sign.Code, sign.Observed, sign.Usual, sign.Since)
				continue
			}
			s.found++
			delete(since, sign.Code)
			if near(sign.Since, l.Since) {
				days++
			}
		}
		s.missed += len(since)
		for _, l := range since {
			t.Logf("seed %d: %s since %s with %d orders is missed", seed, l.Code, l.Since, l.Extra)
		}
	}
	s.hold(t, fmt.Sprintf("leaked codes of %d stores", seeds))
	if days*10 < s.found*9 {
		t.Errorf("of %d leaks %d have the day on which they began, or one within a week of it", s.found, days)
	}
	return s
}

func near(day, other string) bool {
	a, b := fraud.DayNumber(day), fraud.DayNumber(other)
	return a-b <= 7 && b-a <= 7
}

// hijackedJourneys looks for the hijacked journeys of stores: the events go through
// the rules that decide every order.
func hijackedJourneys(t testing.TB, seeds uint64, journeys int) score {
	var s score
	rules := leaks.Store()
	index := attribution.NewIndex(rules)
	for seed := range seeds {
		cases, planted := leaks.Journeys(seed, journeys, 8)
		s.count(planted, flaggedJourneys(t, seed, index, cases))
	}
	s.hold(t, fmt.Sprintf("hijacked of %d × %d journeys", seeds, journeys))
	return s
}

// flaggedJourneys are the orders of signs about journeys.
func flaggedJourneys(t testing.TB, seed uint64, index *attribution.Index, cases []facts.Case) map[string]bool {
	t.Helper()
	var sales []fraud.Sale
	for _, c := range cases {
		sales = append(sales, saleOf(c, index.Decide(c)))
	}
	flagged := map[string]bool{}
	for _, sign := range fraud.Find(sales, nil) {
		if sign.Kind != fraud.AfterCheckout {
			t.Errorf("seed %d: %s of %s, %v after %v", seed, sign.Kind, sign.Influencer, sign.Observed, sign.Usual)
			continue
		}
		for _, id := range sign.Orders {
			flagged[id] = true
		}
	}
	return flagged
}

// saleOf is what the store knows of a decided order.
func saleOf(c facts.Case, out facts.Outcome) fraud.Sale {
	s := fraud.Sale{
		OrderID: c.Order.OrderID, At: c.Order.CreatedAt, Day: out.Day, Currency: out.Currency, Total: c.Order.TotalMinor,
		Commission: out.Payout.CommissionMinor, Influencer: out.Payout.InfluencerID, Buyers: []string{"b" + c.Order.OrderID},
	}
	s.Explain(out.Explanation.Touches)
	return s
}

// forgedVisits looks for the orders whose visits are made up: the events go through the
// rules that decide every order.
func forgedVisits(t testing.TB, seeds uint64, journeys int) score {
	var all score
	index := attribution.NewIndex(leaks.Store())
	scores := map[fraud.Kind]*score{fraud.AfterOrder: {}, fraud.NoPageViews: {}, fraud.OneNetwork: {}}
	for seed := range seeds {
		cases, planted := leaks.Visits(seed, journeys)
		flagged := flaggedVisits(t, seed, index, cases)
		for kind, s := range scores {
			s.count(planted[kind], flagged[kind])
		}
	}
	for kind, s := range scores {
		s.hold(t, fmt.Sprintf("%s of %d × %d journeys", kind, seeds, journeys))
		t.Logf("%s: %v", kind, s)
		all = score{all.found + s.found, all.wrong + s.wrong, all.missed + s.missed}
	}
	return all
}

// count adds which of the planted orders are flagged.
func (s *score) count(planted, flagged map[string]bool) {
	for id := range flagged {
		if planted[id] {
			s.found++
		} else {
			s.wrong++
		}
	}
	for id := range planted {
		if !flagged[id] {
			s.missed++
		}
	}
}

// visitOf is what the store's events tell of a sale's visit.
func visitOf(s *fraud.Sale, events []facts.Event) *fraud.Visit {
	pages := slices.ContainsFunc(events, func(e facts.Event) bool { return e.Event.Event == core.PageView })
	for i := range events {
		if events[i].EventID == s.Last.EventID {
			return fraud.NewVisit(s, &events[i], pages)
		}
	}
	return nil
}

func TestLeakedCodesAreFoundAmongHonestOnes(t *testing.T) { leakedCodes(t, 3, 5) }

func TestHijackedJourneysAreFoundAmongHonestOnes(t *testing.T) { hijackedJourneys(t, 1, 2_000) }

func TestForgedVisitsAreFoundAmongHonestOnes(t *testing.T) { forgedVisits(t, 1, 4_000) }

// The full sizes. All fail under the goals.
func BenchmarkLeakedCodesOf60Stores(b *testing.B) {
	for b.Loop() {
		leakedCodes(b, 0, 60).report(b)
	}
}

func BenchmarkHijackedOf10000Journeys(b *testing.B) {
	for b.Loop() {
		hijackedJourneys(b, 5, 10_000).report(b)
	}
}

func BenchmarkForgedVisitsOf10000Journeys(b *testing.B) {
	for b.Loop() {
		forgedVisits(b, 5, 10_000).report(b)
	}
}
