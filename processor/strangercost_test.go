package processor

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/attribution"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/postgres/merchant"
	"github.com/tributary-io/tributary/internal/preview"
	"github.com/tributary-io/tributary/internal/wire"
)

// flood stores what a stranger sends in a customer's name: visitors of one e-mail, each with
// so many arrivals by a campaign of its own, one a second up to the instant.
func (s *shop) flood(name string, visitors, each int, until time.Time) {
	s.t.Helper()
	var records []record
	for v := range visitors {
		records = append(records, s.record(s.event(fmt.Sprint(name, v), until, v, func(e *wire.Event) {
			e.EventID = uuid7(until, 500*len(name)+v)
			e.Context.Page.URL = "https://loja.example.com/p/1?utm_source=x&utm_medium=link&utm_campaign=Eve+Silva&utm_term=" + fmt.Sprint(v)
			e.Identity.EmailKey = "k1:mail"
		})))
	}
	s.apply(records, func() int { return 500 })
	s.copyEvents(each-1, until)
}

// copyEvents stores copies of each arrival of an instant, one a second before the other: to send
// 80,000 takes too long here.
func (s *shop) copyEvents(copies int, at time.Time) {
	s.t.Helper()
	s.exec(`
		insert into event_fact (company_id, at, event_id, class, name, visitor, sources, record)
		select company_id, at - n * interval '1 second', overlay(event_id::text placing lpad(to_hex(n), 8, '0') from 25 for 8)::uuid, class, name,
		visitor, sources, record
		from event_fact f, generate_series(1, $1::int) n where at = $2 and class = 2`, copies, at)
	s.exec(`analyze event_fact`)
}

func ofMail(o *wire.Order) { o.EmailKey = wire.Some("k1:mail") }

// A stranger sends very many events with a customer's e-mail. An order reads at most
// attribution.ClaimedEvents of them, however many there are; orders that follow each other
// read the same ones once; and a transaction ends where it has read as many.
func TestAStrangersEventsAreReadOnceAndUpToABound(t *testing.T) {
	t.Parallel()
	s := newReads(t)
	s.flood("x", 20, 1000, noon.Add(-time.Minute))
	o := s.owner()
	var orders []record
	for i := range 40 {
		r := s.record(s.order(fmt.Sprintf("o%02d", i), noon.Add(time.Duration(i)*time.Second), 1000, ofMail))
		r.Offset = o.next[r.topic] + int64(i)
		orders = append(orders, r)
	}
	var done applied
	apply := func(records []record) {
		t.Helper()
		b, _, err := o.readBatch(s.ctx, o.group(records))
		if err != nil {
			t.Fatal(err)
		}
		b.moves = o.moves(records)
		if done, err = o.apply(s.ctx, b, func() {}); err != nil {
			t.Fatal(err)
		}
		for _, m := range b.moves {
			o.next[m.Topic] = m.To
		}
	}
	apply(orders)
	if done.read.Claimed > attribution.ClaimedEvents || done.read.Claimed < attribution.ClaimedEvents/2 {
		t.Errorf("%d claimed events were read for one batch, want up to %d", done.read.Claimed, attribution.ClaimedEvents)
	}
	if len(done.computed) < 1 || len(done.computed)+len(done.putBack) != 40 {
		t.Errorf("%d orders computed, %d left, want 40 together", len(done.computed), len(done.putBack))
	}
	s.workOffBy(o)
	if n := s.int(`select count(*) from payout`); n != 40 {
		t.Fatalf("%d outcomes", n)
	}
	s.exec(`analyze`)
	// One event more concerns all of them.
	poke := s.record(s.event("x0", noon.Add(-30*time.Second), 9000, func(e *wire.Event) {
		landing("Eve+Silva", "x")(e)
		e.Identity.EmailKey = "k1:mail"
	}))
	poke.Offset = o.next[poke.topic]
	rows := s.of(func() { apply([]record{poke}) })
	if done.read.Claimed > attribution.ClaimedEvents {
		t.Errorf("one event made the processor read %d claimed events before it yields", done.read.Claimed)
	}
	perOrder := float64(rows) / float64(max(1, len(done.computed)))
	t.Logf("a poke: %d orders computed, %d queued, %d claimed events, %d rows, %.0f an order", len(done.computed), len(done.putBack),
		done.read.Claimed, rows, perOrder)
	// By index and by table: the claimed events once, and each order's own rows.
	if most := int64(2*attribution.ClaimedEvents + 400*40); rows > most {
		t.Errorf("one event made PostgreSQL read %d rows, want at most %d", rows, most)
	}
	for _, e := range s.explanations() {
		if !slices.Contains(e.Cuts, facts.Cut{What: facts.CutEvents, Limit: facts.HubOfEvents}) {
			t.Errorf("cuts of order %s: %v", e.Order.OrderID, e.Cuts)
		}
	}
}

