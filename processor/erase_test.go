package processor

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/packed"
	"github.com/tributary-io/tributary/internal/postgres/replay"
	"github.com/tributary-io/tributary/internal/wire"
)

// ask asks to erase the person whom keys name, as admin does, and applies its record.
func (s *shop) ask(at time.Time, keys ...facts.Key) (id string) {
	s.t.Helper()
	id = s.asks(at, keys...)
	o := s.owner()
	if err := o.applyRecords(s.ctx,
		numbered([]record{s.record(s.commerce(wire.KindErasure, id, at, wire.Erasure{ErasureID: id}))})); err != nil {
		s.t.Fatal(err)
	}
	return id
}

// asks stores what asks to erase a person, before its record is applied.
func (s *shop) asks(at time.Time, keys ...facts.Key) (id string) {
	s.t.Helper()
	s.bump()
	id = uuid.NewString()
	s.exec(`insert into erasure (company_id, erasure_id, rev, asked_at, actor, kinds, salt, phase) values ($1, $2, $3, $4, 'test', `+
		`'email', $5, $6)`,
		s.company, id, s.rev, at, bytes.Repeat([]byte{byte(s.rev)}, 32), facts.EraseWaits)
	for _, k := range keys {
		s.exec(`insert into erasure_key (company_id, erasure_id, kind, key) values ($1, $2, $3, $4)`, s.company, id, k.Kind.Code(), k.Pack())
	}
	return id
}

// erase erases a person, until it is done.
func (s *shop) erase(at time.Time, keys ...facts.Key) {
	s.t.Helper()
	id := s.ask(at, keys...)
	s.workOff()
	if n := s.int(`select count(*) from erasure where erasure_id = $1 and done_at is not null and salt is null`, id); n != 1 {
		s.t.Fatal("the erasure is not done")
	}
}

// found names the columns in which a text is, in any form in which it is stored: every
// column of every table, packed ids and packed records included.
func (s *shop) found(texts ...string) (where []string) {
	s.t.Helper()
	rows, err := s.pool.Query(s.ctx, `
		select c.table_name::text, c.column_name::text from information_schema.columns c
		join information_schema.tables t using (table_schema, table_name)
		where c.table_schema = 'public' and t.table_type = 'BASE TABLE' order by 1, 2`)
	if err != nil {
		s.t.Fatal(err)
	}
	columns, err := pgx.CollectRows(rows, pgx.RowToStructByPos[struct{ Table, Column string }])
	if err != nil || len(columns) < 200 {
		s.t.Fatalf("%d columns, %v", len(columns), err)
	}
	var forms []string
	for _, text := range texts {
		forms = append(forms, text, hex.EncodeToString([]byte(text)), hex.EncodeToString(packed.ID(text)))
	}
	for _, c := range columns {
		table, column := pgx.Identifier{c.Table}.Sanitize(), pgx.Identifier{c.Column}.Sanitize()
		n := s.int(`select count(*) from (select `+column+`::text as text from `+table+`) c where exists (select from unnest($1::text[]) f `+
			`where strpos(c.text, f) > 0)`, forms)
		if n > 0 {
			where = append(where, fmt.Sprintf("%s.%s: %d", c.Table, c.Column, n))
		}
	}
	for _, e := range s.events() {
		for _, text := range texts {
			if bytes.Contains(e.Raw, []byte(text)) {
				where = append(where, "the record of event "+e.EventID+": "+text)
			}
		}
	}
	for _, table := range []string{"orders", "order_version"} {
		rows, err := s.pool.Query(s.ctx, `select body from `+table)
		if err != nil {
			s.t.Fatal(err)
		}
		bodies, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
		if err != nil {
			s.t.Fatal(err)
		}
		for _, body := range bodies {
			text, err := packed.Order(body)
			if err != nil {
				s.t.Fatal(err)
			}
			if slices.ContainsFunc(texts, func(t string) bool { return bytes.Contains(text, []byte(t)) }) {
				where = append(where, "a body of "+table)
			}
		}
	}
	for id, x := range s.explanations() {
		if text := fmt.Sprintf("%+v", x); slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(text, t) }) {
			where = append(where, "the explanation of order "+id)
		}
	}
	return where
}

