package history

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// generate makes a history of a log that works: each request takes effect at one
// moment between its invocation and its answer. Every tenth request is never
// answered, and half of those take effect. Some records are there twice.
func generate(seed uint64) History {
	const companies, clients, requests, batch = 3, 4, 60, 3
	random := rand.New(rand.NewPCG(seed, 1))
	type effect struct {
		at     time.Duration
		events []Event
	}
	var h History
	var effects []effect
	for company := range companies {
		for client := range clients {
			now, number := time.Duration(0), 0
			for range requests {
				begun := now + time.Duration(random.IntN(20)+1)
				at := begun + time.Duration(random.IntN(50)+1)
				now = at + time.Duration(random.IntN(50)+1)
				lost := random.IntN(10) == 0
				var events []Event
				for n := range random.IntN(batch) + 1 {
					number++
					e := Event{
						Company: fmt.Sprint("c", company), ID: fmt.Sprintf("%d-%d-%d", company, client, number),
						Client: client, Number: number, Invoked: begun, Acked: !lost,
					}
					if n > 0 {
						e.Before = events[n-1].ID
					}
					if e.Acked {
						e.Answered = now
					}
					events = append(events, e)
				}
				h.Events = append(h.Events, events...)
				if !lost || random.IntN(2) == 0 {
					effects = append(effects, effect{at, events})
				}
			}
		}
	}
	slices.SortStableFunc(effects, func(a, b effect) int { return int(a.at - b.at) })
	for _, f := range effects {
		for range 1 + random.IntN(8)/7 { // a copy of some
			for _, e := range f.events {
				h.Records = append(h.Records, Record{e.Company, e.ID, e.Client, e.Number})
			}
		}
	}
	return h
}

func TestALogThatWorksIsFoundSo(t *testing.T) {
	for seed := range uint64(20) {
		h := generate(seed)
		v := Check(h)
		if !v.Good() || len(v.Examples) > 0 {
			t.Fatalf("seed %d: %+v", seed, v)
		}
		if v.Sent != len(h.Events) || v.Acked == 0 || v.Acked == v.Sent || v.Stored < v.Acked || v.Stored == v.Sent || v.Copies == 0 ||
			v.Stored+v.Copies != len(h.Records) {
			t.Errorf("seed %d: %+v of %d events and %d records", seed, v, len(h.Events), len(h.Records))
		}
	}
}

// drop removes the records of an event.
func drop(h *History, id string) {
	h.Records = slices.DeleteFunc(h.Records, func(r Record) bool { return r.ID == id })
}

// once removes all copies but the first.
func once(h *History) {
	seen := map[string]bool{}
	h.Records = slices.DeleteFunc(h.Records, func(r Record) bool { was := seen[r.ID]; seen[r.ID] = true; return was })
}

// acked is an acknowledged event of the middle that ok takes.
func acked(h *History, ok func(Event) bool) *Event {
	for i := len(h.Events) / 2; i < len(h.Events); i++ {
		if e := &h.Events[i]; e.Acked && ok(*e) {
			return e
		}
	}
	panic("no such event")
}

func indexOf(h *History, id string) int {
	return slices.IndexFunc(h.Records, func(r Record) bool { return r.ID == id })
}