// A stranger's own order, with a cart of its own and a visitor whose id anybody may guess, reads no
// more than the bounds say: 2,000 claimed events, and as many by each kind of what may prove them.
func TestWhatMayBeProvenIsReadUpToABoundAndOnce(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.apply([]record{s.record(s.event("", noon.Add(-time.Minute), 1, func(e *wire.Event) {
		guessable(e)
		e.Context.Page.URL = "https://loja.example.com/p/1?utm_source=x&utm_medium=link&utm_campaign=Eve+Silva"
		e.Identity.CartKey, e.CookieID, e.NetKey = "k1:cart", visitorID("cookie"), "net"
	}))}, func() int { return 1 })
	s.copyEvents(9000, noon.Add(-time.Minute))
	o := s.owner()
	r := s.record(s.order("o1", noon, 1000, func(o *wire.Order) { o.CartKey, o.NetKey = wire.Some("k1:cart"), wire.Some("net") }))
	r.Offset = o.next[r.topic]
	b, _, err := o.readBatch(s.ctx, o.group([]record{r}))
	if err != nil {
		t.Fatal(err)
	}
	b.moves = o.moves([]record{r})
	done, err := o.apply(s.ctx, b, func() {})
	if err != nil {
		t.Fatal(err)
	}
	proven := done.read.Events - done.read.Claimed
	if most := 3 * 2001; done.read.Claimed > attribution.ClaimedEvents || proven > most || proven < 2000 {
		t.Errorf("%d claimed events and %d that may be proven were read, want at most %d and %d", done.read.Claimed, proven,
			attribution.ClaimedEvents, most)
	}
}

// One event may concern orders that have no visitor in common. What is read for the first of them
// leaves nothing of the bound, so no more than that is read in vain for the next ones.
func TestOneEventReadsUpToABoundWhateverItConcerns(t *testing.T) {
	t.Parallel()
	s := newReads(t)
	apply := func(records ...record) {
		t.Helper()
		numbered(records)
		o := s.owner()
		for i := range records {
			records[i].Offset += o.next[records[i].topic]
		}
		if err := o.applyRecords(s.ctx, records); err != nil {
			t.Fatal(err)
		}
	}
	for m := range 5 {
		mail, at := fmt.Sprint("k1:mail", m), noon.Add(time.Duration(m)*time.Millisecond-time.Minute)
		var records []record
		for v := range 8 {
			records = append(records, s.record(s.event(fmt.Sprint("v", m, v), at, 10*m+v, func(e *wire.Event) {
				landing("Eve+Silva", "x")(e)
				e.Identity.EmailKey = mail
			})))
		}
		records = append(records,
			s.record(s.event("hub", noon.Add(-time.Hour), 10_000+m, func(e *wire.Event) { e.Identity.EmailKey = mail })),
			s.record(s.order(fmt.Sprint("o", m), noon.Add(time.Duration(m)*time.Second), 1000, func(o *wire.Order) {
				o.EmailKey = wire.Some(mail)
			})))
		apply(records...)
		s.copyEvents(1500, at)
	}
	s.workOff()
	s.exec(`analyze`)
	o := s.owner()
	r := s.record(s.event("hub", noon.Add(-time.Second), 20_000, landing("Eve+Silva", "x")))
	r.Offset = o.next[r.topic]
	read := func() int64 {
		s.of(func() {}) // its counts are told
		return s.int(`select sum(idx_tup_fetch + seq_tup_read)::bigint from pg_stat_user_tables where relname like 'event_fact%'`)
	}
	before := read()
	if err := o.applyRecords(s.ctx, []record{r}); err != nil {
		t.Fatal(err)
	}
	if n := s.int(`select count(*) from recompute`); n == 0 || n > 4 {
		t.Errorf("%d orders wait, want all but the first", n)
	}
	// Half of what the first order reads are older arrivals: so much is read in vain of the next ones.
	if rows, most := read()-before, int64(2*attribution.ClaimedEvents); rows > most {
		t.Errorf("one event made PostgreSQL read %d events, want at most %d", rows, most)
	}
}

