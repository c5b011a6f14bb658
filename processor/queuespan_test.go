package processor

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/postgres/replay"
	"github.com/tributary-io/tributary/internal/postgres/report"
	"github.com/tributary-io/tributary/internal/wire"
)

// manySold is more orders than a change of settings queues at once.
const manySold = 1_250

// sellMany sells by a code for which 7.5 % are paid, and then changes that to 10 %, as a setting
// would that concerns all orders.
func sellMany(t *testing.T) (s *ledgerShop, o *owner) {
	t.Helper()
	return sellManyAnd(t, 0)
}

// sellManyAnd is sellMany with so many orders more, of a month before.
func sellManyAnd(t *testing.T, older int) (s *ledgerShop, o *owner) {
	t.Helper()
	s = newLedgerShop(t)
	s.exec(`update cost set fixed_fee_minor = 0 where influencer_id = $1`, s.ana)
	var records []record
	for i := range older {
		records = append(records, s.record(s.order(fmt.Sprintf("a%04d", i), noon.Add(-30*days), int64(10_000+10*i), coupon("ANA10"))))
	}
	for i := range manySold {
		records = append(records, s.record(s.order(fmt.Sprintf("o%04d", i), noon.Add(-hours), int64(10_000+10*i), coupon("ANA10"))))
	}
	s.takeAll(records[:manySold/2]...)
	s.takeAll(records[manySold/2:]...)
	s.workOff()
	s.exec(`update cost set var_fee = 10 where influencer_id = $1`, s.ana)
	s.bump()
	o = s.owner()
	s.changed(o, wire.Rule{Type: wire.RuleSettings})
	return s, o
}

// left is how many orders are queued, and how many spans are still to be queued.
func (s *shop) left() string {
	return fmt.Sprint(s.int(`select count(*) from recompute`), " ", s.int(`select count(*) from recompute_span`))
}

// wantPaid wants each order to be paid by a percentage.
func (s *shop) wantPaid(orders int64, percent int) {
	s.t.Helper()
	if n := s.int(`select count(*) from payout where commission_minor = total_minor * $1::int / 100`, percent); n != orders {
		s.t.Errorf("%d orders are paid by %d %%, want %d", n, percent, orders)
	}
}

// All orders that a change of settings concerns are queued part by part, with the work on
// them. A processor that is killed between two parts leaves what is left to the next one.
func TestASettingsChangeIsQueuedInParts(t *testing.T) {
	t.Parallel()
	s, o := sellMany(t)
	o.Now = func() time.Time { return noon } // no turn ends by its time
	if left := s.left(); left != "1000 1" {
		t.Fatalf("left: %s", left)
	}
	rules, err := o.rulesOf(s.ctx, []string{s.company})
	if err != nil {
		t.Fatal(err)
	}
	step := func(o *owner) error {
		_, err := o.recompute(s.ctx,
			batch{clusterID: o.clusterID, moves: o.moves(nil), now: o.Now().UTC(), companies: []companyBatch{{index: rules[s.company]}}}, 200)
		return err
	}
	for range 6 { // the last one queues 200 of the others and computes them
		if err := step(o); err != nil {
			t.Fatal(err)
		}
	}
	if left := s.left(); left != "0 1" {
		t.Errorf("left after the first part: %s", left)
	}
	s.wantPaid(1_200, 10)
	// What is left to queue counts as queued, wherever that matters.
	oldest := s.texts(`select order_id from payout order by order_id limit 1`)[0]
	if sale, err := report.New(s.db).ExplainedSale(s.ctx, s.company, oldest); err != nil || !sale.Recomputing {
		t.Errorf("an order that is still to be queued: %t, %v", sale.Recomputing, err)
	}
	if sale, err := report.New(s.db).ExplainedSale(s.ctx, s.company, "o1249"); err != nil || sale.Recomputing {
		t.Errorf("an order that was computed: %t, %v", sale.Recomputing, err)
	}
	if err := replay.InSnapshot(s.ctx, s.db, func(*replay.Snapshot) error { return nil }); !errors.Is(err, replay.ErrQueued) {
		t.Errorf("a snapshot: %v, want %v", err, replay.ErrQueued)
	}
	s.ask(s.ana, "BRL", "2027-12-31", 0)
	next := s.owner()
	if err := step(o); !errors.Is(err, facts.ErrFenced) {
		t.Errorf("the processor that was replaced: %v, want %v", err, facts.ErrFenced)
	}
	s.workOffBy(next)
	if left := s.left(); left != "0 0" {
		t.Errorf("left: %s", left)
	}
	s.wantPaid(manySold, 10)
	want := s.int(`select sum(total_minor * 10 / 100)::bigint from payout`)
	if n := s.int(`select total_minor from statement where closed_at is not null`); n != want {
		t.Errorf("the statement has %d, want %d: it is closed once all orders are computed", n, want)
	}
}

// A later change begins anew, and one that concerns fewer orders is beside it.
func TestASecondChangeQueuesAllOrdersOnce(t *testing.T) {
	t.Parallel()
	s, o := sellMany(t)
	s.exec(`update cost set var_fee = 20 where influencer_id = $1`, s.ana)
	s.bump()
	s.changed(o, wire.Rule{Type: wire.RuleSettings})
	if left := s.left(); left != "1000 1" {
		t.Errorf("left: %s", left)
	}
	s.workOff()
	s.wantPaid(manySold, 20)
	if left := s.left(); left != "0 0" {
		t.Errorf("left: %s", left)
	}
}

// A change that concerns the newer orders alone comes while the older ones are still to be
// queued for the change before, which ends first: it leaves what is left of the later one.
func TestAChangeOfFewerOrdersOutlastsTheOneBefore(t *testing.T) {
	t.Parallel()
	const older = 10
	s, o := sellManyAnd(t, older)
	rules, err := o.rulesOf(s.ctx, []string{s.company})
	if err != nil {
		t.Fatal(err)
	}
	for range 250 { // as far as the older ones
		if s.int(`select count(*) from recompute`) == 0 && s.int(`select count(*) from recompute_span where before_id <= 'o0001'`) == 1 {
			break
		}
		if _, err := o.recompute(s.ctx,
			batch{clusterID: o.clusterID, moves: o.moves(nil), now: o.Now().UTC(), companies: []companyBatch{{index: rules[s.company]}}},
			50); err != nil {
			t.Fatal(err)
		}
	}
	if left := s.left(); left != "0 1" {
		t.Fatalf("left: %s", left)
	}
	s.wantPaid(manySold, 10)
	s.exec(`update cost set var_fee = 20 where influencer_id = $1`, s.ana)
	s.bump()
	s.changed(o, wire.Rule{Type: wire.RuleSettings, From: noon.Format(time.DateOnly)})
	if left := s.left(); left != "1000 2" {
		t.Errorf("left: %s", left)
	}
	s.workOff()
	s.wantPaid(manySold+older, 20)
}

// takeAll gives records to an owner that begins where the last one ended.
func (s *ledgerShop) takeAll(records ...record) {
	s.t.Helper()
	o := s.owner()
	next := map[string]int64{wire.TopicEvents: o.next[wire.TopicEvents], wire.TopicCommerce: o.next[wire.TopicCommerce]}
	for i := range records {
		records[i].Offset = next[records[i].topic]
		next[records[i].topic]++
	}
	if err := o.applyRecords(s.ctx, records); err != nil {
		s.t.Fatal(err)
	}
}
