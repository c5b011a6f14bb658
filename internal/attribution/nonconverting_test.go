package attribution

import (
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/facts"
)

func TestNonConvertingPaths(t *testing.T) {
	const day, ana, google = 24 * 60, "/?utm_source=ig&utm_medium=social&utm_campaign=nobody", "/ < https://www.google.com/"
	f := func(name, want string, ignoreDirect bool, events ...facts.Event) {
		t.Helper()
		x := testIndex(func(r *facts.Rules) { r.IgnoreDirect, r.Window, r.Location = ignoreDirect, 3*24*time.Hour, time.UTC })
		var got string
		for n := range 12 { // days
			on := x.DayOf(start.AddDate(0, 0, n))
			j, ok, err := x.NonConvertingPath("v", events, on)
			if err != nil {
				t.Fatal(err)
			}
			if ok {
				got += on[len(on)-2:] + " " + strings.Join(j.Path, " > ") + "; "
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	on := func(n int) string { return start.AddDate(0, 0, n).Format("02") }
	f("nobody", "", true)
	f("one touch", on(0)+" Direct; ", true, at(0, "/"))
	f("two touches of a day", on(0)+" Organic Search > Organic Social; ", true, at(0, google), at(60, ana))
	f("two touches of two days: the journey ends on the second", on(1)+" Organic Search > Organic Social; ", true, at(0, google), at(day, ana))
	f("a touch at the window's end goes on", on(3)+" Organic Search > Organic Social; ", true, at(0, google), at(3*day, ana))
	f("a touch behind it begins another journey", on(0)+" Organic Search; "+on(3)+" Organic Social; ", true, at(0, google), at(3*day+1, ana))
	f("touches of the window alone", on(4)+" Organic Social > Direct; ", false, at(0, google), at(2*day, ana), at(4*day, "/"))
	f("direct touches are left out where they do not count", on(4)+" Organic Social; ", true, at(0, google), at(2*day, ana), at(4*day, "/"))
	f("unless there are no others", on(4)+" Direct > Direct; ", true, at(3*day, "/"), at(4*day, "/"))
	f("a click of a link is no visit", on(1)+" Organic Search; ", true,
		at(0, "click abc.0195b2c0-0000-7000-8000-000000000000"), at(day, google))
	frame, bot := at(day, ana), at(day, ana)
	frame.Frame, bot.Bot = true, "known"
	f("frames and bots make no touch", on(0)+" Organic Search; ", true, at(0, google), frame, bot)
}

// What is counted for the last time is changed by no fact that is timely, whatever the
// window is.
func TestTimelyFactsChangeNoFinalDay(t *testing.T) {
	for _, zone := range []*time.Location{time.UTC, time.FixedZone("east", 14*3600), time.FixedZone("west", -11*3600)} {
		for _, window := range []int{1, 7, 30, 365} {
			x := testIndex(func(r *facts.Rules) { r.Window, r.Location = time.Duration(window)*24*time.Hour, zone })
			for hour := range 48 {
				now := start.Add(time.Duration(hour) * time.Hour)
				rounds := x.CountRounds(now)
				days, marks := x.PathsReadingEvent(now.Add(-8*24*time.Hour-time.Second), now)
				if !marks || days.From <= rounds.Last[facts.FinalCount] {
					t.Fatalf("%s, window %d: facts of %v on change days from %s, and those to %s are final", zone, window, now.AddDate(0, 0, -8),
						days.From, rounds.Last[facts.FinalCount])
				}
				if _, marks := x.PathsReadingEvent(now.AddDate(0, 0, -7), now); marks {
					t.Fatal("a fact of seven days ago marks days")
				}
				for round := facts.FirstCount; round <= facts.FinalCount; round++ {
					if _, to, err := x.daySpan(rounds.Last[round]); err != nil || to.After(now) {
						t.Fatalf("round %d counts a day that ends at %v, %v", round, to, err)
					}
				}
			}
		}
	}
}
