package processor

import (
	"fmt"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/packed"
	"github.com/tributary-io/tributary/internal/postgres/replay"
	"github.com/tributary-io/tributary/internal/postgres/report"
	"github.com/tributary-io/tributary/internal/wire"
)

// TestAnOrderFromBeforeAnErasureThatComesAfterIt: the platform sent an order before its
// customer was erased, and the record came to Kafka after the erasure's, at any step of it.
func TestAnOrderFromBeforeAnErasureThatComesAfterIt(t *testing.T) {
	t.Parallel()
	s := personShop(t)
	asked := noon.AddDate(0, 0, 1)
	steps := 0
	for n := 0; ; n++ { // the order comes after n transactions of the erasure
		me := fmt.Sprint("k1:late", n)
		of := func(id string, at time.Time) record {
			return s.record(s.order(id, at, 7_000, func(o *wire.Order) {
				o.EmailKey, o.Personal = wire.Some(me), []byte(`{"customer":{"name":"`+me+`"}}`)
			}))
		}
		s.apply([]record{of(fmt.Sprint("first", n), noon.Add(2*time.Hour))}, func() int { return 1 })
		s.ask(asked, facts.Key{Kind: facts.KeyEmail, Value: me})
		done := func() bool { return s.int(`select count(*) from erasure where done_at is null`) == 0 }
		for range n {
			if !done() {
				s.step()
				steps++
			}
		}
		over := done()
		late := fmt.Sprint("late", n)
		if err := s.owner().applyRecords(s.ctx, numbered([]record{of(late, noon.Add(5*time.Hour))})); err != nil {
			t.Fatal(err)
		}
		s.workOff()
		if left := s.found(me); len(left) > 0 {
			t.Fatalf("after %d steps: left: %v", n, left)
		}
		if c := s.int(`select count(*) from orders where order_id = $1 and total_minor = 7000`, late); c != 1 {
			t.Fatalf("after %d steps: the order is not stored", n)
		}
		// A later version of it has the person's keys again; a new order is of somebody new.
		s.apply([]record{of(late, asked.Add(time.Hour))}, func() int { return 1 })
		if left := s.found(me); len(left) > 0 {
			t.Fatalf("after %d steps: a later version brought back: %v", n, left)
		}
		s.apply([]record{of(fmt.Sprint("new", n), asked.Add(time.Hour))}, func() int { return 1 })
		if left := s.found(me); len(left) == 0 {
			t.Fatal("an order from after the erasure is not the customer's")
		}
		if over {
			break
		}
	}
	if found, err := s.replay(s.ctx, replay.Options{}); err != nil || !found.Equal() || steps < 20 {
		t.Errorf("%d steps; a replay differs: %+v, %v", steps, found, err)
	}
}

// step runs one transaction of what the shop's company has to do, as a new owner.
func (s *shop) step() {
	s.t.Helper()
	o := s.owner()
	rules, err := o.rulesOf(s.ctx, []string{s.company})
	if err != nil {
		s.t.Fatal(err)
	}
	b := batch{clusterID: o.clusterID, moves: o.moves(nil), now: o.Now().UTC(), companies: []companyBatch{{index: rules[s.company]}}}
	if _, err := o.recompute(s.ctx, b, 200); err != nil {
		s.t.Fatal(err)
	}
}

// A version of the person's order, from before the erasure and later than those that are stored,
// may come at any step of it: the order keeps its evidence, and nothing of the person stays.
func TestALaterVersionThatComesDuringAnErasureKeepsTheEvidence(t *testing.T) {
	t.Parallel()
	asked, steps := noon.AddDate(0, 0, 1), 0
	for n, over := 0, false; !over; n++ {
		s := personShop(t)
		s.ask(asked, facts.Key{Kind: facts.KeyEmail, Value: "k1:me"})
		for range n {
			if over = s.int(`select count(*) from erasure where done_at is null`) == 0; !over {
				s.step()
				steps++
			}
		}
		late := s.record(s.order("mine", noon.Add(time.Hour), 20_000, func(o *wire.Order) {
			o.EmailKey, o.PhoneKey, o.VisitorID = wire.Some("k1:me"), wire.Some("k1:home"), wire.Some(visitorID("v1"))
			o.UpdatedAt = wire.Some(noon.Add(3 * time.Hour))
		}))
		o := s.owner()
		late.Offset = o.next[late.topic]
		if err := o.applyRecords(s.ctx, []record{late}); err != nil {
			t.Fatal(err)
		}
		s.workOff()
		wantTexts(t, fmt.Sprintf("payouts, where it came after %d steps", n), s.payouts(), "mine Ana Prado link 2000",
			"neighbours Ana Prado link 500")
		if left := s.found("k1:me"); len(left) > 0 {
			t.Fatalf("after %d steps: left: %v", n, left)
		}
	}
	if steps < 10 {
		t.Errorf("only %d steps", steps)
	}
}

// What was made of a person's visits and orders for the whole shop does not keep the person:
// a count of non-converting paths that has come just to the visitor, and reports of signs, which name
// the sources of visits.
func TestNothingThatIsUnderWayKeepsAnErasedPerson(t *testing.T) {
	t.Parallel()
	s := personShop(t)
	p := s.processor(nil, nil)
	p.Now, p.config.PathsChunk = func() time.Time { return noon.AddDate(0, 0, 9) }, 1
	for range 2 { // it begins, and looks at one visitor
		if more, err := p.countPathsStep(s.ctx, s.company, AnyPartition); err != nil || !more {
			t.Fatalf("more: %t, %v", more, err)
		}
	}
	if n := s.int(`select count(*) from nonconverting_count where after = $1`, packed.ID(visitorID("v1"))); n != 1 {
		t.Fatal("the count has not come to the visitor")
	}
	if _, err := report.New(s.db).Signs(s.ctx, s.company, "2026-01-01", "2026-12-31"); err != nil {
		t.Fatal(err)
	}
	if n := s.int(`select count(*) from sign_report`); n != 1 {
		t.Fatalf("%d reports of signs are kept", n)
	}
	s.erase(noon.AddDate(0, 0, 1), facts.Key{Kind: facts.KeyEmail, Value: "k1:me"})
	if n := s.int(`select count(*) from nonconverting_count where after = $1`, packed.ID(visitorID("v1"))); n != 0 {
		t.Error("the count keeps the visitor's id")
	}
	if n := s.int(`select count(*) from sign_report`); n != 0 {
		t.Error("a report of before is kept")
	}
	if err := p.CountPaths(s.ctx, s.company, AnyPartition, false); err != nil {
		t.Fatal(err)
	}
	if days := s.countedDays(); len(days) != 1 {
		t.Errorf("days that are counted: %v", days)
	}
}
