// Package history checks what clients saw of the edge against what is in the log.
//
// A history is every event with its invocation, when its sender began to send it,
// and its acknowledgement, and every record of the log. Check counts what is
// wrong with it, and asks a linearizability checker (porcupine) whether one
// append-only log for each company explains all of it (model.go).
//
// What may enter: judging histories. No clock, no network, no files.
package history

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// Event is one event that a client sent, over all attempts to send it.
type Event struct {
	Company string
	ID      string
	Client  int // who sent it
	Number  int // the client's own, never the same twice
	// Before is the ID of the event before this one in its request; empty for the first.
	Before string
	// Invoked is when the first attempt began, Answered when an attempt was
	// acknowledged; both since the history's start, by one clock.
	Invoked, Answered time.Duration
	Acked             bool // false: nobody knows what became of it, and it may be stored or not
}

// Record is one record of the log.
type Record struct {
	Company string
	ID      string
	Client  int // as the event itself says
	Number  int // likewise
}

// History is one run. Records are in the log's order, at least for each company,
// and were read from a time on when nothing was under way any more.
type History struct {
	Events  []Event
	Records []Record
}

// Verdict is what Check found.
type Verdict struct {
	Sent, Acked int // events
	Stored      int // different events in the log
	Copies      int // records beyond the first of their event

	Lost       int // acknowledged and not in the log
	Duplicates int // stored under two ids, so that no reader can know that they are one
	Foreign    int // records that nobody sent, or that differ from what was sent
	OutOfOrder int // acknowledged before an event was sent that stands before them, or before one of the same request

	Linearizable bool

	// Examples of what is wrong, at most maxExamples of a kind.
	Examples []string
}

// Good tells that nothing is wrong.
func (v *Verdict) Good() bool {
	return v.Lost == 0 && v.Duplicates == 0 && v.Foreign == 0 && v.OutOfOrder == 0 && v.Linearizable
}

// maxExamples of each kind are told: the first are the ones to look at.
const maxExamples = 5

func (v *Verdict) wrong(count *int, format string, args ...any) {
	if *count++; *count <= maxExamples {
		v.Examples = append(v.Examples, fmt.Sprintf(format, args...))
	}
}

// Check judges a history. Of an event's copies only the first counts, as for the
// processor, which knows an event by its company and id.
func Check(h History) Verdict { return check(h, true) }

// Count is Check without the checker of linearizability, for histories of several edges, between which there is no order:
// one may spool while another does not. What is out of order is counted all the same.
func Count(h History) Verdict { return check(h, false) }

func check(h History, order bool) Verdict {
	v := Verdict{Sent: len(h.Events)}
	sent := map[string]map[string]*Event{} // by company and id
	for i := range h.Events {
		e := &h.Events[i]
		if sent[e.Company] == nil {
			sent[e.Company] = map[string]*Event{}
		}
		sent[e.Company][e.ID] = e
		if e.Acked {
			v.Acked++
		}
	}
	logs := firstCopies(&v, h.Records)
	v.Linearizable = order
	companies := maps.Clone(sent)
	for company := range logs {
		companies[company] = sent[company] // also of those that sent nothing
	}
	for _, company := range slices.Sorted(maps.Keys(companies)) {
		checkCompany(&v, company, logs[company], sent[company], order)
	}
	return v
}

// firstCopies are the companies' logs without repetitions.
func firstCopies(v *Verdict, records []Record) map[string][]Record {
	logs, seen := map[string][]Record{}, map[[2]string]bool{}
	for _, r := range records {
		key := [2]string{r.Company, r.ID}
		if seen[key] {
			v.Copies++
			continue
		}
		seen[key] = true
		v.Stored++
		logs[r.Company] = append(logs[r.Company], r)
	}
	return logs
}

// checkCompany judges one company's log.
func checkCompany(v *Verdict, company string, log []Record, sent map[string]*Event, order bool) {
	position := positions(log)
	countLog(v, company, log, sent, position)
	for _, id := range slices.Sorted(maps.Keys(sent)) {
		if _, stored := position[id]; sent[id].Acked && !stored {
			v.wrong(&v.Lost, "lost: %s of %s, acknowledged at %v", id, company, sent[id].Answered)
		}
	}
	if !order {
		return
	}
	if why := linearize(sent, position); why != "" {
		v.Linearizable = false
		v.Examples = append(v.Examples, company+": "+why)
	}
}

// countLog counts what is wrong with the records of one company's log.
func countLog(v *Verdict, company string, log []Record, sent map[string]*Event, position map[string]int) {
	var latest *Event // of those so far, the one that was sent last
	numbers := map[[2]int]string{}
	for at, r := range log {
		e := sent[r.ID]
		if e == nil || r.Client != e.Client || r.Number != e.Number {
			v.wrong(&v.Foreign, "foreign: a record of %s with id %s, client %d, number %d", company, r.ID, r.Client, r.Number)
		}
		if other, twice := numbers[[2]int{r.Client, r.Number}]; twice {
			v.wrong(&v.Duplicates, "duplicate: number %d of client %d of %s is %s and %s", r.Number, r.Client, company, other, r.ID)
		}
		numbers[[2]int{r.Client, r.Number}] = r.ID
		if e == nil {
			continue
		}
		if latest != nil && e.Acked && e.Answered < latest.Invoked {
			v.wrong(&v.OutOfOrder, "out of order: %s was acknowledged at %v and stands behind %s of %s, sent at %v", e.ID, e.Answered, latest.ID,
				company, latest.Invoked)
		}
		if latest == nil || e.Invoked > latest.Invoked {
			latest = e
		}
		if before, stored := position[e.Before]; stored && before > at {
			v.wrong(&v.OutOfOrder, "out of order: %s of %s stands before %s, which came before it in its request", e.ID, company, e.Before)
		}
	}
}

// positions are where the events stand in a company's log.
func positions(log []Record) map[string]int {
	position := make(map[string]int, len(log))
	for at, r := range log {
		position[r.ID] = at
	}
	return position
}
