package processor

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres/report"
	"github.com/tributary-io/tributary/internal/wire"
)

// A line shows the order's day as it was when the statement was closed, whatever a later
// version of the order says.
func TestTheDayOfAClosedLineStays(t *testing.T) {
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
		return lines[0].OrderID + " " + lines[0].Day + " " + lines[0].AmountMinor.String()
	}
	if got := read(); got != "o1 2026-03-10 300" {
		t.Errorf("closed with %s", got)
	}
	s.sale("o1", 10000, func(o *wire.Order) { coupon("BETO")(o); o.CreatedAt = noon.AddDate(0, -2, 0) })
	if day := s.texts(`select day::text from orders`); day[0] != "2026-01-10" {
		t.Fatalf("the order is of %s", day)
	}
	if got := read(); got != "o1 2026-03-10 300" {
		t.Errorf("after another version of the order the closed line is %s", got)
	}
	s.replaysStatements()
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
