package delivery

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
)

// dayOutcome names one Count.
type dayOutcome struct {
	day     time.Time // midnight UTC
	outcome string
}

// Source is where events come from, as in SourceCount; Agent empty: they are in no SourceCount.
type Source struct{ Origin, Agent string }

// sourceOutcome names one SourceCount.
type sourceOutcome struct {
	Source
	dayOutcome
}

// tally counts events by day and outcome, and by their source.
type tally struct {
	counts  map[dayOutcome]int64
	sources map[sourceOutcome]int64
}

func newTally() tally {
	return tally{counts: map[dayOutcome]int64{}, sources: map[sourceOutcome]int64{}}
}

// add adds n events to a count of the day on which they were received.
func (t *tally) add(at time.Time, outcome string, n int64, from Source) {
	t.counts[dayOutcome{facts.DayOf(at), outcome}] += n
	if from.Agent != "" {
		t.sources[sourceOutcome{from, dayOutcome{facts.DayOf(at), plain(outcome)}}] += n
	}
}

// plain is an outcome without its reason.
func plain(outcome string) string {
	outcome, _, _ = strings.Cut(outcome, ":")
	return outcome
}

// Ledger is what a transaction adds to the delivery ledger of a company.
type Ledger struct {
	tally
	once    []Once
	notices []noticed
	arrived *Arrivals
	found   Found
	refused map[string]*RefusedOrigin // by origin
}

// noticed is a notice, with its source.
type noticed struct {
	*facts.Notice
	from Source
}

// NewLedger makes a ledger to which nothing is added yet.
func NewLedger() *Ledger { return &Ledger{tally: newTally(), arrived: NewArrivals()} }

// Once is something that is counted unless it was counted before.
type Once struct {
	id      []byte
	at      time.Time
	outcome string // of Count
	events  int64
	from    Source
	stream  []byte // of what the sender gave up: by its numbers it is not missing
}

// RejectedRecord is a record of a log that the processor rejects, counted on a day.
func RejectedRecord(clusterID, topic string, partition int, offset int64, code string, now time.Time) Once {
	return Once{id: digestOf("record", clusterID, topic, partition, offset), at: now, outcome: Rejected + code, events: 1}
}

// RejectedEvent is an event that the processor rejects though it was parsed. kind tells apart what
// is rejected for one reason and for another.
func RejectedEvent(kind string, e *facts.Event, code string) Once {
	return Once{id: digestOf(kind, e.Digest()), at: e.ReceivedAt, outcome: Rejected + code, events: 1}
}

// AddOnce adds what is counted unless it was counted before.
func (l *Ledger) AddOnce(list ...Once) { l.once = append(l.once, list...) }

// AddArrivals adds events that were stored now. It is called once.
func (l *Ledger) AddArrivals(a *Arrivals) {
	for count, n := range a.counts {
		l.counts[count] += n
	}
	for from, n := range a.sources {
		l.sources[from] += n
	}
	l.arrived = a
}

// Repeated counts a copy of a stored event, once. Where it is the same record, it was not
// sent again: it is another copy in the log, or was read again.
func (l *Ledger) Repeated(digest []byte, stored facts.Copy, at time.Time, from Source) {
	if !slices.Equal(digest, stored.Digest) {
		l.AddOnce(Once{id: digestOf("copy", digest), at: at, outcome: Duplicate, events: 1, from: from})
	}
}

// RepeatedInBatch counts the copies of a batch that another one of the batch is before.
func (l *Ledger) RepeatedInBatch(chosen []facts.Event, others []facts.Copy, sourceOf func(e *facts.Event) Source) {
	if len(others) == 0 {
		return
	}
	byID := make(map[string]*facts.Event, len(chosen))
	for i := range chosen {
		byID[chosen[i].EventID] = &chosen[i]
	}
	for _, c := range others {
		e := byID[c.EventID]
		l.Repeated(c.Digest, e.Copy(), c.ReceivedAt, sourceOf(e))
	}
}

// Replaced counts an event that takes the place of a stored copy.
func (l *Ledger) Replaced(old facts.Copy, e *facts.Event, from Source) {
	l.add(old.ReceivedAt, Stored, -1, Source{})
	l.add(e.ReceivedAt, Stored, 1, Source{})
	if old.Late {
		l.add(old.ReceivedAt, Late, -1, Source{})
	}
	if e.Late() {
		l.add(e.ReceivedAt, Late, 1, Source{})
	}
	l.Repeated(old.Digest, e.Copy(), old.ReceivedAt, from)
}

// AddNotice counts what an edge tells.
func (l *Ledger) AddNotice(n *facts.Notice, from Source) {
	l.notices = append(l.notices, noticed{n, from})
	if n.Duplicate > 0 {
		l.AddOnce(Once{id: digestOf("notice", n.ID), at: n.ReceivedAt, outcome: Duplicate, events: n.Duplicate, from: from})
	}
	for _, r := range n.Rejected {
		if r.Unnamed > 0 {
			l.AddOnce(Once{id: digestOf("unnamed", n.ID, r.Code), at: n.ReceivedAt, outcome: Rejected + r.Code, events: r.Unnamed, from: from})
		}
		for id := range slices.Chunk(r.IDs, wire.NoticeIDSize) {
			l.AddOnce(Once{id: digestOf("rejected", id), at: n.ReceivedAt, outcome: Rejected + r.Code, events: 1, from: from})
		}
	}
	if n.Dropped == nil {
		return
	}
	var stream []byte
	if n.Dropped.Stream != "" {
		stream = StreamID(n.Dropped.Stream)
	}
	for _, reason := range slices.Sorted(maps.Keys(n.Dropped.Counts)) {
		l.AddOnce(Once{
			id: digestOf("dropped", n.Dropped.ID, reason), at: n.ReceivedAt, outcome: Dropped + reason, events: n.Dropped.Counts[reason],
			from: from, stream: stream,
		})
	}
}

// digestOf is by what something is remembered: 16 bytes.
func digestOf(parts ...any) []byte {
	h := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(h, "%x,", part)
	}
	return h.Sum(nil)[:16]
}
