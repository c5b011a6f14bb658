package statements

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/ledger"
)

// kept is a Store in memory: statements that are asked for, each with entries that may be put into
// it and those that are.
type kept struct {
	Store
	open   []*Statement
	free   map[string][]ledger.Entry // by statement
	frozen map[string][]ledger.Entry
	closed []Closed
	looked int // at entries, in this step
}

func (k *kept) Next(context.Context, string) (*Statement, error) {
	if len(k.open) == 0 {
		return nil, nil
	}
	return k.open[0], nil
}

func (k *kept) Freeze(_ context.Context, _ string, s Statement, limit int) (int, error) {
	n := min(limit, len(k.free[s.StatementID]))
	k.frozen[s.StatementID] = append(k.frozen[s.StatementID], k.free[s.StatementID][:n]...)
	k.free[s.StatementID] = k.free[s.StatementID][n:]
	k.looked += n
	return n, nil
}

func (k *kept) Sum(_ context.Context, _, id string, sum *Sum, limit int) (n int, err error) {
	for _, e := range k.frozen[id] {
		if e.Number > sum.Number && n < limit {
			sum.Add("o", e, "")
			n++
		}
	}
	k.looked += n
	return n, nil
}

func (k *kept) Parties(context.Context, string, string) (p commerce.Parties, err error) {
	return p, nil
}

func (k *kept) KeepSum(_ context.Context, _, _ string, sum *Sum) error {
	k.open[0].Summed = sum
	return nil
}

func (k *kept) ClosedBefore(context.Context, string, Statement) (*Closed, error) {
	if len(k.closed) == 0 {
		return nil, nil
	}
	return &k.closed[len(k.closed)-1], nil
}

func (k *kept) Close(_ context.Context, _ string, _ time.Time, c Closed) error {
	k.open, k.closed = k.open[1:], append(k.closed, c)
	return nil
}

// In steps of any length the statements have the same entries and totals, the one that was asked
// for first is closed first, and no step looks at more entries than about twice its limit.
func TestStatementsAreClosedInSteps(t *testing.T) {
	f := func(limit int, sizes ...int) (steps int) {
		t.Helper()
		k := &kept{free: map[string][]ledger.Entry{}, frozen: map[string][]ledger.Entry{}}
		want := ""
		total := 0
		for i, size := range sizes {
			id := fmt.Sprint("s", i)
			k.open = append(k.open, &Statement{StatementID: id, EndDate: "2026-04-30", MinimumMinor: 1 << 40})
			for n := range size {
				l := lineOf("a", 1, "BRL")
				l.PayableOn = "2026-04-10"
				k.free[id] = append(k.free[id], ledger.Entry{Line: l, Number: n + 1, Kind: ledger.Earned})
			}
			total += size
			want += fmt.Sprintf("%s %d %d, ", id, size, total)
		}
		closed := 0
		for more := true; more; steps++ {
			k.looked = 0
			n, left, err := CloseNext(t.Context(), k, "c", noon, limit)
			if err != nil || steps > 10_000 {
				t.Fatalf("step %d: %v", steps, err)
			}
			if more = left; k.looked > 3*limit {
				t.Errorf("a step of %d looked at %d entries", limit, k.looked)
			}
			closed += n
		}
		got := ""
		for _, c := range k.closed {
			got += fmt.Sprintf("%s %d %s, ", c.StatementID, c.Entries, c.Total)
		}
		if got != want || closed != len(sizes) {
			t.Errorf("limit %d: %d closed: %s; want %s", limit, closed, got, want)
		}
		return steps
	}
	f(1000)
	f(1000, 0, 3, 0)
	f(1, 7, 0, 2)
	f(7, 7, 14, 8)
	f(3, 20, 1)
	if steps := f(1000, 0, 0, 0); steps != 1 {
		t.Errorf("three empty statements took %d steps", steps)
	}
	if steps := f(200, 0, 0); steps != 2 {
		t.Errorf("an empty statement counts as 100 entries: two took %d steps of 200, want one and one that finds none", steps)
	}
}
