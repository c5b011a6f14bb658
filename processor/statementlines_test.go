package processor

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres/replay"
	"github.com/tributary-io/tributary/internal/postgres/report"
	"github.com/tributary-io/tributary/internal/wire"
)

// A line shows the order's day, and the base of its commission, as they were when the
// statement was closed, whatever a later version of the order says.
func TestTheDayAndTheBaseOfAClosedLineStay(t *testing.T) {
	t.Parallel()
	s := newLedgerShop(t)
	s.sale("o1", 10000, coupon("BETO"))
	id := s.ask(s.beto, "BRL", "2027-01-01", 0)
	s.stepsOfWork(rand.New(rand.NewPCG(1, 1)), 100)
	read := func() string {
		lines, err := report.New(s.db).StatementLines(s.ctx, s.company, id, "", 10)
		if err != nil || len(lines) != 1 {
			t.Fatalf("%+v, %v", lines, err)
		}
		return lines[0].OrderID + " " + lines[0].Day + " " + lines[0].AmountMinor.String() + " of " + lines[0].Base("BRL").String()
	}
	if got := read(); got != "o1 2026-03-10 300 of 100.00" {
		t.Errorf("closed with %s", got)
	}
	s.sale("o1", 20000, func(o *wire.Order) { coupon("BETO")(o); o.CreatedAt = noon.AddDate(0, -2, 0) })
	if day := s.texts(`select day::text from orders`); day[0] != "2026-01-10" {
		t.Fatalf("the order is of %s", day)
	}
	if got := read(); got != "o1 2026-03-10 300 of 100.00" {
		t.Errorf("after another version of the order the closed line is %s", got)
	}
	s.replaysStatements()

	// The fixed fee of an order in another currency is of no base.
	s.sale("o2", 10000, func(o *wire.Order) { coupon("ANA10")(o); o.Currency = "USD" })
	for currency, want := range map[string]string{"USD": "o2 7.50 100.00", "BRL": "o2 1.00 none"} {
		id := s.ask(s.ana, currency, "2027-01-01", 0)
		s.stepsOfWork(rand.New(rand.NewPCG(1, 1)), 100)
		lines, err := report.New(s.db).StatementLines(s.ctx, s.company, id, "", 10)
		if err != nil || len(lines) != 1 {
			t.Fatalf("%+v, %v", lines, err)
		}
		base := "none"
		if known := lines[0].Base(currency); known != nil {
			base = known.String()
		}
		if got := lines[0].OrderID + " " + commerce.FormatSum(lines[0].AmountMinor, currency) + " " + base; got != want {
			t.Errorf("%s: %s, want %s", currency, got, want)
		}
	}
}

// A line that takes back says why, as the ledger does.
func TestALineBelowZeroHasItsCause(t *testing.T) {
	t.Parallel()
	s := newLedgerShop(t)
	s.sale("o1", 10000, coupon("BETO"))
	s.sale("o2", 10000, coupon("BETO"))
	s.ask(s.beto, "BRL", "2027-01-01", 0)
	s.stepsOfWork(rand.New(rand.NewPCG(1, 1)), 100)
	s.sale("o1", 10000, func(o *wire.Order) {
		coupon("BETO")(o)
		o.Status, o.UpdatedAt = commerce.OrderCancelled, wire.Some(noon.AddDate(0, 1, 0))
	})
	s.sale("o3", 10000, coupon("BETO"))
	id := s.ask(s.beto, "BRL", "2027-01-02", 0)
	s.stepsOfWork(rand.New(rand.NewPCG(1, 1)), 100)
	lines, err := report.New(s.db).StatementLines(s.ctx, s.company, id, "", 10)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range lines {
		got = append(got, fmt.Sprint(l.OrderID, " ", l.AmountMinor, " ", l.Cause))
	}
	if text := strings.Join(got, "; "); text != "o1 -300 order "+noon.AddDate(0, 1, 0).UTC().Format(time.RFC3339)+"; o3 300 " {
		t.Errorf("the lines are %s", text)
	}
}

// printed is all that a statement prints of its lines and its parties.
func (s *ledgerShop) printed(id, currency string) (lines []string, parties commerce.Parties) {
	s.t.Helper()
	reader := report.New(s.db)
	list, err := reader.StatementLines(s.ctx, s.company, id, "", 10)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, l := range list {
		text := fmt.Sprint(l.Name(), " ", commerce.FormatSum(l.AmountMinor, currency), " of ", l.Value(currency), " by ", l.Evidence, l.Coupon)
		for _, rate := range l.Rates() {
			text += " " + rate.Text()
		}
		lines = append(lines, text)
	}
	return lines, s.partiesOf(id)
}

func (s *ledgerShop) partiesOf(id string) commerce.Parties {
	s.t.Helper()
	list, err := report.New(s.db).Parties(s.ctx, s.company, []string{id})
	if err != nil {
		s.t.Fatal(err)
	}
	return list[id]
}

