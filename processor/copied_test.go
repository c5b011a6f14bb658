package processor

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/wire"
)

// many are page views of visitors, n of them, numbered from a number on.
func (s *shop) many(from, n int) (records []record) {
	for i := from; i < from+n; i++ {
		records = append(records, s.record(s.event(fmt.Sprint("v", i%7), noon.Add(time.Duration(i)*time.Second), i, func(e *wire.Event) {
			e.Trust = wire.TrustOpen
			if i%3 == 0 {
				e.VisitorID = fmt.Sprint("guessed ", i%5)
				e.CookieID, e.NetKey = visitorID(fmt.Sprint("cookie ", i%5)), "k1:net"
			}
			if i%11 == 0 {
				e.VisitorID, e.CookieID = "", ""
			}
		})))
	}
	return records
}

// contents is all that events leave.
func (s *shop) contents() []string {
	var list []string
	for _, table := range []string{"event_fact", "observation", "delivery", "shopper_day", "traffic_day", "stream"} {
		list = append(list, s.texts(`select '`+table+` ' || r::text from `+table+` r order by 1`)...)
	}
	return list
}

// Many events are stored by COPY, which cannot pass by an id that is stored. Whatever of a
// batch came before, each event is stored once, and is counted as if each came alone.
func TestManyEventsAreStoredOnce(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	records := s.many(0, 300)
	better := s.event("v1", noon.Add(5*time.Second), 5, func(e *wire.Event) { e.Trust = wire.TrustKey })
	batches := [][]record{
		records[:100], // copied
		slices.Concat(records[100:199], records[7:8]),                                         // the last is stored
		slices.Concat(records[190:260], []record{s.record(better)}),                           // some are stored, and one counts instead
		slices.Concat(records[250:300], records[290:300], records[:3]), records, records[:70], // again
	}
	s.clear()
	for _, b := range batches {
		s.apply(slices.Clone(b), func() int { return len(b) })
	}
	together := s.contents()
	if n := s.int(`select count(*) from event_fact`); n != 300 {
		t.Errorf("%d events are stored, want 300", n)
	}
	s.clear()
	for _, b := range batches {
		s.apply(slices.Clone(b), func() int { return 1 })
	}
	wantTexts(t, "as if each came alone", together, s.contents()...)
}
