package processor

// This file records spans of what was applied, where tracing is on.

import (
	"encoding/json"
	"time"

	"github.com/tributary-io/tributary/internal/tracing"
	"github.com/tributary-io/tributary/internal/wire"
)

// Bounds of what tracing takes. What is beyond them is applied as ever, and has no spans.
const (
	maxTracedRecords = 100  // of one batch
	maxTracedQueued  = 1000 // orders of a partition that are queued
)

// observed is what spans say of a transaction that applies records, or orders, of recorded traces.
type observed struct {
	companies map[string]*steps
	entries   map[orderRef]int  // of the ledger, that were appended
	queued    map[orderRef]bool // orders that were looked at, and are computed later
}

// steps is when one company's part of a transaction began, had stored its facts, and had computed its orders.
type steps struct{ began, stored, decided time.Time }

func newObserved() *observed {
	return &observed{companies: map[string]*steps{}, entries: map[orderRef]int{}, queued: map[orderRef]bool{}}
}

// again is for another attempt of the same transaction; nil stays nil.
func (w *observed) again() *observed {
	if w == nil {
		return nil
	}
	return newObserved()
}

// of returns a company's steps; nil where nothing is observed.
func (w *observed) of(company string, now func() time.Time) *steps {
	if w == nil {
		return nil
	}
	at := now()
	s := &steps{began: at, stored: at, decided: at}
	w.companies[company] = s
	return s
}

// watch returns something to watch a transaction with, where a record of it is of a recorded trace.
func (o *owner) observe(records []record) *observed {
	if o.Tracer == nil {
		return nil
	}
	for i := range records {
		if records[i].Trace.IsRecorded() {
			return newObserved()
		}
	}
	return nil
}

// orderOf names the order whose version a record is.
func orderOf(r record) (orderRef, bool) {
	if r.topic == wire.TopicEvents {
		return orderRef{}, false
	}
	var c struct {
		Kind wire.Kind `json:"kind"`
		ID   string    `json:"id"`
	}
	if json.Unmarshal(r.Value, &c) != nil || c.Kind != wire.KindOrder {
		return orderRef{}, false
	}
	return orderRef{string(r.Key), c.ID}, true
}

// traceRecords records the spans of records that were applied and committed, each below the span that produced its record.
func (o *owner) traceRecords(records []record, done applied, ended time.Time) {
	if len(o.traces) > 0 {
		for _, order := range done.computed { // whatever concerned them: they wait no longer
			delete(o.traces, order)
		}
	}
	if done.observed == nil {
		return
	}
	left := maxTracedRecords
	for _, r := range records {
		s := done.observed.companies[string(r.Key)]
		if !r.Trace.IsRecorded() || s == nil {
			continue
		}
		if left--; left < 0 {
			return
		}
		span := o.Tracer.Follow(r.Trace, "process "+r.topic, tracing.Consume, s.began)
		span.Set(tracing.Kafka(), tracing.Topic(r.topic), tracing.Partition(o.partition), tracing.Offset(r.Offset),
			tracing.Records(len(records)), tracing.Company(string(r.Key)))
		order, isOrder := orderOf(r)
		entries, computed := 0, true
		if isOrder {
			entries, computed = done.observed.entries[order], done.computes(order)
		}
		o.traceSteps(span, s, ended, isOrder && computed, entries)
		if isOrder && done.observed.queued[order] {
			span.Set(tracing.Queued(true))
			o.keepTrace(order, span.Trace())
		}
		span.End(ended)
	}
}

// traceQueued records the spans of queued orders that were computed and committed, each below the span of the record it came with.
func (o *owner) traceQueued(done applied, ended time.Time) {
	if done.observed == nil {
		return
	}
	for _, order := range done.computed {
		parent, waits := o.traces[order]
		s := done.observed.companies[order.companyID]
		delete(o.traces, order)
		if !waits || s == nil {
			continue
		}
		span := o.Tracer.Follow(parent, "process queued order", tracing.Internal, s.began)
		span.Set(tracing.Partition(o.partition), tracing.Records(len(done.computed)), tracing.Company(order.companyID))
		o.traceSteps(span, s, ended, true, done.observed.entries[order])
		span.End(ended)
	}
}

// traceSteps records the parts of a transaction. Of an order that was computed the last one says how many entries it got.
func (o *owner) traceSteps(span *tracing.Span, s *steps, ended time.Time, computed bool, entries int) {
	span.Child("store facts", tracing.Internal, s.began).End(s.stored)
	span.Child("decide", tracing.Internal, s.stored).End(s.decided)
	commit := span.Child("commit", tracing.Internal, s.decided)
	if computed {
		commit.Set(tracing.Entries(entries))
	}
	commit.End(ended)
}

// keepTrace remembers the trace of an order that was queued, until it is computed by this owner.
func (o *owner) keepTrace(order orderRef, t wire.Trace) {
	if o.traces == nil || len(o.traces) >= maxTracedQueued {
		o.traces = map[orderRef]wire.Trace{}
	}
	o.traces[order] = t
}

// observeQueued is watch of queued orders.
func (o *owner) observeQueued() *observed {
	if len(o.traces) == 0 {
		return nil
	}
	return newObserved()
}

// computes reports whether an order's outcome was computed.
func (d applied) computes(order orderRef) bool {
	for _, c := range d.computed {
		if c == order {
			return true
		}
	}
	return false
}
