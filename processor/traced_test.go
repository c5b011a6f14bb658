package processor

import (
	"encoding/json"
	"slices"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/await"
	"github.com/tributary-io/tributary/test/devtest"
)

// runTraced runs a processor that records traces.
func (s *stack) runTraced(ratio float64) *devtest.Spans {
	s.t.Helper()
	tracer, spans := devtest.Traces(s.t, ratio)
	p := s.processor(s.group(), s.producer)
	p.Tracer = tracer
	s.runs(p)
	return spans
}

// send writes a record as admin does, of a trace.
func (s *stack) send(r wire.Commerce, t wire.Trace) {
	s.t.Helper()
	value, err := json.Marshal(r)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.producer.Produce(s.ctx, wire.TopicCommerce, kafka.Record{Key: []byte(s.company), Value: value, Trace: t}); err != nil {
		s.t.Fatal(err)
	}
}

var someTrace = wire.Trace{TraceID: [16]byte{0xab, 15: 0xcd}, SpanID: [8]byte{0xef, 7: 1}}

// spansOf returns a trace's spans, by their names.
func spansOf(t *testing.T, spans *devtest.Spans, trace wire.Trace) map[string]tracetest.SpanStub {
	t.Helper()
	found := map[string]tracetest.SpanStub{}
	for _, span := range spans.All() {
		if span.SpanContext.TraceID() == trace.TraceID {
			found[span.Name] = span
		}
	}
	return found
}

// entriesOf is how many entries of the ledger a span tells of; -1: it tells of none.
func entriesOf(span tracetest.SpanStub) int64 {
	set := attribute.NewSet(span.Attributes...)
	if value, found := set.Value("tributary.ledger_entries"); found {
		return value.AsInt64()
	}
	return -1
}

// The spans of a record are below the one that produced it, follow each other, and tell how many entries its order got. Its neighbour,
// whose trace is not recorded, has none.
func TestARecordsTraceGoesOnToItsLedgerEntry(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	ana, inverno := s.influencer("Ana Prado", "Inverno")
	s.coupon(ana, inverno, "ANA10")
	s.cost(ana, "", 0, "10")
	spans := s.runTraced(1e-12) // the processor's own share says nothing of traces that others began
	coupon := func(o *wire.Order) { o.DiscountCode = wire.Some("ana10") }
	s.send(s.order("order-1", noon, 10000, coupon), someTrace)
	s.send(s.order("order-2", noon, 10000, coupon), wire.Trace{})
	s.applied()
	wantTexts(t, "payouts", s.payouts(), "order-1 Ana Prado coupon 1000", "order-2 Ana Prado coupon 1000")
	await.Until(t, await.Long, func() bool { return len(spansOf(t, spans, someTrace)) == 4 },
		func() string { return "want four spans of the trace" })
	found := spansOf(t, spans, someTrace)
	process := found["process commerce.v1"]
	if process.Parent.SpanID() != someTrace.SpanID || !process.Parent.IsRemote() {
		t.Errorf("the record's span is below %s", process.Parent.SpanID())
	}
	at := process.StartTime
	for _, name := range []string{"store facts", "decide", "commit"} {
		part := found[name]
		if part.Parent.SpanID() != process.SpanContext.SpanID() || part.StartTime.Before(at) || part.EndTime.Before(part.StartTime) ||
			part.EndTime.After(process.EndTime) {
			t.Errorf("%q, %v to %v, is not where it belongs", name, part.StartTime, part.EndTime)
		}
		at = part.EndTime
	}
	if n := entriesOf(found["commit"]); n != 1 {
		t.Errorf("the commit tells of %d entries, want 1", n)
	}
	if n := len(spans.All()); n != 4 {
		t.Errorf("%d spans, want those of one record", n)
	}
	spans.MentionNone("order-1", "order-2", "ANA10", "Ana Prado")
}

