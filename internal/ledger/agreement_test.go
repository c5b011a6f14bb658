package ledger

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
)

func day(text string) time.Time {
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		panic(err)
	}
	return t
}

func agreed(frequency string, minor int64, start, end, owed, until string) Agreement {
	return Agreement{InfluencerID: "i", CampaignID: "c", AdditionalCost: commerce.AdditionalCost{ID: "k", ValueMinor: minor,
		Frequency: frequency, StartDate: start, EndDate: end, Since: owed, Until: until}}
}

// shown are lines as "<day> <cents>".
func shown(lines []facts.Line) (list []string) {
	for _, l := range lines {
		list = append(list, fmt.Sprint(l.PayableOn, " ", l.AmountMinor))
	}
	return list
}

func TestAnAgreementIsOwedOnItsDays(t *testing.T) {
	t.Parallel()
	f := func(a Agreement, closed string, want ...string) {
		t.Helper()
		if got := fmt.Sprint(shown(Lines(a, closed))); got != fmt.Sprint(want) {
			t.Errorf("%s from %s, owed from %s, until %s or %s, closed %s: %s, want %s", a.Frequency, a.StartDate,
				a.Since, a.EndDate, a.Until, closed, got, want)
		}
	}
	f(agreed("daily", 500, "2026-02-27", "", "2026-02-28", ""), "2026-03-02", "2026-02-28 500", "2026-03-01 500", "2026-03-02 500")
	f(agreed("specific", 9900, "2026-03-05", "", "2026-03-01", ""), "2026-03-04")
	f(agreed("specific", 9900, "2026-03-05", "", "2026-03-01", ""), "2026-05-04", "2026-03-05 9900")
	f(agreed("specific", 9900, "2026-03-05", "", "2026-03-06", ""), "2026-05-04") // it was before it was owed
	f(agreed("weekly", 700, "2026-03-02", "", "2026-03-01", ""), "2026-03-16", "2026-03-08 700", "2026-03-15 700")
	f(agreed("weekly", 700, "2026-03-02", "2026-03-11", "2026-03-01", ""), "2026-03-16", "2026-03-08 700", "2026-03-11 300")
	f(agreed("weekly", 700, "2026-03-02", "", "2026-03-05", ""), "2026-03-08", "2026-03-08 400") // four of its days
	f(agreed("monthly", 3100, "2026-01-01", "", "2026-03-01", ""), "2026-04-29", "2026-03-31 3100")
	f(agreed("monthly", 3100, "2026-01-01", "", "2026-03-01", ""), "2026-04-30", "2026-03-31 3100", "2026-04-30 3100")
	f(agreed("monthly", 3100, "2026-03-22", "", "2026-03-01", ""), "2026-03-31", "2026-03-31 1000")           // begins within the month
	f(agreed("monthly", 3100, "2026-01-01", "2026-03-10", "2026-03-01", ""), "2026-03-09")                    // ends within it
	f(agreed("monthly", 3100, "2026-01-01", "2026-03-10", "2026-03-01", ""), "2026-03-10", "2026-03-10 1000") //
	f(agreed("monthly", 3100, "2026-01-01", "", "2026-03-01", "2026-03-11"), "2026-03-31", "2026-03-10 1000") // removed on the 11th
	f(agreed("monthly", 3100, "2026-01-01", "", "2026-03-01", "2026-02-11"), "2026-03-31")                    // removed before it was owed
	f(agreed("monthly", 1, "2026-01-01", "", "2026-03-16", ""), "2026-04-30", "2026-04-30 1")                 // a cent is the first day's
	f(agreed("monthly", 3100, "2026-01-01", "", "", ""), "2026-03-31")                                        // it is not owed
	f(agreed("monthly", 3100, "2026-01-01", "", "2026-03-01", ""), "")                                        // no day is closed
	line := Lines(agreed("daily", 5, "2026-03-01", "", "2026-03-01", ""), "2026-03-01")[0]
	want := facts.Line{InfluencerID: "i", CampaignID: "c", CostID: "k", AmountMinor: 5, Currency: "BRL", PayableOn: "2026-03-01"}
	if line != want {
		t.Errorf("%+v", line)
	}
}