// What a statement prints of orders, agreements, store and influencer is as it was when it was closed: changes and
// erasures of later days are in the next one.
func TestWhatAStatementPrintsStaysAsItWas(t *testing.T) {
	t.Parallel()
	s := newLedgerShop(t)
	s.exec(`update company set legal_name = 'Loja Ltda', tax_id = '11222333000181'`)
	s.exec(`insert into influencer_personal (company_id, influencer_id, document, pix_type, pix_key, pix_at, pix_by)
		values ($1, $2, '52998224725', 'email', 'ana@example.com', $3, 'user/x')`, s.company, s.ana, noon)
	named := func(o *wire.Order) { coupon("ANA10")(o); o.Name = wire.Some("#915") }
	s.sale("demo-915", 20000, named)
	first := s.ask(s.ana, "BRL", "2027-01-01", 0)
	s.stepsOfWork(rand.New(rand.NewPCG(1, 1)), 100)
	wantParties := commerce.Parties{Store: commerce.Party{Name: "Loja Ltda", Document: "11222333000181"},
		Influencer: commerce.Party{Name: "Ana Prado", Document: "52998224725"},
		Pix:        commerce.Pix{Type: commerce.PixEmail, Key: "ana@example.com"}, PixChanged: commerce.Touched{At: noon, Actor: "user/x"}}
	same := func() {
		t.Helper()
		lines, parties := s.printed(first, "BRL")
		wantLines(t, lines, "#915 16.00 of 200.00 by couponANA10 7.5% + 1.00")
		parties.PixChanged.At = parties.PixChanged.At.UTC()
		if parties != wantParties {
			t.Errorf("%+v, want %+v", parties, wantParties)
		}
	}
	same()
	s.replaysStatements()

	s.exec(`update company set legal_name = '', tax_id = ''`)
	s.exec(`update influencer set name = 'Ana Lima', name_folded = 'ana lima' where influencer_id = $1`, s.ana)
	s.exec(`delete from influencer_personal`)
	s.exec(`update coupon set code = 'ANA99' where code = 'ANA10'`)
	s.sale("demo-915", 10000, func(o *wire.Order) { named(o); o.Name = wire.Some("#916") })
	s.sale("o2", 10000, func(o *wire.Order) { coupon("ANA10")(o); o.Currency = "USD" })
	second := s.ask(s.ana, "BRL", "2027-01-01", 0)
	s.stepsOfWork(rand.New(rand.NewPCG(1, 1)), 100)
	same()
	lines, parties := s.printed(second, "BRL")
	wantLines(t, lines, "#916 -7.50 of 100.00 by couponANA99 7.5% + 1.00", "o2 1.00 of <nil> by couponANA99 1.00")
	if parties.Store.Name == "Loja Ltda" || parties.Influencer.Name != "Ana Lima" || parties.Pix.Key != "" {
		t.Errorf("the second statement is of %+v", parties)
	}
	s.replaysStatements()

	// An order that went to somebody else has no evidence left.
	s.sale("demo-915", 10000, coupon("BETO"))
	third := s.ask(s.ana, "BRL", "2027-01-01", 0)
	s.stepsOfWork(rand.New(rand.NewPCG(1, 1)), 100)
	lines, _ = s.printed(third, "BRL")
	wantLines(t, lines, "#916 -8.50 of 100.00 by  7.5% + 1.00")
}

// What is withheld of a statement is a record: a repeat changes nothing, the newest counts, and a replay has the same.
func TestWhatIsWithheldIsARecord(t *testing.T) {
	t.Parallel()
	s := newLedgerShop(t)
	s.sale("o1", 10000, coupon("BETO"))
	id := s.ask(s.beto, "BRL", "2027-01-01", 0)
	s.stepsOfWork(rand.New(rand.NewPCG(1, 1)), 100)
	var last any
	for _, w := range []wire.Withholding{{Withheld: []wire.Withheld{{Name: "IRRF", AmountMinor: 100}}, Invoice: "1"},
		{Withheld: []wire.Withheld{{Name: "ISS", AmountMinor: 40}, {Name: "IRRF", AmountMinor: 1}}, Invoice: "2"}} {
		s.bump()
		w.StatementID = id
		last = s.commerce(wire.KindWithholding, id, noon, w)
		s.take(last)
	}
	s.take(last)
	s.pay(id)
	read := func(reader *report.Reader) string {
		t.Helper()
		st, err := reader.Statement(s.ctx, s.company, id)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(st.State, " ", st.TotalMinor, " ", st.WithheldText(), " ", st.NetMinor(), " ", st.Invoice)
	}
	const want = "paid 300 ISS 0.40, IRRF 0.01 259 2"
	if got := read(report.New(s.db)); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if err := replay.Run(s.ctx, s.db, s.dsn, replay.Options{}, replayInto, func(_ *replay.Snapshot, fresh *replay.Schema) error {
		if got := read(report.New(fresh.DB)); got != want {
			t.Errorf("replayed: %s, want %s", got, want)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}