// kept is all that an erasure must not change: credits, payouts, net amounts, explanations,
// which orders are first, and sums by day.
func (s *shop) kept() string {
	parts := strings.Split(s.outcomes(), "--\n")
	firsts := strings.Join(s.texts(`select concat_ws(' ', order_id, is_first_order, o.day, approved_since, o.total_minor, o.status) from `+
		`orders o left join payout using (company_id, order_id) order by 1`), "\n")
	traffic := strings.Join(s.texts(`select row(t.*)::text from traffic_day t order by 1`), "\n")
	return strings.Join(slices.Concat(parts[:3], parts[10:12], []string{firsts, traffic}), "--\n")
}

// TestAnErasureChangesNoOutcome erases persons of random histories, one after the other.
// Nothing of them is left, and no credit, commission, first order or sum changes, nor in a
// replay.
func TestAnErasureChangesNoOutcome(t *testing.T) {
	t.Parallel()
	s := replayShop(t)
	histories := seeds(2, 8)
	gone := 0
	for seed := range histories {
		r := rand.New(rand.NewPCG(seed, 17))
		s.clearAll()
		s.bump()
		s.rev = 1000
		history := s.historyOf(r, seed)
		s.apply(slices.Clone(history), func() int { return 9 })
		want, events := s.kept(), s.int(`select count(*) from event_fact`)
		customer := "k1:customer:2"
		if seed%2 == 1 {
			customer = "k1:customer:7" // no other customer of theirs begins with it
		}
		asked := noon.AddDate(0, 2, 0)
		for _, keys := range [][]facts.Key{
			{{Kind: facts.KeyEmail, Value: "k1:email:1"}},
			{{Kind: facts.KeyCustomer, Value: customer}, {Kind: facts.KeyEmail, Value: "k1:email:3"}},
			{{Kind: facts.KeyVisitor, Value: visitorID("v3")}, {Kind: facts.KeyCookie, Value: visitorID("v3")},
				{Kind: facts.KeyUser, Value: visitorID("v3")}},
			{{Kind: facts.KeyEmail, Value: "k1:crowd"}},
		} {
			s.erase(asked, keys...)
			var names []string
			for _, k := range keys {
				names = append(names, k.Value)
			}
			if left := s.found(names...); len(left) > 0 {
				t.Fatalf("seed %d: %v is left: %v", seed, names, left)
			}
			if got := s.kept(); got != want {
				t.Fatalf("seed %d, %v: %s", seed, names, firstDifference(got, want))
			}
			if wrong := s.wrongSums(); len(wrong) > 0 {
				t.Fatalf("seed %d: sums differ: %v", seed, wrong)
			}
		}
		found, err := s.replay(s.ctx, replay.Options{})
		if err != nil || !found.Equal() {
			t.Fatalf("seed %d: a replay differs: %+v, %v", seed, found, err)
		}
		gone += int(events - s.int(`select count(*) from event_fact`))
		// All comes again, as after offsets were taken back: nobody comes back.
		s.apply(slices.Clone(history), func() int { return 11 })
		if left := s.found("k1:email:1", customer, "k1:email:3", visitorID("v3"), "k1:crowd"); len(left) > 0 {
			t.Fatalf("seed %d: came back: %v", seed, left)
		}
		if got := s.kept(); got != want {
			t.Fatalf("seed %d, read again: %s", seed, firstDifference(got, want))
		}
	}
	if gone < 10*int(histories) {
		t.Errorf("%d events were removed: the test says nothing", gone)
	}
}