// An order that waits in the queue is computed later: its trace goes on there. A record that changes nothing keeps no trace, and neither
// does an order that another batch computed.
func TestAQueuedOrdersTraceGoesOn(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ana, inverno := s.influencer("Ana Prado", "Inverno")
	s.coupon(ana, inverno, "ANA10")
	s.cost(ana, "", 0, "10")
	tracer, spans := devtest.Traces(t, 1)
	o := s.owner()
	o.Log, o.Tracer = onePartition{}, tracer
	coupon := func(o *wire.Order) { o.DiscountCode = wire.Some("ana10") }
	waiting, direct := s.order("o1", noon, 10000, coupon), s.order("o2", noon, 10000, coupon)
	all := numbered([]record{s.record(waiting), s.record(waiting), s.record(direct), s.record(direct)})
	for i := range all {
		all[i].Trace = someTrace
	}
	apply := func(behind int64, r record, kept int, what string) {
		t.Helper()
		o.waits(behind)
		if err := o.applyRecords(s.ctx, []record{r}); err != nil {
			t.Fatal(err)
		}
		if len(o.traces) != kept {
			t.Errorf("%s: %d traces are kept, want %d", what, len(o.traces), kept)
		}
	}
	apply(1_000_000, all[0], 1, "an order that is queued")
	process := spans.Named("process commerce.v1")
	if n := entriesOf(spans.Named("commit")); n != -1 {
		t.Errorf("the commit of an order that is computed later tells of %d entries", n)
	}
	o.waits(0)
	if err := o.recomputeQueued(s.ctx); err != nil {
		t.Fatal(err)
	}
	queued := spans.Named("process queued order")
	if queued.Parent.SpanID() != process.SpanContext.SpanID() || queued.SpanContext.TraceID() != someTrace.TraceID || len(o.traces) != 0 {
		t.Errorf("the queued order's span is below %s of %s", queued.Parent.SpanID(), queued.Parent.TraceID())
	}
	if n := entriesOf(spans.All()[len(spans.All())-2]); n != 1 {
		t.Errorf("its commit tells of %d entries, want 1", n)
	}
	apply(0, all[1], 0, "the same version again")
	apply(0, all[2], 0, "an order that is computed with its record")
	apply(1_000_000, all[3], 0, "its same version again, while others wait")
	o.keepTrace(orderRef{s.company, "o2"}, someTrace)
	o.traceRecords(nil, applied{computed: []orderRef{{s.company, "o2"}}}, o.Now())
	if len(o.traces) != 0 {
		t.Error("the trace of an order that a batch computed is kept")
	}
}

// What tracing holds is bounded, whatever comes.
func TestTracingIsBounded(t *testing.T) {
	t.Parallel()
	tracer, spans := devtest.Traces(t, 1)
	o := &owner{Processor: New(Config{}, Deps{Tracer: tracer})}
	records := make([]record, 5*maxTracedRecords)
	for i := range records {
		records[i] = record{Fetched: wire.Fetched{Record: wire.Record{Key: []byte("c"), Trace: someTrace}}, topic: wire.TopicEvents}
	}
	observed := o.observe(records)
	observed.of("c", o.Now)
	o.traceRecords(records, applied{observed: observed}, o.Now())
	if n := len(spans.All()); n != 4*maxTracedRecords {
		t.Errorf("%d spans of one batch, want %d", n, 4*maxTracedRecords)
	}
	for i := range 3 * maxTracedQueued {
		o.keepTrace(orderRef{"c", string(rune(i))}, someTrace)
	}
	if len(o.traces) > maxTracedQueued {
		t.Errorf("%d traces of queued orders are held", len(o.traces))
	}
}

// Without a tracer nothing is looked at, and records of traces are applied as ever.
func TestWithoutATracerNothingIsObserved(t *testing.T) {
	t.Parallel()
	o := &owner{Processor: New(Config{}, Deps{})}
	records := []record{{Fetched: wire.Fetched{Record: wire.Record{Key: []byte("c"), Trace: someTrace}}, topic: wire.TopicEvents}}
	if o.observe(records) != nil || o.observeQueued() != nil {
		t.Error("something is observed")
	}
	o.traceRecords(records, applied{}, o.Now())
}

// What is stored of a record is the same with its trace and without: facts, outcome and ledger, to the byte.
func TestStoredFactsAreTheSameWithATrace(t *testing.T) {
	t.Parallel()
	var stored [2][]string
	for i, trace := range []wire.Trace{{}, someTrace} {
		s := newStack(t)
		ana, inverno := s.influencer("Ana Prado", "Inverno")
		s.coupon(ana, inverno, "ANA10")
		s.cost(ana, "", 0, "10")
		s.runTraced(float64(i))
		s.send(s.order("o1", noon, 10000, func(o *wire.Order) { o.DiscountCode = wire.Some("ana10") }), trace)
		s.applied()
		stored[i] = s.texts(`select concat_ws(' ', 'version', order_id, version_at, content_hash, body) from order_version
			union all select 'order ' || encode(body, 'hex') from orders
			union all select concat_ws(' ', 'entry', entry, kind, amount_minor, currency, payable_on) from ledger_entry order by 1`)
	}
	if len(stored[0]) < 2 || !slices.Equal(stored[0], stored[1]) {
		t.Errorf("without a trace\n%q\nwith one\n%q", stored[0], stored[1])
	}
}
