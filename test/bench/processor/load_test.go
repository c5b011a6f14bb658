package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
)

// A record that the processor rejects would be priced as one that it applies.
func TestTheLoadsRecordsAreWhatTheProcessorTakes(t *testing.T) {
	now := time.Date(2026, 3, 31, 0, 30, 0, 0, time.UTC)
	for _, l := range loads {
		ids := map[string]bool{}
		arrivals := 0
		for n := range eventsOfVisitor {
			value, err := json.Marshal(l.event("co_bench", 7, n, now))
			if err != nil {
				t.Fatal(err)
			}
			e, err := facts.ParseEvent(value)
			if err != nil {
				t.Fatalf("%s: event %d: %v", l.name, n, err)
			}
			if e.Late() || e.Visitor != visitorID(7) || ids[e.EventID] {
				t.Errorf("%s: event %d: late %t, visitor %s, id %s", l.name, n, e.Late(), e.Visitor, e.EventID)
			}
			ids[e.EventID] = true
			if e.Arrived() {
				arrivals++
			}
		}
		if l.orders && arrivals < touchesOfVisitor-1 {
			t.Errorf("%s: %d arrivals", l.name, arrivals)
		}
	}
	value, err := order("co_bench", 7, now)
	if err != nil {
		t.Fatal(err)
	}
	var c wire.Commerce
	if err := json.Unmarshal(value, &c); err != nil {
		t.Fatal(err)
	}
	if _, err := facts.ParseOrder(c); err != nil {
		t.Error(err)
	}
}

func TestGoalsSayWhatIsMissed(t *testing.T) {
	f := func(l load, m measured, want string) {
		t.Helper()
		var results table
		results.add(l, m)
		var out strings.Builder
		results.print(&out)
		var words []string
		for line := range strings.Lines(out.String()) {
			if fields := strings.Fields(line); len(fields) > 0 && (fields[len(fields)-1] == "met" || fields[len(fields)-1] == "missed") {
				words = append(words, fields[len(fields)-1])
			}
		}
		if got := strings.Join(words, " "); got != want {
			t.Errorf("%s: %s, want %s\n%s", l.name, got, want, out.String())
		}
	}
	us := time.Microsecond
	f(loads[0], measured{processor: cost{wall: 40 * us}, copy: cost{wall: 20 * us}, eventBytes: 600, memory: 256 << 20}, "met met met")
	f(loads[0], measured{processor: cost{wall: 41 * us}, copy: cost{wall: 20 * us}, eventBytes: 601, memory: 257 << 20},
		"missed missed missed")
	f(loads[1], measured{processor: cost{10 * us, 20 * us, 1250 * us}, copy: cost{0, 10 * us, us}, orderBytes: 4400}, "met met met met")
	f(loads[1], measured{processor: cost{11 * us, 20 * us, 1251 * us}, copy: cost{0, 10 * us, us}, orderBytes: 4401},
		"missed missed missed met")
	f(loads[2], measured{processor: cost{wall: 667 * us}, copy: cost{wall: us}}, "missed met met met")
}