func TestPlantedViolationsAreFound(t *testing.T) {
	any := func(Event) bool { return true }
	for _, planted := range []struct {
		name  string
		plant func(h *History)
		count func(v Verdict) int
	}{
		{"an acknowledged event is not in the log", func(h *History) { drop(h, acked(h, any).ID) }, func(v Verdict) int { return v.Lost }},
		{"the last acknowledged event is not in the log", func(h *History) {
			last := slices.MaxFunc(h.Events, func(a, b Event) int { return int(a.Answered - b.Answered) })
			drop(h, last.ID)
		}, func(v Verdict) int { return v.Lost }},
		{"an acknowledgement that never was", func(h *History) {
			// Its sender takes an event as acknowledged that came to nothing.
			for i := range h.Events {
				if e := &h.Events[i]; !e.Acked && indexOf(h, e.ID) < 0 {
					e.Acked, e.Answered = true, e.Invoked+1
					return
				}
			}
			panic("no such event")
		}, func(v Verdict) int { return v.Lost }},
		{"two events that were not concurrent are swapped", func(h *History) {
			once(h)
			first := acked(h, func(e Event) bool { return e.Before == "" })
			later := acked(h, func(e Event) bool { return e.Company == first.Company && e.Before == "" && e.Invoked > first.Answered })
			a, b := indexOf(h, first.ID), indexOf(h, later.ID)
			h.Records[a], h.Records[b] = h.Records[b], h.Records[a]
		}, func(v Verdict) int { return v.OutOfOrder }},
		{"an event is acknowledged before it is appended", func(h *History) {
			// Another, sent after the acknowledgement, stands before it.
			first := acked(h, func(e Event) bool { return e.Before == "" })
			r := h.Records[indexOf(h, first.ID)]
			drop(h, first.ID)
			h.Records = append(h.Records, r)
		}, func(v Verdict) int { return v.OutOfOrder }},
		{"two events of a request are swapped", func(h *History) {
			once(h)
			second := acked(h, func(e Event) bool { return e.Before != "" })
			a, b := indexOf(h, second.Before), indexOf(h, second.ID)
			h.Records[a], h.Records[b] = h.Records[b], h.Records[a]
		}, func(v Verdict) int { return v.OutOfOrder }},
		{"a record that nobody sent", func(h *History) {
			h.Records = slices.Insert(h.Records, len(h.Records)/2, Record{Company: "c1", ID: "nobody's", Client: 9, Number: 9})
		}, func(v Verdict) int { return v.Foreign }},
		{"a record of another company", func(h *History) {
			h.Records[len(h.Records)/2].Company = "another"
		}, func(v Verdict) int { return v.Foreign }},
		{"a record that is not what was sent", func(h *History) {
			h.Records[indexOf(h, acked(h, any).ID)].Number = 1e6
		}, func(v Verdict) int { return v.Foreign }},
		{"an event is stored under two ids", func(h *History) {
			r := h.Records[len(h.Records)/2]
			r.ID = "another"
			h.Records = append(h.Records, r)
		}, func(v Verdict) int { return v.Duplicates }},
	} {
		t.Run(strings.ReplaceAll(planted.name, " ", "_"), func(t *testing.T) {
			h := generate(7)
			planted.plant(&h)
			v := Check(h)
			if planted.count(v) == 0 {
				t.Errorf("the count does not show it: %+v", v)
			}
			// The content of a record is not the model's.
			if v.Linearizable && planted.name != "a record that is not what was sent" {
				t.Errorf("the checker found an order: %+v", v)
			}
			if v.Good() || len(v.Examples) == 0 {
				t.Errorf("taken as good: %+v", v)
			}
		})
	}
}

func TestConcurrentEventsMayStandInAnyOrder(t *testing.T) {
	h := History{
		Events: []Event{
			{Company: "c", ID: "a", Client: 1, Number: 1, Invoked: 1, Answered: 9, Acked: true},
			{Company: "c", ID: "b", Client: 2, Number: 1, Invoked: 2, Answered: 3, Acked: true},
			{Company: "c", ID: "late", Client: 3, Number: 1, Invoked: 1}, // not acknowledged, and stored long after
			{Company: "c", ID: "c", Client: 2, Number: 2, Invoked: 10, Answered: 11, Acked: true},
		},
		Records: []Record{{"c", "b", 2, 1}, {"c", "a", 1, 1}, {"c", "c", 2, 2}, {"c", "b", 2, 1}, {"c", "late", 3, 1}},
	}
	if v := Check(h); !v.Good() || v.Copies != 1 || v.Stored != 4 || v.Acked != 3 {
		t.Errorf("%+v", v)
	}
}

func TestExamplesAreBounded(t *testing.T) {
	h := generate(3)
	h.Records = nil
	if v := Check(h); v.Lost != v.Acked || len(v.Examples) > maxExamples+3 {
		t.Errorf("%d lost of %d, %d examples", v.Lost, v.Acked, len(v.Examples))
	}
}
