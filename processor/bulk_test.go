package processor

import (
	"fmt"
	"testing"

	"github.com/tributary-io/tributary/internal/wire"
)

// inBulkRecord is a record of an order that was sent with many others.
func (s *shop) inBulkRecord(id string, minor int64) record {
	c := s.order(id, noon, minor, nil)
	c.Bulk = true
	return s.record(c)
}

// Orders that were sent in bulk are stored with their batch and computed behind it: an order that was sent alone is computed
// at once, wherever it stands in the log.
func TestOrdersOfABulkWaitForThoseThatWereSentAlone(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	o := s.owner()
	o.Log = onePartition{}
	var records []record
	for i := range 300 {
		records = append(records, s.inBulkRecord(fmt.Sprintf("bulk%03d", i), 1000))
	}
	alone := s.order("alone", noon, 1000, nil)
	both := s.order("bulk000", noon, 2000, func(o *wire.Order) { o.UpdatedAt = wire.Some(noon.Add(1)) })
	records = append(records, s.record(alone), s.record(both))
	if err := o.applyRecords(s.ctx, numbered(records)); err != nil {
		t.Fatal(err)
	}
	wantTexts(t, "computed at once", s.payouts(), "alone nobody - 0", "bulk000 nobody - 0")
	if stored, waiting := s.int(`select count(*) from orders`), s.int(`select count(*) from recompute`); stored != 301 || waiting != 299 {
		t.Errorf("%d orders are stored and %d wait, want 301 and 299", stored, waiting)
	}
	if !o.queued {
		t.Error("the owner does not know that orders wait")
	}
	s.workOffBy(o)
	if n := s.int(`select count(*) from payout`); n != 301 {
		t.Errorf("%d orders are computed in the end, want 301", n)
	}
	// What is the same changes nothing, and waits for nothing.
	if err := o.applyRecords(s.ctx, numbered([]record{s.inBulkRecord("bulk001", 1000)})); err != nil {
		t.Fatal(err)
	}
	if n := s.int(`select count(*) from recompute`); n != 0 {
		t.Errorf("%d orders wait after a repeat", n)
	}
}