// Which claimed events are read follows from the facts alone: not from the order in which
// they came, nor from which orders were computed together.
func TestWhatIsReadOfAStrangersEventsDoesNotDependOnTheBatch(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ana, _ := s.influencer("Ana Prado", "Inverno")
	s.cost(ana, "", 0, "10")
	eve, _ := s.influencer("Eve Silva", "x")
	s.cost(eve, "", 0, "10")
	s.flood("x", 15, 150, noon.Add(-time.Minute))
	proven := []record{
		s.record(s.event("buyer", noon.Add(-20*24*time.Hour), 7000, landing("Ana+Prado", "Inverno"))),
		s.record(s.event("buyer", noon.Add(-30*time.Minute), 7001, checkout("k1:cart"))),
	}
	var orders []record
	for i := range 12 { // before, among and after the stranger's events
		orders = append(orders, s.record(s.order(fmt.Sprintf("o%02d", i), noon.Add(time.Duration(i-9)*20*time.Second), 1000, func(o *wire.Order) {
			ofMail(o)
			o.CartKey = wire.Some("k1:cart")
		})))
	}
	o := s.owner()
	for i, r := range append(proven, orders...) {
		r.Offset = o.next[r.topic]
		if err := o.applyRecords(s.ctx, []record{r}); err != nil {
			t.Fatal(i, err)
		}
	}
	s.workOffBy(o)
	outcomes := func() []string {
		return s.texts(`select order_id || ' ' || encode(outcome_hash, 'hex') from payout order by order_id`)
	}
	together := outcomes()
	if len(together) != 12 {
		t.Fatalf("%d outcomes", len(together))
	}
	wantTexts(t, "Ana's sales, whatever a stranger sends",
		s.texts(`select distinct concat_ws(' ', state, influencer_id::text, proof) from payout`), "earned "+ana+" cart")
	for _, chunk := range []int{1, 3, 12} { // each alone, and in groups that are cut elsewhere
		o := s.owner()
		s.exec(`update payout set outcome_hash = ''`)
		s.exec(`insert into recompute (company_id, order_id, cause) select company_id, order_id, 'rule 1 settings' from orders`)
		s.exec(`insert into recompute_company values ($1)`, s.company)
		rules, err := o.rulesOf(s.ctx, []string{s.company})
		if err != nil {
			t.Fatal(err)
		}
		for s.int(`select count(*) from recompute_company`) > 0 {
			b := batch{clusterID: o.clusterID, moves: o.moves(nil), now: o.Now().UTC(), companies: []companyBatch{{index: rules[s.company]}}}
			if _, err := o.recompute(s.ctx, b, chunk); err != nil {
				t.Fatal(err)
			}
		}
		wantTexts(t, fmt.Sprint(chunk, " at once"), outcomes(), together...)
	}
}

// An order that was queued is computed, however often others before it are queued again.
func TestNoQueuedOrderWaitsForEver(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	o := s.owner()
	var orders []record
	for i := range 30 {
		r := s.record(s.order(fmt.Sprintf("o%02d", i), noon, 1000, nil))
		r.Offset = int64(i)
		orders = append(orders, r)
	}
	if err := o.applyRecords(s.ctx, orders); err != nil {
		t.Fatal(err)
	}
	s.queueAgain("o30")
	for range 3 {
		o.chunkLimit, o.queueTurns = 10, []string{s.company}
		if err := o.recomputeQueued(s.ctx); err != nil {
			t.Fatal(err)
		}
		s.queueAgain("o10") // a stranger's, again and again
	}
	wantTexts(t, "still queued", s.texts(`select order_id from recompute where order_id >= 'o10'`))
}

