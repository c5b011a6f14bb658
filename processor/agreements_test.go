package processor

import (
	"crypto/rand"
	"errors"
	"fmt"
	random "math/rand/v2"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres/merchant"
	"github.com/tributary-io/tributary/internal/postgres/replay"
	"github.com/tributary-io/tributary/internal/postgres/report"
	"github.com/tributary-io/tributary/internal/reports"
)

// agree adds an agreement as admin does, and returns its id.
func (s *ledgerShop) agree(name, frequency string, minor int64, start, end, owedFrom string) string {
	s.t.Helper()
	_, cost, err := merchant.New(s.db).AddCost(s.ctx, commerce.Author{CompanyID: s.company, Actor: "test", At: time.Now()}, name, "",
		commerce.CostTerms{ValueMinor: minor, Frequency: frequency, StartDate: start, EndDate: end, OwedFrom: owedFrom}, rand.Reader)
	if err != nil {
		s.t.Fatal(err)
	}
	s.exec(`delete from outbox`)
	return cost.CostID
}

func (s *ledgerShop) endAgreement(costID string) {
	s.t.Helper()
	author := commerce.Author{CompanyID: s.company, Actor: "test", At: time.Now()}
	if err := merchant.New(s.db).DeleteCost(s.ctx, author, costID, false); err != nil {
		s.t.Fatal(err)
	}
	s.exec(`delete from outbox`)
}

// closeAt closes the days that are over at an instant.
func (s *ledgerShop) closeAt(now time.Time) {
	s.t.Helper()
	p := s.processor(nil, nil)
	p.Now = func() time.Time { return now }
	for more := true; more; {
		var err error
		if more, err = p.CloseDays(s.ctx, s.company, AnyPartition); err != nil {
			s.t.Fatal(err)
		}
	}
}

// owed are the entries of agreements: "kind cents day [in a statement]".
func (s *ledgerShop) owed() []string {
	return s.texts(`select concat_ws(' ', kind, amount_minor, payable_on, case when statement_id is not null then 'closed' end)
		from ledger_entry where starts_with(order_id, E'\x01agreement/') order by at, payable_on, entry, amount_minor`)
}

func (s *ledgerShop) wantReplayed(what string) {
	s.t.Helper()
	if found, err := s.replay(s.ctx, replay.Options{}); err != nil || !found.Equal() {
		s.t.Errorf("%s: %+v, %v", what, found, err)
	}
}

// reported is what the report of costs counts of influencers on some days.
func (s *ledgerShop) reported(first, last string) int64 {
	s.t.Helper()
	r, err := report.New(s.db).Report(s.ctx, reports.Query{CompanyID: s.company, Name: reports.Costs, Start: first, End: last,
		By: reports.ByTotal, Currency: commerce.BRL})
	if err != nil {
		s.t.Fatal(err)
	}
	return r.Totals.Sums[r.Spec.Column("amount")].IntPart()
}

// agreedMonth is the first day of the month before last, in the database's time, and a function of days after it.
func agreedMonth() (first time.Time, text func(days int) string) {
	now := time.Now().UTC()
	first = time.Date(now.Year(), now.Month()-2, 1, 15, 0, 0, 0, time.UTC) // noon in São Paulo
	return first, func(days int) string { return first.AddDate(0, 0, days).Format(time.DateOnly) }
}

