package books

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)

// bookless has companies and days, and no orders.
type bookless struct{ days map[string][]SoldDay }

func (b bookless) Imbalances(context.Context, string, []string, int) ([]Imbalance, error) {
	return nil, nil
}

func (b bookless) SoldDays(_ context.Context, company, before string, limit int) (list []SoldDay, err error) {
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
	of := func(orders int64, days ...string) (list []SoldDay) {
		for _, d := range days {
			list = append(list, SoldDay{Day: d, Orders: orders})
		}
		return list
	}
	sales := bookless{map[string][]SoldDay{
		"c1": of(12_000, "2026-03-03", "2026-03-02", "2026-03-01"), "c2": of(1, "2026-03-03"), "c3": nil, "c4": of(5, "2026-03-05", "2026-03-04"),
		"c5": of(90_000, "2026-03-09", "2026-03-08"),
	}}
	var w walk
	for round := range 2 {
		var got []string
		for {
			company, days, err := w.next(t.Context(), sales, sales, func(id string) bool { return id != "c2" })
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
	f := newFound()
	var days []Day
	for n := range maxChangedDays + 10 {
		days = append(days, Day{"c1", noon.AddDate(0, 0, -n).Format(time.DateOnly)})
	}
	f.note(days)
	if len(f.changed) != maxChangedDays {
		t.Errorf("%d changed days", len(f.changed))
	}
	for _, d := range days {
		f.put("c1", []string{d.Day}, []Imbalance{{CompanyID: "c1", Day: d.Day}}, noon)
	}
	if list, _ := f.list(); len(list) != maxImbalances {
		t.Errorf("%d imbalances", len(list))
	}
	f.keep(func(id string) bool { return id != "c1" })
	if list, _ := f.list(); len(list) > 0 || len(f.changed) > 0 {
		t.Errorf("%d imbalances and %d days of another member", len(list), len(f.changed))
	}
}
