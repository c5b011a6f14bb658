package processor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
)

// A backlog of large orders, such as an import, must not keep events waiting:
// each topic has its half of a batch, in records and in bytes.
func TestABacklogOfLargeOrdersLeavesRoomForEvents(t *testing.T) {
	t.Parallel()
	o := &owner{
		Processor: New(Config{BatchRecords: 100, BatchBytes: 1000}, Deps{}),
		commerce:  make(chan *record, 100), events: make(chan *record, 100), batchLimit: 100,
	}
	of := func(topic string, size int) *record {
		return &record{topic: topic, Fetched: wire.Fetched{Record: wire.Record{Value: []byte(strings.Repeat("x", size))}}}
	}
	for range 50 {
		o.commerce <- of(wire.TopicCommerce, 100)
		o.events <- of(wire.TopicEvents, 10)
	}
	records, err := o.collect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	events := 0
	for _, r := range records {
		if r.topic == wire.TopicEvents {
			events++
		}
	}
	if orders := len(records) - events; events != 50 || orders < 5 || orders > 10 {
		t.Errorf("a batch of %d orders and %d events, want all 50 events and about half of the bytes in orders", orders, events)
	}
}

// However many companies have queued orders: new records wait for one chunk of
// one company, not for a chunk of each.
func TestNewRecordsWaitForOneChunkOfTheQueue(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	var companies []string
	for _, id := range s.companies(5) {
		companies = append(companies, id)
		s.exec(`insert into recompute (company_id, order_id, cause) select $1, 'o' || n, 'rule 1 settings' from generate_series(1, 3) n`, id)
		s.exec(`insert into recompute_company values ($1)`, id)
	}
	var taken []string
	o := s.owner()
	o.Log = onePartition{}
	o.Store = watched{Store: o.Store, take: func(company string) { taken = append(taken, company) }}
	if err := o.recomputeQueued(s.ctx); err != nil {
		t.Fatal(err)
	}
	if len(taken) != 1 {
		t.Errorf("chunks of %d companies before the next batch, want one", len(taken))
	}
	for o.queued {
		if err := o.recomputeQueued(s.ctx); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(companies)
	if slices.Sort(taken); !slices.Equal(slices.Compact(taken), companies) {
		t.Errorf("queues of %v were worked off, want all of %v", taken, companies)
	}
	if n := s.int(`select count(*) from recompute`); n != 0 {
		t.Errorf("%d orders are still queued", n)
	}
}

// onePartition is a log with one partition.
type onePartition struct{ Log }

func (onePartition) PartitionOf(context.Context, []byte) (int, error) { return 0, nil }

// An order that is sent again with a change that moves no credit keeps its mark
// that a key joins nothing, so events of that key's visitors compute nothing.
func TestAnOrderSentAgainKeepsItsHubs(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	const n = 210
	order := func(i int, name string) record {
		at := noon.Add(time.Duration(i) * time.Minute)
		return s.record(s.order(fmt.Sprint("o", i), at, 1000, func(o *wire.Order) {
			o.EmailKey, o.Name = wire.Some("k1:till"), wire.Some(name)
			if name == "second" {
				o.UpdatedAt = wire.Some(at.Add(time.Hour))
			}
		}))
	}
	var records, again []record
	for i := range n {
		records, again = append(records, order(i, "first")), append(again, order(i, "second"))
	}
	s.apply(append(records, again...), func() int { return n })
	if marked := s.int(`select count(*) from order_key where hub = $1 and kind = $2`, facts.HubOfOrders.Code(),
		facts.KeyEmail.Code()); marked != n {
		t.Errorf("%d of %d orders know that their key joins nothing", marked, n)
	}
}

// Where a visitor has more events on a day than are looked at, a copy that
// replaces one of them is still found by its keys.
func TestAReplacedEventOfAVeryBusyDayKeepsItsKeys(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.influencer("Ana Prado", "Inverno")
	late := noon.Add(6 * time.Hour)
	s.apply([]record{s.record(s.event("v", noon, 1, landing("Ana+Prado", "Inverno"))), s.record(s.event("v", late, 2, nil))}, func() int {
		return 2
	})
	s.exec(`
		insert into event_fact (company_id, at, event_id, class, name, visitor, sources, record)
		select company_id, at + n * interval '1 second', overlay(event_id::text placing lpad(to_hex(n + 9), 12, '0') from 25)::uuid, class, name,
		visitor, sources, record
		from event_fact, generate_series(1, $1::int) n where at = $2`, maxEventsOfDay+10, noon)
	replacing := s.event("v", late, 2, checkout("k1:cart"))
	replacing.ReceivedAt = replacing.ReceivedAt.Add(-time.Millisecond)
	s.exec(`update consumer_offset set next = 0`)
	s.apply([]record{s.record(replacing), s.record(s.order("o1", late.Add(time.Minute), 1000, cart("k1:cart")))}, func() int { return 1 })
	if n := s.int(`select count(*) from observation where kind = $1`, facts.KeyCart.Code()); n != 1 {
		t.Errorf("%d observations of the cart, want one", n)
	}
}