// personShop is a shop with one earned sale of a person, and a neighbour's in the same
// browser.
func personShop(t *testing.T) *shop {
	s := newShop(t)
	ana, inverno := s.influencer("Ana Prado", "Inverno")
	s.influencer("Beto Lima", "Verão")
	s.cost(ana, inverno, 0, "10")
	s.apply([]record{
		s.record(s.event("v1", noon, 1, func(e *wire.Event) {
			landing("Ana+Prado", "Inverno")(e)
			e.Identity.EmailKey = "k1:me"
		})),
		s.record(s.order("mine", noon.Add(time.Hour), 10_000, func(o *wire.Order) {
			o.EmailKey, o.PhoneKey, o.VisitorID = wire.Some("k1:me"), wire.Some("k1:home"), wire.Some(visitorID("v1"))
		})),
		s.record(s.order("neighbours", noon.Add(2*time.Hour), 5_000, func(o *wire.Order) {
			o.EmailKey, o.PhoneKey, o.VisitorID = wire.Some("k1:you"), wire.Some("k1:home"), wire.Some(visitorID("v1"))
		})),
	}, func() int { return 3 })
	wantTexts(t, "payouts", s.payouts(), "mine Ana Prado link 1000", "neighbours Ana Prado link 500")
	return s
}

// TestNobodyUndoesAnErasureOrEarnsByIt: what strangers, the shop's own platform and another
// influencer send after an erasure brings the person not back, and moves no money.
func TestNobodyUndoesAnErasureOrEarnsByIt(t *testing.T) {
	t.Parallel()
	s := personShop(t)
	s.erase(noon.AddDate(0, 0, 1), facts.Key{Kind: facts.KeyEmail, Value: "k1:me"})
	if left := s.found("k1:me", visitorID("v1")); !slices.Equal(left, []string{"order_key.key: 1", "a body of orders"}) {
		t.Errorf("left: %v; want the neighbour's order alone", left) // whose browser it is, too
	}
	var attack []record
	for i, at := range []time.Time{noon.Add(30 * time.Minute), noon.Add(59 * time.Minute), noon.AddDate(0, 0, 2)} {
		for j, visitor := range []string{"v1", "stranger"} {
			attack = append(attack, s.record(s.event(visitor, at, 50+10*i+j, func(e *wire.Event) {
				landing("beto+lima", "Verão")(e)
				e.Identity.EmailKey, e.Trust = "k1:me", []wire.Trust{wire.TrustOpen, wire.TrustImport}[j]
			})))
		}
	}
	attack = append(attack, s.record(s.order("mine", noon.Add(time.Hour), 10_000, func(o *wire.Order) { // the platform sends it again
		o.EmailKey, o.PhoneKey, o.VisitorID, o.UpdatedAt = wire.Some("k1:me"), wire.Some("k1:home"), wire.Some(visitorID("v1")),
			wire.Some(noon.Add(90*time.Minute))
		o.CustomerKey, o.Personal = wire.Some("k1:number"), []byte(`{"customer":{"email":"me@example.com"}}`)
	})))
	s.apply(attack, func() int { return 2 })
	wantTexts(t, "payouts", s.payouts(), "mine Ana Prado link 1000", "neighbours Ana Prado link 500")
	if n := s.int(`select count(*) from ledger_entry`); n != 2 {
		t.Errorf("%d entries of the ledger, want 2", n)
	}
	if n := s.int(`select count(*) from event_fact where at <= $1`, noon.AddDate(0, 0, 1)); n != 0 {
		t.Errorf("%d events from before the erasure were stored", n)
	}
	if left := s.found("k1:number", "me@example.com"); len(left) > 0 {
		t.Errorf("came back with the order: %v", left)
	}
	if n := s.int(`select count(*) from orders where order_id = 'mine' and body::text like '%k1:me%'`); n != 0 {
		t.Error("the order has the person's key again")
	}
	if found, err := s.replay(s.ctx, replay.Options{}); err != nil || !found.Equal() {
		t.Errorf("%+v, %v", found, err)
	}
}

