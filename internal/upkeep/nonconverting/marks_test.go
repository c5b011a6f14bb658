package nonconverting_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/upkeep/nonconverting"
	"github.com/tributary-io/tributary/internal/wire"
)

// ownDay are rules by which an order changes the paths of its own day alone, once a week has passed.
type ownDay struct{ nonconverting.Rules }

func (ownDay) PathsReadingOrder(createdAt, now time.Time) (days facts.DaySpan, ok bool) {
	day := createdAt.Format(time.DateOnly)
	return facts.DaySpan{From: day, To: day}, now.Sub(createdAt) > 7*24*time.Hour
}

// marked takes what was noted.
type marked struct {
	nonconverting.Store
	days []string
}

func (m *marked) Mark(_ context.Context, _ string, spans []facts.DaySpan) error {
	for _, s := range spans {
		m.days = append(m.days, s.From+" "+s.To)
	}
	return nil
}

func TestOrdersMarkTheDaysOfWhichTheyChangeThePaths(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 6, 30, 12, 0, 0, 0, time.UTC)
	first, second, fresh := now.AddDate(0, 0, -20), now.AddDate(0, 0, -10), now.AddDate(0, 0, -1)
	const one, other = "2026-06-10 2026-06-10", "2026-06-20 2026-06-20"
	sale := func(at time.Time, change func(o *wire.Order)) facts.StoredVersion {
		o := wire.Order{OrderID: "1", CreatedAt: at, Status: commerce.OrderApproved, EmailKey: wire.Some("an e-mail")}
		if change != nil {
			change(&o)
		}
		return facts.StoredVersion{Order: o}
	}
	cancel := func(o *wire.Order) { o.Status = commerce.OrderCancelled }
	joined := func(o *wire.Order) { o.EmailKey = wire.Some("another e-mail") }
	more := func(o *wire.Order) { o.TotalMinor++ }
	cancelledWith := func(change func(o *wire.Order)) func(o *wire.Order) {
		return func(o *wire.Order) { cancel(o); change(o) }
	}
	as := func(list ...facts.StoredVersion) []facts.StoredVersion { return list }
	for what, c := range map[string]struct {
		before, after []facts.StoredVersion
		want          []string
	}{
		"a new order of a fresh day":               {nil, as(sale(fresh, nil)), nil},
		"a new order of an old day":                {nil, as(sale(first, nil)), []string{one}},
		"a new order that is cancelled already":    {nil, as(sale(first, cancel)), []string{one}},
		"another total":                            {as(sale(first, nil)), as(sale(first, nil), sale(first, more)), nil},
		"cancelled":                                {as(sale(first, nil)), as(sale(first, nil), sale(first, cancel)), []string{one}},
		"cancelled, and then another total":        {as(sale(first, cancel)), as(sale(first, cancel), sale(first, cancelledWith(more))), nil},
		"not cancelled any more":                   {as(sale(first, cancel)), as(sale(first, cancel), sale(first, nil)), []string{one}},
		"joined by another key":                    {as(sale(first, nil)), as(sale(first, nil), sale(first, joined)), []string{one}},
		"moved to another day":                     {as(sale(first, nil)), as(sale(first, nil), sale(second, nil)), []string{one, other}},
		"moved from an old day to a fresh one":     {as(sale(first, nil)), as(sale(first, nil), sale(fresh, nil)), []string{one}},
		"moved from a fresh day to an old one":     {as(sale(fresh, nil)), as(sale(fresh, nil), sale(first, nil)), []string{one}},
		"cancelled on a fresh day":                 {as(sale(fresh, nil)), as(sale(fresh, nil), sale(fresh, cancel)), nil},
		"of a fresh day, whose first version came": {as(sale(fresh, nil)), as(sale(first, nil), sale(fresh, nil)), nil},
	} {
		var marks nonconverting.Marks
		var got marked
		marks.Order(ownDay{}, c.before, c.after, now)
		if err := marks.Store(t.Context(), &got, "c"); err != nil || !slices.Equal(got.days, c.want) {
			t.Errorf("%s: %q, %v, want %q", what, got.days, err, c.want)
		}
	}
}