func TestAgreementsArePostedWhenTheirDaysAreClosed(t *testing.T) {
	t.Parallel()
	s := newLedgerShop(t)
	first, text := agreedMonth()
	month := first.AddDate(0, 1, -1).Day()
	last := text(month - 1)
	s.agree("Beto Lima", "monthly", 300, "2025-01-01", "", "")
	this := time.Now().In(saoPaulo(t))
	next := time.Date(this.Year(), this.Month()+1, 1, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
	wantLines(t, s.texts(`select owed_from::text from cost where value_minor > 0`), next) // by default
	monthly := s.agree("Beto Lima", "monthly", 3101, "2025-01-01", "", text(0))           // in place of the first
	s.agree("Beto Lima", "specific", 900, text(3), "", text(0))
	s.closeAt(first.AddDate(0, 0, 3))
	if got := s.owed(); len(got) != 0 {
		t.Fatalf("before their days are over: %v", got)
	}
	s.closeAt(first.AddDate(0, 0, month-1))
	wantLines(t, s.owed(), "earned 900 "+text(3))
	s.wantReplayed("within the month")
	for range 2 {
		s.closeAt(first.AddDate(0, 0, month))
	}
	wantLines(t, s.owed(), "earned 900 "+text(3), "earned 3101 "+last)
	if got := s.reported(text(0), last); got != 4001 {
		t.Errorf("the report has %d", got)
	}
	s.ask(s.beto, "BRL", last, 0)
	s.workOff() // by the clock: later days are closed meanwhile
	wantLines(t, s.texts(`select total_minor::text from statement`), "4001")
	s.wantReplayed("in a statement")

	// Another amount from the eleventh on: what the closed statement has too much is taken back in the next one.
	s.agree("Beto Lima", "monthly", 6200, "2025-01-01", "", text(10))
	if err := replay.InSnapshot(s.ctx, s.db, func(*replay.Snapshot) error { return nil }); !errors.Is(err, replay.ErrQueued) {
		t.Errorf("while agreements wait: %v", err)
	}
	s.ask(s.beto, "BRL", last, 0)
	s.workOff() // what waits is posted before the statement is closed
	want := int64(0)
	for _, c := range []commerce.AdditionalCost{{ValueMinor: 3101, Until: text(10)}, {ValueMinor: 6200, Since: text(10)}} {
		c.Frequency, c.StartDate = commerce.Monthly, "2025-01-01"
		c.Each(date(text(0)), date(last), func(_ time.Time, minor int64) { want += minor })
	}
	if got := s.int(`select sum(total_minor - opening_minor)::bigint from statement`); got != want+900 {
		t.Errorf("the statements have %d, want %d", got, want+900)
	}
	if n := s.int(`select count(*) from ledger_entry where kind = 'reversed' and cost_id = $1 and payable_on = $2`, monthly, last); n != 1 {
		t.Errorf("%d entries take back", n)
	}
	if got := s.reported(text(0), last); got != want+900 {
		t.Errorf("the report has %d, want %d", got, want+900)
	}
	s.wantReplayed("with a difference")
}

// An agreement that is removed is owed until the day before; what is posted stays.
func TestAnAgreementThatIsRemovedEnds(t *testing.T) {
	t.Parallel()
	s := newLedgerShop(t)
	first, text := agreedMonth()
	id := s.agree("Ana Prado", "daily", 100, text(0), "", text(0))
	s.closeAt(first.AddDate(0, 0, 2))
	wantLines(t, s.owed(), "earned 100 "+text(0), "earned 100 "+text(1))
	s.endAgreement(id)
	s.closeAt(time.Now().AddDate(0, 0, 5))
	days := int(date(time.Now().In(saoPaulo(t)).Format(time.DateOnly)).Sub(date(text(0))) / (24 * time.Hour))
	if got := s.owed(); len(got) != days {
		t.Errorf("%d days are owed, want %d", len(got), days)
	}
	s.wantReplayed("removed")
}

// Whatever is agreed, changed and removed, whenever days are closed and statements too: a replay gives the same ledger, each line is
// owed once, and what is in statements and in none is the ledger.
func TestAgreementsFollowFromTheRulesAndTheClosedDay(t *testing.T) {
	t.Parallel()
	s := newLedgerShop(t)
	first, text := agreedMonth()
	for seed := range seeds(2, 12) {
		r := random.New(random.NewPCG(seed, 33))
		s.empty("ledger_entry", "statement", "statement_payment", "recompute_company", "audit_log", "closed_day", "agreement_queue", "cost")
		at := first
		var ids []string
		for range 14 {
			switch r.IntN(5) {
			case 0, 1:
				name, end := []string{"Ana Prado", "Beto Lima"}[r.IntN(2)], ""
				if r.IntN(3) == 0 {
					end = text(10 + r.IntN(40))
				}
				ids = append(ids, s.agree(name, commerce.Frequencies[r.IntN(4)], 1+r.Int64N(90_000), text(r.IntN(3)), end, text(r.IntN(30)-5)))
			case 2:
				if len(ids) > 0 && r.IntN(2) == 0 {
					i := r.IntN(len(ids))
					s.endAgreement(ids[i])
					ids = append(ids[:i], ids[i+1:]...)
				}
			case 3:
				at = at.AddDate(0, 0, r.IntN(20))
				s.closeAt(at)
			case 4:
				s.ask([]string{s.ana, s.beto}[r.IntN(2)], "BRL", text(r.IntN(60)), 0)
				s.workOff()
			}
		}
		s.closeAt(time.Now())
		s.wantReplayed(fmt.Sprint("seed ", seed))
		if n := s.int(`select count(*) from (select 1 from ledger_entry group by order_id, payable_on having sum(amount_minor) <> 0
			and count(*) filter (where kind <> 'reversed') - count(*) filter (where kind = 'reversed') <> 1) x`); n != 0 {
			t.Errorf("seed %d: %d lines are owed twice", seed, n)
		}
		open := s.int(`select coalesce(sum(amount_minor), 0) from ledger_entry where statement_id is null`)
		closed := s.int(`select coalesce(sum(total_minor - opening_minor), 0)::bigint from statement where closed_at is not null`)
		waiting := s.int(`select count(*) from agreement_queue`)
		if all := s.int(`select coalesce(sum(amount_minor), 0) from ledger_entry`); open+closed != all || waiting != 0 {
			t.Errorf("seed %d: open %d, closed %d, the ledger %d", seed, open, closed, all)
		}
	}
}

func saoPaulo(t *testing.T) *time.Location {
	zone, err := time.LoadLocation("America/Sao_Paulo")
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

func date(text string) time.Time {
	at, err := time.Parse(time.DateOnly, text)
	if err != nil {
		panic(err)
	}
	return at
}