// TestKeysThatOnlyAnErasedOrderHasGoWithIt: a person is erased by the e-mail. Her order also has
// a phone that no other order has: what was seen with it goes too. A phone that a neighbour's
// order has as well is not hers alone and stays with the neighbour.
func TestKeysThatOnlyAnErasedOrderHasGoWithIt(t *testing.T) {
	t.Parallel()
	s := personShop(t)
	s.apply([]record{
		s.record(s.event("hers", noon.Add(3*time.Hour), 2, func(e *wire.Event) { e.Identity.PhoneKey = "k1:alone" })),
		s.record(s.event("shared", noon.Add(3*time.Hour), 3, func(e *wire.Event) { e.Identity.PhoneKey = "k1:home" })),
		s.record(s.order("second", noon.Add(4*time.Hour), 10_000, func(o *wire.Order) {
			o.EmailKey, o.PhoneKey = wire.Some("k1:me"), wire.Some("k1:alone")
		})),
	}, func() int { return 1 })
	if left := s.found("k1:alone"); !slices.Contains(left, "observation.key: 1") {
		t.Fatalf("nobody was seen with the phone before the erasure: the test says nothing: %v", left)
	}
	s.erase(noon.AddDate(0, 0, 1), facts.Key{Kind: facts.KeyEmail, Value: "k1:me"})
	if left := s.found("k1:me", "k1:alone"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if left := s.found("k1:home"); len(left) == 0 {
		t.Error("the neighbour's phone is gone")
	}
}

// TestAnObservationWithoutEventsGoesWithItsCookie: a browser of many persons keeps its other observations,
// and loses that with the person's cookie, also of a day whose events are gone already.
func TestAnObservationWithoutEventsGoesWithItsCookie(t *testing.T) {
	t.Parallel()
	s := personShop(t)
	cookie := visitorID("cookie")
	s.apply([]record{
		s.record(s.event("kiosk", noon, 2, func(e *wire.Event) {
			e.VisitorID, e.CookieID, e.Identity.PhoneKey = "kiosk-1", cookie, "k1:other" // an id that may be guessed
		})),
	}, func() int { return 1 })
	s.exec(`delete from event_fact where visitor = $1`, packed.ID("kiosk-1"))
	if n := s.int(`select count(*) from observation where visitor = $1 and kind = $2`, packed.ID("kiosk-1"), facts.KeyCookie.Code()); n != 1 {
		t.Fatalf("%d observations with the cookie: the test says nothing", n)
	}
	s.erase(noon.AddDate(0, 0, 2), facts.Key{Kind: facts.KeyCookie, Value: cookie})
	if left := s.found(cookie); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if left := s.found("k1:other"); !slices.Equal(left, []string{"observation.key: 1"}) {
		t.Errorf("of another person %v is left, want the observation", left)
	}
}

// TestAnErasureTakesNoCommission: an order that is pending when its customer is erased
// earns when it is approved, and is reversed when it is cancelled.
func TestAnErasureTakesNoCommission(t *testing.T) {
	t.Parallel()
	s := personShop(t)
	change := func(status int, at time.Time) {
		s.apply([]record{s.record(s.order("mine", noon.Add(time.Hour), 10_000, func(o *wire.Order) {
			o.Status, o.UpdatedAt = status, wire.Some(at)
		}))}, func() int { return 1 })
	}
	change(1, noon.Add(3*time.Hour))
	s.erase(noon.AddDate(0, 0, 1), facts.Key{Kind: facts.KeyEmail, Value: "k1:me"})
	wantTexts(t, "expected", s.texts(`select state from payout where order_id = 'mine'`), "expected")
	change(0, noon.AddDate(0, 0, 2))
	wantTexts(t, "approved", s.texts(`select state || ' ' || commission_minor from payout where order_id = 'mine'`), "earned 1000")
	change(2, noon.AddDate(0, 0, 3))
	wantTexts(t, "cancelled", s.texts(`select sum(amount_minor)::text from ledger_entry where order_id = 'mine'`), "0")
}

// TestAnErasureThatIsKilledGoesOn stops after each transaction in turn: the next owner goes
// on, and meanwhile no outcome has changed.
func TestAnErasureThatIsKilledGoesOn(t *testing.T) {
	t.Parallel()
	s := personShop(t)
	want := s.kept()
	s.ask(noon.AddDate(0, 0, 1), facts.Key{Kind: facts.KeyEmail, Value: "k1:me"})
	steps := 0
	for s.int(`select count(*) from erasure where done_at is null`) > 0 {
		o := s.owner() // another one each time
		rules, err := o.rulesOf(s.ctx, []string{s.company})
		if err != nil {
			t.Fatal(err)
		}
		b := batch{clusterID: o.clusterID, moves: o.moves(nil), now: o.Now().UTC(), companies: []companyBatch{{index: rules[s.company]}}}
		if _, err := o.recompute(s.ctx, b, 200); err != nil {
			t.Fatal(err)
		}
		if got := s.kept(); got != want {
			t.Fatalf("after %d steps: %s", steps, firstDifference(got, want))
		}
		if steps++; steps > 50 {
			t.Fatal("it does not end")
		}
	}
	if _, err := s.replay(s.ctx, replay.Options{}); err != nil || steps < 8 {
		t.Errorf("%d steps, %v", steps, err)
	}
}

// TestAnErasureThatMakesAKeyNoHubAnyMore: an order that came after the erasure was asked for
// is computed without what was removed, also where its key had one visitor too many.
func TestAnErasureThatMakesAKeyNoHubAnyMore(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.influencer("Ana Prado", "Inverno")
	var list []record
	for i := range 21 {
		list = append(list, s.record(s.event(fmt.Sprint("v", i), noon, i, func(e *wire.Event) {
			landing("Ana+Prado", "Inverno")(e)
			if e.Identity.EmailKey = "k1:crowd"; i == 0 {
				e.Identity.CustomerKey = "k1:me"
			}
		})))
	}
	asked := noon.AddDate(0, 0, 1)
	list = append(list, s.record(s.order("later", asked.Add(time.Hour), 10_000, func(o *wire.Order) { o.EmailKey = wire.Some("k1:crowd") })))
	s.apply(list, func() int { return 9 })
	credits := func() int64 { return s.int(`select count(*) from credit where influencer_id is not null`) }
	if n := credits(); n != 0 {
		t.Fatalf("%d credits of a key with 21 visitors", n)
	}
	s.erase(asked, facts.Key{Kind: facts.KeyCustomer, Value: "k1:me"})
	if n := credits(); n != 20 {
		t.Errorf("%d credits, want those of the 20 visitors who are left", n)
	}
	if found, err := s.replay(s.ctx, replay.Options{}); err != nil || !found.Equal() {
		t.Errorf("a replay differs: %d of %d orders, %v", found.Different, found.Orders, err)
	}
}

// TestAnErasureWaitsForTheOrdersBeforeIt: an order that was accepted before an erasure was
// asked for is the person's, also where it is applied when other work is done already.
func TestAnErasureWaitsForTheOrdersBeforeIt(t *testing.T) {
	t.Parallel()
	s := personShop(t)
	asked := noon.AddDate(0, 0, 1)
	last := s.order("last", noon.Add(5*time.Hour), 7_000, func(o *wire.Order) { o.EmailKey = wire.Some("k1:me") })
	id := s.asks(asked, facts.Key{Kind: facts.KeyEmail, Value: "k1:me"})
	s.exec(`insert into recompute_company (company_id) values ($1)`, s.company) // for another reason
	s.workOff()
	erasure := s.commerce(wire.KindErasure, id, asked, wire.Erasure{ErasureID: id})
	if err := s.owner().applyRecords(s.ctx, numbered([]record{s.record(last), s.record(erasure)})); err != nil {
		t.Fatal(err)
	}
	s.workOff()
	if left := s.int(`select count(*) from order_key where order_id = 'last' and kind = $1 and key = $2`, facts.KeyEmail.Code(),
		facts.Key{Kind: facts.KeyEmail, Value: "k1:me"}.Pack()); left != 0 {
		t.Error("the order still names the person")
	}
	if n := s.int(`select orders from erasure where erasure_id = $1 and done_at is not null`, id); n != 2 {
		t.Errorf("%d orders are erased, want 2", n)
	}
}

// TestTheCustomersOfAShopThatLeftAreErased: an erasure of a shop names nobody, and has the orders that came from the shop. What its
// customers bought elsewhere stays, with what only that names; no outcome changes; an order that is not stored yet waits for the next.
func TestTheCustomersOfAShopThatLeftAreErased(t *testing.T) {
	t.Parallel()
	s := personShop(t)
	s.apply([]record{
		s.record(s.order("twice", noon.Add(3*time.Hour), 7_000, func(o *wire.Order) { o.EmailKey = wire.Some("k1:me") })),
		s.record(s.order("elsewhere", noon.Add(4*time.Hour), 7_000, func(o *wire.Order) { o.EmailKey = wire.Some("k1:you") })),
	}, func() int { return 2 })
	want := s.kept()
	id := s.asks(noon.AddDate(0, 0, 1))
	s.exec(`delete from erasure_key`)
	for _, order := range []string{"mine", "twice", "neighbours", "to come"} {
		s.exec(`insert into shop_order (company_id, platform, shop, order_id, created_at, erasure_id) values ($1, 'nuvemshop', '1', $2, $3, $4)`,
			s.company, order, noon, id)
	}
	s.exec(`insert into shop_order (company_id, platform, shop, order_id, created_at) values ($1, 'nuvemshop', '2', 'elsewhere', $2)`,
		s.company, noon)
	o := s.owner()
	asked := s.commerce(wire.KindErasure, id, noon.AddDate(0, 0, 1), wire.Erasure{ErasureID: id})
	if err := o.applyRecords(s.ctx, numbered([]record{s.record(asked)})); err != nil {
		t.Fatal(err)
	}
	s.workOff()
	if left := s.found("k1:me", "k1:home", visitorID("v1")); len(left) > 0 {
		t.Errorf("of the shop's customers %v is left", left)
	}
	wantTexts(t, "erased", s.texts(`select order_id from erased_order order by 1`), "mine", "neighbours", "twice")
	wantTexts(t, "the shop's orders", s.texts(`select order_id || ' ' || (erasure_id is null) from shop_order order by 1`),
		"elsewhere true", "to come true")
	if s.int(`select count(*) from order_key k join orders using (company_id, order_id) where order_id = 'elsewhere'`) == 0 ||
		len(s.found("k1:you")) == 0 {
		t.Error("what a customer bought elsewhere is erased, too")
	}
	if got := s.kept(); got != want {
		t.Error(firstDifference(got, want))
	}
}

// TestTheLastErasureOfAShopLooksAtEventsForAll: of a shop's erasures that wait together, the last removes bots' events of all.
func TestTheLastErasureOfAShopLooksAtEventsForAll(t *testing.T) {
	t.Parallel()
	s := personShop(t)
	s.apply([]record{s.record(s.event("v9", noon, 9, func(e *wire.Event) { e.Bot, e.Identity.EmailKey = wire.BotKnown, "k1:me" }))},
		func() int { return 1 })
	var ids []string
	var asked []record
	for _, order := range []string{"mine", "neighbours"} {
		id := s.asks(noon.AddDate(0, 0, 1))
		s.exec(`update erasure set kinds = 'shop' where erasure_id = $1`, id)
		s.exec(`insert into shop_order (company_id, platform, shop, order_id, created_at, erasure_id) values ($1, 'nuvemshop', '1', $2, $3, $4)`,
			s.company, order, noon, id)
		ids = append(ids, id)
		asked = append(asked, s.record(s.commerce(wire.KindErasure, id, noon.AddDate(0, 0, 1), wire.Erasure{ErasureID: id})))
	}
	o := s.owner()
	if err := o.applyRecords(s.ctx, numbered(asked)); err != nil {
		t.Fatal(err)
	}
	s.workOff()
	if n := s.int(`select count(*) from erasure where done_at is not null`); n != 2 {
		t.Fatalf("%d erasures are done", n)
	}
	if left := s.found("k1:me", "k1:you"); len(left) > 0 {
		t.Errorf("of the shop's customers %v is left", left)
	}
	if n := s.int(`select events from erasure where erasure_id = $1`, ids[1]); n != 1 {
		t.Errorf("the last erasure removed %d events of bots", n)
	}
}
