package processor

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres/report"
	"github.com/tributary-io/tributary/internal/reports"
	"github.com/tributary-io/tributary/internal/wire"
)

// What an influencer is owed beside orders is a cost of reports, to the cent and once: a fixed amount on the days on which it
// is owed and on none before, bonuses and adjustments on their day. An advance is a payment, and a product has no amount.
func TestCostsAreWhatIsOwedBesideOrders(t *testing.T) {
	t.Parallel()
	s := newLedgerShop(t)
	_, text := agreedMonth()
	s.agree("Beto Lima", "daily", 100, text(0), "", text(5))
	s.closeAt(date(text(8)).Add(15 * time.Hour))
	wantLines(t, s.owed(), "earned 100 "+text(5), "earned 100 "+text(6), "earned 100 "+text(7))
	for _, e := range []struct {
		kind  string
		minor int64
		day   int
	}{{"bonus", 5_001, 2}, {"bonus", 1, 2}, {"adjustment", -702, 6}, {"advance", -9_000, 6}, {"product", 0, 6}} {
		s.take(s.entry(uuid.NewString(), s.beto, e.kind, e.minor, text(e.day)))
	}
	s.take(s.entry(uuid.NewString(), s.ana, "bonus", 30, text(7)))

	read := func(name reports.Name, metric string) (lines []string) {
		t.Helper()
		r, err := report.New(s.db).Report(s.ctx, reports.Query{CompanyID: s.company, Name: name, Start: text(0), End: text(7),
			By: reports.ByDay, Currency: commerce.BRL})
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range r.Rows {
			if sum := row.Sums[r.Spec.Column(metric)]; !sum.IsZero() {
				lines = append(lines, fmt.Sprint(row.Period, row.Texts)+" "+sum.String())
			}
		}
		slices.Sort(lines)
		return append(lines, r.Totals.Sums[r.Spec.Column(metric)].String())
	}
	costs := []string{
		text(2) + fmt.Sprint([]string{"bonus", s.beto, "Beto Lima", "", "", ""}) + " 5002",
		text(5) + fmt.Sprint([]string{"influencer", s.beto, "Beto Lima", "", "", ""}) + " 100",
		text(6) + fmt.Sprint([]string{"influencer", s.beto, "Beto Lima", "", "", ""}) + " 100",
		text(6) + fmt.Sprint([]string{"adjustment", s.beto, "Beto Lima", "", "", ""}) + " -702",
		text(7) + fmt.Sprint([]string{"influencer", s.beto, "Beto Lima", "", "", ""}) + " 100",
		text(7) + fmt.Sprint([]string{"bonus", s.ana, "Ana Prado", "", "", ""}) + " 30",
	}
	want := func(name reports.Name, metric, total string, lines ...string) {
		t.Helper()
		slices.Sort(lines)
		wantLines(t, read(name, metric), append(lines, total)...)
	}
	check := func(when string) {
		t.Helper()
		want(reports.Costs, "amount", "4630", costs...)
		want(reports.Sales, "cost", "4630", text(2)+"[] 5002", text(5)+"[] 100", text(6)+"[] -602", text(7)+"[] 130")
		beto, ana := fmt.Sprint([]string{s.beto, "Beto Lima", "", ""}), fmt.Sprint([]string{s.ana, "Ana Prado", "", ""})
		want(reports.Influencers, "cost", "4630", text(2)+beto+" 5002", text(5)+beto+" 100", text(6)+beto+" -602", text(7)+beto+" 100",
			text(7)+ana+" 30")
		// But for the advance it is what the ledger has.
		owed := s.int(`select sum(amount_minor) from ledger_entry where kind <> 'advance' and payable_on <= $1`, text(7))
		if owed != 4630 {
			t.Errorf("%s: the ledger has %d", when, owed)
		}
	}
	check("posted")
	s.wantReplayed("posted")
	s.ask(s.beto, "BRL", text(7), 0)
	s.workOff()
	check("in a statement")
	s.wantReplayed("in a statement")
}

// What is owed in another currency is a cost of the reports in that currency alone.
func TestEntriesAreCostsOfTheirCurrency(t *testing.T) {
	t.Parallel()
	s := newLedgerShop(t)
	id := uuid.NewString()
	s.take(s.commerce(wire.KindEntry, id, noon, wire.Entry{EntryID: id, InfluencerID: s.beto, Kind: commerce.EntryBonus, AmountMinor: 250,
		Currency: "USD", Day: "2026-03-20", Reason: "abroad"}))
	for currency, want := range map[string]string{"USD": "250", "BRL": "0"} {
		r, err := report.New(s.db).Report(s.ctx, reports.Query{CompanyID: s.company, Name: reports.Sales, Start: "2026-03-20",
			End: "2026-03-20", By: reports.ByTotal, Currency: currency})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Totals.Sums[r.Spec.Column("cost")].String(); got != want {
			t.Errorf("%s: %s, want %s", currency, got, want)
		}
	}
}