// An order that was put back, since the turn was over, comes first in the next turn: a stranger
// who has newer orders be queued again and again takes its turn away from none.
func TestAnOrderThatWasPutBackComesFirst(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	o := s.owner()
	var orders []record
	for i := range 15 { // the larger its id, the newer
		r := s.record(s.order(fmt.Sprintf("o%02d", i), noon.Add(time.Duration(i)*time.Minute), 1000, nil))
		r.Offset = int64(i)
		orders = append(orders, r)
	}
	if err := o.applyRecords(s.ctx, orders); err != nil {
		t.Fatal(err)
	}
	began, looks := time.Now(), 0
	o.Now = func() time.Time { // each look at the clock takes a second: a turn is over after its first orders
		looks++
		return began.Add(time.Duration(looks) * time.Second)
	}
	s.queueAgain("o99")
	for range 60 {
		o.queueTurns = []string{s.company}
		if err := o.recomputeQueued(s.ctx); err != nil {
			t.Fatal(err)
		}
		s.exec(`insert into recompute (company_id, order_id, cause) select company_id, order_id, 'rule 1 settings' from orders where order_id ` +
			`in ('o08', 'o09', 'o14') on conflict do nothing`)
	}
	wantTexts(t, "still queued", s.texts(`select order_id from recompute where order_id not in ('o08', 'o09', 'o14')`))
}

// queueAgain queues the orders whose ids are below one.
func (s *shop) queueAgain(below string) {
	s.exec(`insert into recompute (company_id, order_id, cause) select company_id, order_id, 'rule 1 settings' from orders where order_id `+
		`< $1 on conflict do nothing`, below)
	s.exec(`insert into recompute_company values ($1) on conflict do nothing`, s.company)
}

// A stranger keeps a company's queue full. What its merchant has asked for is done all the same,
// once the queue has gone round: then all orders that waited before are computed.
func TestAFullQueueHoldsUpNeitherAStatementNorAnErasure(t *testing.T) {
	t.Parallel()
	s := newLedgerShop(t)
	o := s.owner()
	var orders []record
	for i := range 30 {
		r := s.record(s.order(fmt.Sprintf("o%02d", i), noon.Add(-time.Duration(i)*time.Minute), 1000, func(o *wire.Order) {
			coupon("ANA10")(o)
			if i == 20 {
				o.EmailKey = wire.Some("k1:mail")
			}
		}))
		r.Offset = o.next[r.topic] + int64(i)
		orders = append(orders, r)
	}
	if err := o.applyRecords(s.ctx, orders); err != nil {
		t.Fatal(err)
	}
	s.exec(`update cost set var_fee = 20 where influencer_id = $1`, s.ana)
	s.bump()
	s.ask(s.ana, "BRL", "2027-12-31", 0)
	s.shop.ask(time.Now(), facts.Key{Kind: facts.KeyEmail, Value: "k1:mail"})
	o = s.owner()
	s.queueAgain("o99") // all are to be computed by the new cost
	want := s.int(`select sum(total_minor)::bigint * 20 / 100 + 30 * 100 from payout`)
	for turn := 0; s.int(`select count(*) from statement where closed_at is null`)+s.int(
		`select count(*) from erasure where done_at is null`) > 0; turn++ {
		if turn == 500 {
			t.Fatalf("after %d turns: %v, %v", turn, s.texts(`select coalesce(closed_at::text, 'open') from statement`),
				s.texts(`select phase::text from erasure`))
		}
		o.chunkLimit, o.queueTurns = 10, []string{s.company}
		if err := o.recomputeQueued(s.ctx); err != nil {
			t.Fatal(err)
		}
		s.queueAgain("o10") // a stranger's, again and again
	}
	if n := s.int(`select total_minor from statement`); n != want {
		t.Errorf("the statement has %d, want %d: all orders that waited when it was asked for are computed", n, want)
	}
	wantTexts(t, "the person", s.found("k1:mail"))
}

