package processor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
)

// What was computed of a batch while the one before was applied is computed again where the
// rules have changed since.
func TestWhatIsPreparedFollowsTheRulesOfItsBatch(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	var records []record
	for i := range 300 {
		change := landing("Ana+Prado", "Inverno")
		if i/100 != 1 {
			change = nil
		}
		records = append(records, s.record(s.event(fmt.Sprint("v", i%20), noon.Add(time.Duration(i)*time.Minute), i, change)))
	}
	prepared, registered := 0, false
	s.offer(s.owner(), numbered(records), func() int { return 100 }, func() {
		if prepared++; !registered {
			s.influencer("Ana Prado", "Inverno")
			registered = true
		}
	})
	if prepared != 2 {
		t.Errorf("%d batches were prepared, want 2", prepared)
	}
	got := s.contents()
	if n := s.int(`select count(*) from shopper_day where of like 'i:%'`); n != 20 {
		t.Errorf("%d visitors of the influencer, want 20: the rules were those of before", n)
	}
	s.clear()
	s.apply(slices.Clone(records), func() int { return 7 })
	wantTexts(t, "as if nothing was prepared", got, s.contents()...)
}

// An event of an erased person that comes again is left out of what was prepared too.
func TestWhatIsPreparedHasNoErasedPerson(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	const me = "k1:me"
	event := func(n int, visitor string) record {
		return s.record(s.event(visitor, noon.Add(time.Duration(n)*time.Minute), n, func(e *wire.Event) {
			if visitor == "me" {
				e.Identity.EmailKey = me
			}
		}))
	}
	s.apply([]record{event(1, "me")}, func() int { return 1 })
	s.erase(noon.Add(time.Hour), facts.Key{Kind: facts.KeyEmail, Value: me})
	s.exec(`truncate consumer_offset`)
	prepared := 0
	s.offer(s.owner(), numbered([]record{event(2, "other"), event(3, "other"), event(4, "me"), event(5, "other")}), func() int {
		return 2
	}, func() { prepared++ })
	if left := s.found(me); prepared != 1 || len(left) > 0 {
		t.Errorf("%d batches were prepared, left: %v", prepared, left)
	}
	if n := s.int(`select count(*) from event_fact`); n != 3 {
		t.Errorf("%d events are stored, want the other visitor's three", n)
	}
}

// losing is a store whose every second transaction does all and is lost.
type losing struct {
	Store
	kept   bool
	failed int
}

func (l *losing) Transact(ctx context.Context, f func(tx Tx) error) error {
	return l.Store.Transact(ctx, func(tx Tx) error {
		if err := f(tx); err != nil {
			return err
		}
		if l.kept = !l.kept; l.kept {
			l.failed++
			return errors.New("the connection is lost")
		}
		return nil
	})
}

// A batch that fails once it has begun to prepare the next one is tried again: neither is
// counted twice, and nothing of the next one is lost.
func TestABatchThatFailsWhileTheNextIsPreparedIsAppliedOnce(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	var records []record
	for i := range 6 {
		records = append(records,
			s.record(s.order(fmt.Sprint("o", i), noon.Add(time.Duration(i)*time.Minute), 1000, func(o *wire.Order) {
				o.VisitorID = wire.Some(visitorID(fmt.Sprint("v", i)))
			})))
		records = append(records, s.many(50*i, 50)...)
		records = append(records, s.many(50*i, 3)...) // again
	}
	for i := range 20 { // numbers of a stream, of which two in five are missing, and the sender gave up some
		n := s.event("v", noon.Add(time.Duration(i)*time.Second), 1000+i, func(e *wire.Event) {
			e.Stream, e.Seq, e.Trust, e.ReceivedAt = "page", int64(1+5*(i/3)+i%3), wire.TrustOpen, noon.Add(time.Duration(i)*time.Second)
		})
		gaveUp := s.notice(i, func(w *wire.Notice) {
			w.Dropped = &wire.NoticeDropped{ID: idsOf(fmt.Sprint("given up ", i)), Counts: map[string]int64{"queue_full": 1}, Stream: "page"}
		})
		if records = append(records, s.record(n)); i%9 == 0 {
			records = append(records, s.record(gaveUp))
		}
	}
	records = numbered(records)
	lost := &losing{Store: StoreOf(s.store)}
	o := s.owner()
	o.Store = lost
	prepared := 0
	s.offer(o, slices.Clone(records), func() int { return 54 }, func() { prepared++ })
	if prepared < 4 || lost.failed < 4 {
		t.Errorf("%d batches were prepared, %d failed", prepared, lost.failed)
	}
	got := s.contents()
	s.clear()
	s.apply(slices.Clone(records), func() int { return 54 })
	wantTexts(t, "as if nothing failed", got, s.contents()...)
}

// Orders of a bulk take what commerce and events leave of a batch, and no more than maxBulk: however many wait, an order that was sent
// alone is in the next batch.
func TestOrdersOfABulkComeBehindTheOthers(t *testing.T) {
	t.Parallel()
	o := owner{Processor: &Processor{}}
	o.config.BatchBytes = 1 << 20
	f := func(commerce, events, bulk, limit int, want map[string]int) {
		t.Helper()
		o.commerce, o.events, o.bulk = make(chan *record, 3000), make(chan *record, 3000), make(chan *record, 3000)
		for _, of := range []struct {
			topic   string
			waiting chan *record
			n       int
		}{{wire.TopicBulk, o.bulk, bulk}, {wire.TopicEvents, o.events, events}, {wire.TopicCommerce, o.commerce, commerce}} {
			for range of.n {
				of.waiting <- &record{topic: of.topic}
			}
		}
		got := map[string]int{}
		for _, r := range o.gather(gathered{}, limit).records {
			got[r.topic]++
		}
		if !maps.Equal(got, want) {
			t.Errorf("%d, %d and %d wait: a batch of %v, want %v", commerce, events, bulk, got, want)
		}
	}
	f(1, 0, 2000, 1000, map[string]int{wire.TopicCommerce: 1, wire.TopicBulk: maxBulk})
	f(0, 0, 2000, 100, map[string]int{wire.TopicBulk: 100})
	f(600, 450, 2000, 1000, map[string]int{wire.TopicCommerce: 500, wire.TopicEvents: 450, wire.TopicBulk: 50})
	f(600, 600, 2000, 1000, map[string]int{wire.TopicCommerce: 500, wire.TopicEvents: 500})
}

// A batch that was gathered before its limit became smaller keeps to the limit: the others
// are left for the next one, in order.
func TestAPreparedBatchKeepsToASmallerLimit(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	o := s.owner()
	o.commerce, o.events = make(chan *record, 20), make(chan *record, 20)
	records := numbered(s.many(0, 20))
	for i := range records {
		o.events <- &records[i]
	}
	o.prepareNext()
	var offsets []int64
	for _, want := range []int{8, 8, 4} {
		o.batchLimit = 8
		batch, err := o.collect(s.ctx)
		if err != nil || len(batch) != want {
			t.Fatalf("%d records, %v, want %d", len(batch), err, want)
		}
		for _, r := range batch {
			offsets = append(offsets, r.Offset)
		}
		o.prepareNext() // what is left comes first
		if err := o.applyRecords(s.ctx, batch); err != nil {
			t.Fatal(err)
		}
	}
	o.takePrepared()
	if len(offsets) != 20 || !slices.IsSorted(offsets) {
		t.Errorf("offsets %v", offsets)
	}
}
