package facts

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/wire"
)

// seen is an event of a visitor with an e-mail some minutes after noon.
func seen(visitor, email string, minute int) Event {
	e := Event{Event: wire.Event{VisitorID: visitor, Identity: wire.Identity{EmailKey: email}}, Visitor: visitor}
	e.At = noon.Add(time.Duration(minute) * time.Minute)
	e.IDTime = e.At.Add(time.Hour)
	return e
}

func observations(events ...Event) string {
	var rows []string
	for _, s := range Observations(events) {
		minutes := func(at time.Time) int { return int(at.Sub(noon).Minutes()) }
		rows = append(rows, fmt.Sprintf("%s=%s %s %s %d..%d %d..%d", s.Kind, s.Value, s.Visitor, s.Day.Format("02"),
			minutes(s.First), minutes(s.Last), minutes(s.FirstID), minutes(s.LastID)))
	}
	return strings.Join(rows, "; ")
}

// docs/notes/attribution.md, "How facts are stored": one row for each (key, visitor, day).
func TestObservationsAreOneAKeyVisitorAndDay(t *testing.T) {
	f := func(name, want string, events ...Event) {
		t.Helper()
		if got := observations(events...); got != want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, want)
		}
	}
	const midnight = 12 * 60
	bot := seen("v", "e", 0)
	bot.Bot = wire.BotKnown
	f("nothing", "")
	f("one event", "email=e v 10 0..0 60..60; user=v v 10 0..0 60..60", seen("v", "e", 0))
	f("one day", "user=v v 10 1..9 61..69", seen("v", "", 5), seen("v", "", 9), seen("v", "", 1))
	f("two days", "user=v v 10 719..719 779..779; user=v v 11 720..720 780..780", seen("v", "", midnight), seen("v", "", midnight-1))
	f("two visitors of one key", "email=e a 10 0..0 60..60; email=e b 10 1..1 61..61; user=a a 10 0..0 60..60; user=b b 10 1..1 61..61",
		seen("b", "e", 1), seen("a", "e", 0))
	const id = "0195b2c0-51ce-4a37-9d42-7e8f01b3c60a"
	inNetwork := func(minute, received int) Event {
		e := seen(id, "e", minute)
		e.NetKey, e.ReceivedAt = "n", noon.Add(time.Duration(received)*time.Minute)
		return e
	}
	net := "network=" + heldBy(Key{KeyEmail, "e"}, "n", false)[0].Value + " " + id
	f("a network by hour of receipt",
		"email=e "+id+" 10 0..2 60..62; "+net+" 10 10..20 60..61; "+net+" 10 70..70 62..62; visitor="+id+" "+id+" 10 0..2 60..62",
		inNetwork(0, 10), inNetwork(1, 20), inNetwork(2, 70))
	f("bots are not seen", "", bot)
	f("nobody is not seen", "", seen("", "e", 0))
}

func TestObservationsOfLateIDsKeepLeastAndGreatest(t *testing.T) {
	early, late := seen("v", "", 0), seen("v", "", 1)
	early.IDTime, late.IDTime = noon.Add(9*time.Minute), noon.Add(-9*time.Minute) // ids tell another order than corrected times
	if got, want := observations(early, late), "user=v v 10 0..1 -9..9"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestObservationsDoNotDependOnTheOrderOfEvents(t *testing.T) {
	var events []Event
	for i := range 60 {
		events = append(events, seen(fmt.Sprint("v", i%4), fmt.Sprint("e", i%3), i*53))
	}
	want := observations(events...)
	for seed := range uint64(30) {
		shuffled := slices.Clone(events)
		rand.New(rand.NewPCG(seed, 0)).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if got := observations(shuffled...); got != want {
			t.Fatalf("seed %d:\n got %s\nwant %s", seed, got, want)
		}
	}
}

func TestDaysAreUTCs(t *testing.T) {
	f := func(at, want string) {
		t.Helper()
		instant, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatal(err)
		}
		if got := DayOf(instant).Format(time.RFC3339); got != want {
			t.Errorf("%s is on %s, want %s", at, got, want)
		}
	}
	f("2026-03-10T00:00:00Z", "2026-03-10T00:00:00Z")
	f("2026-03-10T23:59:59.999Z", "2026-03-10T00:00:00Z")
	f("2026-03-10T22:00:00-03:00", "2026-03-11T00:00:00Z")
	f("1970-01-01T00:00:01Z", "1970-01-01T00:00:00Z")
}