// Whatever the amount, the month, the days and the frequency: whole months and weeks are owed to the cent, lines never change
// when later days are closed, they sum to what reports count of those days, and an end that comes later takes back what is too much.
func TestLinesOfAgreementsSumToTheAmount(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 5))
		frequency := commerce.Frequencies[r.IntN(len(commerce.Frequencies))]
		start := day("2023-12-01").AddDate(0, 0, r.IntN(900))
		text := func(days int) string { return start.AddDate(0, 0, days).Format(time.DateOnly) }
		a := agreed(frequency, 1+r.Int64N(1_000_000), text(0), "", text(r.IntN(80)-20), "")
		if r.IntN(3) == 0 {
			a.EndDate = text(r.IntN(120))
		}
		if r.IntN(3) == 0 {
			a.Until = text(r.IntN(120))
		}
		closed := r.IntN(150)
		lines, sums := Lines(a, text(closed)), map[string]int64{}
		var counted, sum int64
		first, last := day(a.Since), start
		a.Each(first, start.AddDate(0, 0, closed), func(at time.Time, minor int64) {
			counted, last = counted+minor, at
			month := at.Format("2006-01")
			sums[month] += minor
		})
		for _, l := range lines {
			sum += l.AmountMinor
		}
		open := a
		open.EndDate, open.Until = last.Format(time.DateOnly), ""
		if frequency != commerce.Specific && counted > 0 { // the same, ended on its last day: all of it is in lines
			if got := Lines(open, text(closed)); total(got) != counted {
				t.Fatalf("%d: %+v: %d of %d cents", seed, a, total(got), counted)
			}
		}
		if sum > counted {
			t.Fatalf("%d: %+v: %d cents of %d are owed", seed, a, sum, counted)
		}
		if earlier := Lines(a, text(max(0, closed-r.IntN(60)))); fmt.Sprint(lines[:len(earlier)]) != fmt.Sprint(earlier) {
			t.Fatalf("%d: %+v: %v was %v", seed, a, lines, earlier)
		}
		whole := agreed(frequency, a.ValueMinor, a.StartDate, "", a.StartDate, "")
		for _, l := range Lines(whole, text(closed)) {
			at := day(l.PayableOn)
			full := frequency != commerce.Monthly || !start.After(at.AddDate(0, 0, 1-at.Day()))
			if full && l.AmountMinor != a.ValueMinor {
				t.Fatalf("%d: a whole one of %d is %d on %s, from %s", seed, a.ValueMinor, l.AmountMinor, l.PayableOn, a.StartDate)
			}
		}
		// It ends earlier than was known: the ledger's net is what the days come to, and only less.
		stored := Post(nil, lines)
		if earlier := text(r.IntN(closed + 1)); a.Until == "" || earlier < a.Until {
			a.Until = earlier
		}
		posted := Post(stored, Lines(a, text(closed)))
		net := total(Lines(a, text(closed)))
		var got, difference int64
		for _, e := range append(stored, posted...) {
			got += e.AmountMinor
		}
		for _, e := range posted {
			difference += e.AmountMinor
		}
		if got != net || len(Post(append(stored, posted...), Lines(a, text(closed)))) != 0 {
			t.Fatalf("%d: %+v: the ledger is %d, %d are owed", seed, a, got, net)
		}
		if full := total(lines); frequency == commerce.Daily && difference > 0 || difference != net-full {
			t.Fatalf("%d: the difference is %d", seed, difference)
		}
	}
}

func total(lines []facts.Line) (sum int64) {
	for _, l := range lines {
		sum += l.AmountMinor
	}
	return sum
}
