package processor

import (
	"maps"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/wire"
)

// A statement that is closing when its sum may be kept is closed with the same entries, a closed one
// stays as it is, and a numbering goes on whose origin is not known.
func TestStatementsAndStreamsOfBefore0046GoOn(t *testing.T) {
	t.Parallel()
	s := newLedgerShop(t)
	s.exec(`update company set origins = '{https://loja.example.com}'`)
	for i, id := range []string{"b", "ä", "A", "a"} { // in no order that all collations have
		s.sale(id, int64(10_000+i), coupon("BETO"))
	}
	s.ask(s.beto, "BRL", "2026-12-31", 0)
	s.workOff()
	closed := s.closed()
	s.sale("c", 20_000, coupon("BETO"))
	s.sale("d", 20_000, coupon("BETO"))
	s.ask(s.beto, "BRL", "2026-12-31", 0)
	o := s.owner()
	o.config.StatementChunk = 1 // one entry is in it
	rules, err := o.rulesOf(s.ctx, []string{s.company})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.recompute(s.ctx, batch{clusterID: o.clusterID, moves: o.moves(nil), now: o.Now().UTC(), companies: []companyBatch{{index: rules[s.company]}}}, 200); err != nil {
		t.Fatal(err)
	}
	number := func(seq int64) record { return s.record(s.number("s", seq, 0, nil)) }
	s.takeAll(number(1), number(4))
	up := s.takeBack(46)
	up()
	if now := s.closed(); len(now) != 1 || !maps.Equal(now, closed) {
		t.Errorf("the closed statement was\n%v\nand is\n%v", closed, now)
	}
	s.workOff()
	wantLines(t, s.texts(`select concat_ws(' ', entries, lines, total_minor) from statement where closed_at is not null order by rev`), "4 4 1200", "2 2 1200")
	s.takeAll(number(2), s.record(s.number("t", 1, time.Minute, nil)), s.record(s.number("t", 3, time.Minute, nil)))
	wantLines(t, s.texts(`select concat_ws(' ', outcome, sum(events)) from delivery where outcome = 'missing' group by outcome`), "missing 2")
	wantLines(t, s.texts(`select concat_ws(' ', agent, sum(events)) from delivery_source where outcome = 'missing' group by agent`), "firefox 3") // of before it is not known where the one is from that came
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