// An order that cannot be stored is quarantined itself, and not the first one of the queue.
func TestTheQueuedOrderThatFailsIsQuarantined(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	o := s.owner()
	var orders []record
	for i := range 30 {
		r := s.record(s.order(fmt.Sprintf("o%02d", i), noon, 1000, nil))
		r.Offset = int64(i)
		orders = append(orders, r)
	}
	if err := o.applyRecords(s.ctx, orders); err != nil {
		t.Fatal(err)
	}
	s.exec(`update payout set outcome_hash = ''`)
	s.exec(`alter table payout add constraint no_twenty check (order_id <> 'o20') not valid`)
	s.queueAgain("o99")
	for range 60 {
		o.queueTurns = []string{s.company}
		o.chunkLimit = min(o.chunkLimit, 10)
		if err := o.recomputeQueued(s.ctx); err != nil {
			t.Fatal(err)
		}
		s.queueAgain("o05") // a stranger's, again and again
	}
	wantTexts(t, "quarantined", s.texts(`select order_id from recompute where failure is not null`), "o20")
}

// A batch's own orders end with their turn too: the next ones of another store are not kept
// waiting by a store whose orders are dear.
func TestNewOrdersThatTakeTooLongAreQueued(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	o := s.owner()
	began := time.Now()
	looks := 0
	o.Now = func() time.Time { // each look at the clock takes a tenth of a second
		looks++
		return began.Add(time.Duration(looks) * 100 * time.Millisecond)
	}
	var orders []record
	for i := range 50 {
		r := s.record(s.order(fmt.Sprintf("o%02d", i), noon, 1000, nil))
		r.Offset = int64(i)
		orders = append(orders, r)
	}
	if err := o.applyRecords(s.ctx, orders); err != nil {
		t.Fatal(err)
	}
	if n := s.int(`select count(*) from payout`); n == 0 || n > 10 {
		t.Errorf("%d orders were computed with their batch, want those of half a second", n)
	}
	if n := s.int(`select count(*) from recompute`); n < 40 || !o.queued {
		t.Errorf("%d orders are queued: %t", n, o.queued)
	}
	o.Now = time.Now
	s.workOffBy(o)
	if n := s.int(`select count(*) from payout`); n != 50 {
		t.Errorf("%d orders were computed in the end", n)
	}
}

// A preview looks at the time after each order.
func TestAPreviewEndsInTimeHoweverDearAnOrderIs(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	_, inverno := s.influencer("Ana Prado", "Inverno")
	var orders []record
	for i := range 30 {
		orders = append(orders,
			s.record(s.order(fmt.Sprintf("o%02d", i), noon.Add(time.Duration(i)*time.Minute), 1000, func(o *wire.Order) {
				o.DiscountCode = wire.Some("ANA10")
			})))
	}
	s.apply(orders, func() int { return 500 })
	rules, author := merchant.New(s.db), commerce.Author{CompanyID: s.company, Actor: "test", At: time.Now()}
	for name, change := range map[string]preview.Change{
		"a coupon": func(ctx context.Context) error {
			_, err := rules.AddCoupon(ctx, author, inverno, commerce.CouponTerms{Code: "ANA10"}, seeded(1))
			return err
		},
		"hosts, by which each order is read twice": func(ctx context.Context) error {
			_, _, err := rules.ChangeSettings(ctx, commerce.SettingsChange{CompanyID: s.company, Actor: "cli", Change: func(c *commerce.Settings) {
				c.Hosts = []string{"loja.example.com"}
			}})
			return err
		},
	} {
		now := noon
		limits := preview.Limits{Time: 5 * time.Second, Now: func() time.Time { now = now.Add(100 * time.Millisecond); return now }}
		a, err := s.previewer(limits).Preview(s.ctx, s.company, change)
		if err != nil {
			t.Fatal(err)
		}
		if a.Orders.Computed == 0 || a.Orders.Computed > 25 || a.Orders.Computed+a.Orders.LeftOut != 30 || a.Cut != preview.CutTime {
			t.Errorf("%s: %+v, cut by %q", name, a.Orders, a.Cut)
		}
		if took := now.Sub(noon); took > 6*time.Second {
			t.Errorf("%s: it ended after %s", name, took)
		}
	}
}
