package main

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/upkeep/delivery"
	"github.com/tributary-io/tributary/internal/wire"
)

// settled tells whether nothing is on its way: the SDKs' queues and the spools
// are empty and the processor has applied the logs.
func (w *world) settled() (what string, ok bool) {
	for _, s := range w.senders {
		s.mu.Lock()
		left := len(s.pending)
		s.mu.Unlock()
		if left > 0 {
			return "an SDK's queue", false
		}
	}
	for _, m := range w.machines {
		l := m.current()
		if l == nil || l.spool == nil {
			return "an edge's start", false
		}
		if len(l.spool.Partitions()) > 0 {
			return "a spool", false
		}
	}
	for p := range partitions {
		_, end, _ := w.cluster.read(wire.TopicEvents, p, 0)
		w.store.mu.Lock()
		next := w.store.tables.offsets[offsetName(wire.TopicEvents, p)]
		w.store.mu.Unlock()
		if next != end {
			return "the processor", false
		}
	}
	return "", true
}

// check holds what is promised once all is settled.
func (w *world) check() {
	w.store.mu.Lock()
	stored := w.store.tables
	w.store.mu.Unlock()
	w.mu.Lock()
	var all []*eventState
	for _, e := range w.events {
		all = append(all, e)
	}
	w.mu.Unlock()
	slices.SortFunc(all, func(a, b *eventState) int { return cmp.Compare(a.id, b.id) })
	for _, e := range all {
		if _, there := stored.events[eventName(e.company, e.id)]; !e.acked.IsZero() && !there {
			w.violate("%s of %s was acknowledged and is lost", e.id, e.company)
		}
	}
	for name := range stored.events {
		if w.events[name] == nil {
			w.violate("%s is stored and was never sent", name)
		}
	}
	if got := stored.counts[delivery.Stored]; got != int64(len(stored.events)) {
		w.violate("%d events are counted as stored, %d are", got, len(stored.events))
	}
	for outcome, n := range stored.counts {
		if strings.HasPrefix(outcome, delivery.Rejected) && n > 0 {
			w.violate("%d records are %s", n, outcome)
		}
	}
	for _, m := range w.machines {
		for p := range partitions {
			w.checkOrder(all, m.number, p)
		}
	}
}

// checkOrder holds that the first copy of an event comes before that of each
// event that was sent through the same edge after the first was acknowledged.
func (w *world) checkOrder(all []*eventState, machine, partition int) {
	var list []*eventState
	for _, e := range all {
		if e.position >= 0 && !e.refused && len(e.machines) == 1 && e.machines[machine] &&
			kafka.PartitionFor([]byte(e.company), partitions) == partition {
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(a, b *eventState) int { return cmp.Compare(a.position, b.position) })
	var latest *eventState // sent last of those before
	for _, e := range list {
		if latest != nil && !e.acked.IsZero() && e.acked.Before(latest.sent) && e.company == latest.company {
			w.violate("order: %s (at %d) was sent %v after %s (at %d) was acknowledged, and came before it",
				latest.id, latest.position, latest.sent.Sub(e.acked), e.id, e.position)
			return
		}
		if latest == nil || e.sent.After(latest.sent) {
			latest = e
		}
	}
}

// checkBounds holds what each part may take.
func (w *world) checkBounds() {
	for _, m := range w.machines {
		m.disk.mu.Lock()
		used := m.disk.used
		m.disk.mu.Unlock()
		if used > spoolBytes+spoolBytes/8+spoolSlack {
			w.violate("the spool of machine %d has %d bytes on its disk, bound %d", m.number, used, spoolBytes)
		}
	}
}

// spoolSlack is for what says that lanes are done (seglog.Options.MaxBytes), for
// a commit whose removal failed.
const spoolSlack = 64 << 10

// calmAfter is how long after the last fault all must be settled: the SDK's
// longest pause, the lane's after a refusal and the processor's, with room.
const calmAfter = 6 * time.Minute
