package processor

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres/replay"
	"github.com/tributary-io/tributary/internal/wire"
)

// outcomes is all that must never depend on how the facts arrived: credits,
// payouts, net ledger, explanations, current orders, observations.
func (s *shop) outcomes() string {
	var b strings.Builder
	explanations := s.explanations()
	for _, id := range slices.Sorted(maps.Keys(explanations)) {
		text, err := json.Marshal(explanations[id])
		if err != nil {
			s.t.Fatal(err)
		}
		b.Write(append(text, '\n'))
	}
	for _, query := range []string{
		`select credit::text from credit order by 1`,
		`select concat_ws(' ', order_id, day, status, currency, total_minor, state, reason, proof, payable_on, influencer_id, campaign_id, ` +
			`evidence, base_minor, commission_minor, fixed_brl_minor) from payout order by 1`,
		`select concat_ws(' ', order_id, influencer_id, campaign_id, cost_id, currency, payable_on, sum(amount_minor)) from ledger_entry
			group by order_id, influencer_id, campaign_id, cost_id, currency, payable_on having sum(amount_minor) <> 0 order by 1`,
		`select concat_ws(' ', order_id, is_first_order, o.day, approved_since, body) from orders o left join payout using (company_id, ` +
			`order_id) order by 1`,
		`select concat_ws(' ', kind, encode(key, 'hex'), encode(visitor, 'hex'), slot, first_ms, last_ms) from observation order by 1`,
		`select concat_ws(' ', event_id, at, class, name, encode(visitor, 'hex'), sources) from event_fact order by 1`,
		`select concat_ws(' ', product_id, name, updated_at) from product order by 1`,
		`select concat_ws(' ', variant_id, product_id, sku) from product_variant order by 1`,
		`select concat_ws(' ', order_id, body) from order_personal order by 1`,
		`select concat_ws(' ', order_id, influencer_id, rev, decision, accepted_at, actor, confirmed_by) from evidence_decision order by 1`,
		`select row(day, currency, influencer_id, campaign_id, coupon_id, orders, sales_minor, new_customers, returning_orders, commission_minor,
			pending_orders, review_orders)::text
			from sale_day where orders + pending_orders + cancelled_orders + abs(commission_minor) <> 0 order by 1`,
		`select concat_ws(' ', day, currency, path, orders, sales_minor) from path_day where orders <> 0 order by 1`,
	} {
		for _, line := range s.texts(query) {
			b.WriteString(line + "\n")
		}
		b.WriteString("--\n")
	}
	for _, e := range s.events() {
		fmt.Fprintf(&b, "%s %s %x\n", e.EventID, e.ReceivedAt, e.Digest())
	}
	return b.String()
}

// unbalanced names the orders whose ledger is not what their payout says: on each day
// the entries' sum is what may be paid by then, and nothing is posted for an order that
// earns nothing.
func (s *shop) unbalanced() []string {
	return s.texts(`
		with posted as (
			select order_id, currency, payable_on, sum(amount_minor) as amount from ledger_entry group by order_id, currency, payable_on
			having sum(amount_minor) <> 0
		), owed as (
			select p.order_id, m.currency, p.payable_on, sum(m.amount) as amount from payout p join orders o using (company_id, order_id)
			cross join lateral (values (o.currency, p.commission_minor), ('BRL', p.fixed_brl_minor)) m (currency, amount)
			where p.state = 'earned' group by p.order_id, m.currency, p.payable_on having sum(m.amount) <> 0
		)
		select order_id || ': ' || coalesce(posted.amount, 0) || ' posted, ' || coalesce(owed.amount, 0) || ' owed on ' || payable_on
		from posted full join owed using (order_id, currency, payable_on) where posted.amount is distinct from owed.amount`)
}

// wrongSums names the tables of sums by day that differ from what the outcomes sum to.
func (s *shop) wrongSums() []replay.DifferentSums {
	s.t.Helper()
	var wrong []replay.DifferentSums
	if err := replay.InSnapshot(s.ctx, s.db, func(snapshot *replay.Snapshot) (err error) {
		wrong, err = snapshot.CheckSums(s.ctx)
		return err
	}); err != nil {
		s.t.Fatal(err)
	}
	return wrong
}

// clear forgets all facts and what is derived from them, but not the rules.
func (s *shop) clear() {
	s.empty("recompute_company", "recompute_span", "event_fact", "observation", "order_version", "order_personal", "orders", "order_key",
		"product", "product_variant", "payout", "ledger_entry", "recompute", "delivery", "consumer_offset", "evidence_decision", "sale_day",
		"credit_day", "product_day", "path_day", "product_month", "path_month", "journey_month", "traffic_month", "shopper_day",
		"traffic_day", "click_day", "nonconverting_day", "nonconverting_count", "delivery_source", "delivery_seen", "delivery_day", "stream",
		"refused_origin")
}

// empty removes all rows of tables. A truncate makes new files of each table and index: of few rows it takes far longer.
func (s *shop) empty(tables ...string) {
	s.exec("delete from " + strings.Join(tables, "; delete from "))
}

// apply gives records to an owner in batches of the given sizes, as Kafka would. Each batch
// waits while the one before is applied.
func (s *shop) apply(records []record, batches func() int) {
	s.t.Helper()
	o := s.owner()
	s.offer(o, numbered(records), batches, func() {})
	for s.int(`select count(*) from recompute`) > 0 {
		s.t.Fatal("so few orders must not be queued")
	}
}

// offer gives records to an owner and applies them. between is called before each batch that
// was prepared is applied.
func (s *shop) offer(o *owner, records []record, batches func() int, between func()) {
	s.t.Helper()
	o.commerce, o.events = make(chan *record, len(records)), make(chan *record, len(records))
	offer := func() {
		n := min(batches(), len(records))
		for i := range records[:n] {
			map[string]chan *record{wire.TopicCommerce: o.commerce, wire.TopicEvents: o.events}[records[i].topic] <- &records[i]
		}
		records = records[n:]
	}
	left := len(records)
	offer()
	for left > 0 {
		batch, err := o.collect(s.ctx)
		if err != nil {
			s.t.Fatal(err)
		}
		if o.grouped != nil {
			between()
		}
		offer()
		if err := o.applyRecords(s.ctx, batch); err != nil {
			s.t.Fatal(err)
		}
		left -= len(batch)
	}
	o.takePrepared()
}

// numbered gives records the offsets that a new log would.
func numbered(records []record) []record {
	offsets := map[string]int64{}
	for i := range records {
		records[i].Offset = offsets[records[i].topic]
		offsets[records[i].topic]++
	}
	return records
}

func (s *shop) record(value any) record {
	topic := wire.TopicCommerce
	switch value.(type) {
	case wire.Event, wire.Notice:
		topic = wire.TopicEvents
	}
	text, err := json.Marshal(value)
	if err != nil {
		s.t.Fatal(err)
	}
	return record{topic: topic, Fetched: wire.Fetched{Record: wire.Record{Key: []byte(s.company), Value: text}}}
}

// randomFacts are a small shop's: few visitors, keys and orders, so that they
// meet; events near the edges of sessions, windows and the day after an order.
func (s *shop) randomFacts(r *rand.Rand) []record {
	var records []record
	visitor := func() string { return fmt.Sprint("v", r.IntN(6)) } // visitorID makes an id of it
	key := func(kind string, n int) string { return fmt.Sprintf("k1:%s:%d", kind, r.IntN(n)) }
	moment := func() time.Time {
		near := []time.Duration{0, 29 * time.Minute, 31 * time.Minute, 24 * time.Hour, 25 * time.Hour, 29 * 24 * time.Hour, 31 * 24 * time.Hour}
		return noon.Add(near[r.IntN(len(near))]).Add(time.Duration(r.IntN(4*60)) * time.Minute)
	}
	var ids []string
	for n := range 60 {
		e := s.event(visitor(), moment(), n, func(e *wire.Event) {
			e.NetKey = fmt.Sprint("net", r.IntN(3))
			switch r.IntN(10) {
			case 6:
				e.Trust, e.Identity.Verified, e.Identity.EmailKey = wire.TrustKey, r.IntN(2) == 0, key("email", 5)
				landing("Ana+Prado", "Inverno")(e)
			case 7: // a backend's, without a visitor
				e.Trust, e.VisitorID, e.Identity.CustomerKey = wire.TrustImport, "", key("customer", 5)
				landing("beto+lima", "x")(e)
			case 8:
				e.ReceivedAt = e.ReceivedAt.Add(time.Duration(r.IntN(10)) * 24 * time.Hour)
				e.Identity.CartNoKey = key("cart", 8)
			case 9:
				e.Frame, e.Event = r.IntN(2) == 0, []string{"PAGE_VIEW", "INITIATE_CHECKOUT"}[r.IntN(2)]
				landing("beto+lima", "x")(e)
			case 0:
				landing([]string{"Ana+Prado", "beto+lima", "Nobody"}[r.IntN(3)], []string{"Inverno", "x"}[r.IntN(2)])(e)
			case 1:
				e.Context.Page.Referrer = "https://www.google.com/"
			case 2:
				e.Identity.CartKey = key("cart", 8)
			case 3:
				e.Identity.EmailKey, e.Identity.CustomerKey = key("email", 5), key("customer", 5)
			case 4:
				e.CookieID = visitorID(visitor())
			case 5:
				e.Bot = []wire.Bot{wire.BotNone, wire.BotKnown}[r.IntN(2)]
			}
		})
		records, ids = append(records, s.record(e)), append(ids, e.EventID)
		if r.IntN(4) == 0 { // another copy, later or earlier, with another clock, visitor or key
			e.ReceivedAt = e.ReceivedAt.Add(time.Duration(r.IntN(3)-1) * time.Minute)
			e.ClockSkewMs = int64(r.IntN(3)) * 7_200_000
			e.Trust = []wire.Trust{wire.TrustOpen, wire.TrustKey, wire.TrustImport}[r.IntN(3)]
			if r.IntN(2) == 0 {
				e.VisitorID, e.Identity.CartKey = visitorID(visitor()), key("cart", 8)
			}
			records = append(records, s.record(e))
		}
	}
	for n := range 24 {
		id := fmt.Sprint("o", r.IntN(12))
		c := s.order(id, moment().Add(time.Duration(n)*time.Second), int64(r.IntN(50000)), func(o *wire.Order) {
			o.Status = []int{0, 0, 0, 1, 2}[r.IntN(5)]
			if r.IntN(2) == 0 {
				o.CartKey = wire.Some(key("cart", 8))
			}
			if r.IntN(2) == 0 {
				o.EmailKey = wire.Some(key("email", 5))
			}
			if r.IntN(5) == 0 {
				o.EmailKey = wire.Null[string]()
			}
			if r.IntN(2) == 0 {
				o.NetKey = wire.Some(fmt.Sprint("net", r.IntN(3)))
			}
			if r.IntN(4) == 0 {
				o.CustomerKey, o.CartNoKey = wire.Some(key("customer", 5)), wire.Some(key("cart", 8))
			}
			if r.IntN(4) == 0 {
				o.DeliveredAt = wire.Some(moment())
			}
			if r.IntN(3) == 0 {
				o.VisitorID, o.UserIDMAC = wire.Some(visitorID(visitor())), []wire.UserIDMAC{wire.MACNone, wire.MACValid, wire.MACInvalid}[r.IntN(3)]
			}
			if r.IntN(3) == 0 {
				o.DiscountCode = wire.Some([]string{"ANA10", "x, beto", "other"}[r.IntN(3)])
			}
			if r.IntN(3) == 0 {
				o.UpdatedAt = wire.Optional[time.Time]{}
			}
			switch r.IntN(4) {
			case 0:
				o.Items = wire.Some([]wire.Item{{ProductID: "p1", VariantID: "v", Quantity: 2, Price: "10.005", Discount: "0.01"},
					{ProductID: "p1", Quantity: 1}, {ItemID: "x", Quantity: int64(r.IntN(3)), Price: "1"}})
			case 1:
				o.Items = wire.Some([]wire.Item{{VariantID: "v", Quantity: 1, Price: "3"}, {Quantity: 9}})
			case 2:
				o.Items = wire.Null[[]wire.Item]()
			}
			if r.IntN(4) == 0 {
				o.Currency = "USD"
			}
			if r.IntN(8) == 0 {
				o.TotalMinor = 0
			}
			if s.newFields {
				extend(o, r)
			}
		})
		records = append(records, s.record(c))
	}
	for n := range 20 {
		id := fmt.Sprint("o", r.IntN(12))
		c := s.commerce(wire.KindEvidence, id, noon.Add(time.Duration(n)*12*time.Hour), wire.Evidence{
			OrderID: id, InfluencerID: s.influencers[r.IntN(len(s.influencers))],
			Decision: append(commerce.EvidenceDecisions, commerce.DisputeDecisions...)[r.IntN(6)],
			Touches:  []string{ids[r.IntN(60)], ids[r.IntN(60)], ids[r.IntN(60)]}, ConfirmedBy: []string{"", "user/second"}[r.IntN(2)]})
		c.Rev = s.rev + int64(n)
		records = append(records, s.record(c))
	}
	for n := range 8 { // of one updatedAt, sometimes of one acceptedAt, sharing a variant
		id := fmt.Sprint("p", r.IntN(2))
		product := wire.Product{ProductID: id, Name: fmt.Sprint("name ", n), UpdatedAt: "2026-03-10T12:00:00Z",
			Variants: []wire.Variant{{VariantID: "v"}, {VariantID: id + "v", SKU: fmt.Sprint(9 - n)}}}
		records = append(records, s.record(s.commerce(wire.KindProduct, id, noon.Add(time.Duration(r.IntN(3))*time.Second), product)))
	}
	for n := range 6 { // versions of one order and copies of one event that differ by less than Postgres's microsecond
		c := s.order("same", noon, 1000, func(o *wire.Order) {
			o.UpdatedAt = wire.Some(noon.Add(time.Duration(n) * 100 * time.Nanosecond))
			o.Personal = json.RawMessage(fmt.Sprintf(`{"userAgent":"%d","cartToken":"%d"}`, r.IntN(9), 9-n))
		})
		c.AcceptedAt = noon.Add(time.Duration(r.IntN(2)) * time.Second)
		records = append(records, s.record(c))
		records = append(records, s.record(s.event("v1", noon, 999, func(e *wire.Event) {
			e.ReceivedAt = noon.Add(time.Duration(r.IntN(9)) * 100 * time.Nanosecond)
			e.Context.Page.Title = fmt.Sprint(n)
		})))
	}
	return records
}

// extend gives an order fields that earlier versions of the schema do not know.
func extend(o *wire.Order, r *rand.Rand) {
	if r.IntN(5) == 0 {
		o.Test = []wire.Optional[bool]{wire.Some(true), wire.Some(false), wire.Null[bool]()}[r.IntN(3)]
	}
	if r.IntN(5) == 0 {
		o.NoCommission = wire.Some(r.IntN(2) == 0)
	}
	if r.IntN(3) == 0 {
		o.TaxMinor = wire.Some(o.TotalMinor / int64(2+r.IntN(5)))
	}
	if r.IntN(3) == 0 {
		o.DiscountCodes = wire.Some([]wire.DiscountCode{{Code: "other"}, {Code: "beto", AmountMinor: wire.Some(int64(r.IntN(3)))},
			{Code: "ANA10", AmountMinor: wire.Some(int64(r.IntN(3)))}}[:r.IntN(4)])
	}
	if r.IntN(6) == 0 {
		o.Refunds = wire.Some([]wire.Refund{{ID: "r", AmountMinor: int64(r.IntN(900)), CreatedAt: "2026-03-11T00:00:00Z"}})
	}
}

// crowdedFacts meet at the hub limits: keys of about 20 visitors, visitors of
// about 20 identities, on days near the edges of windows, and copies of events
// that take an identity back.
func (s *shop) crowdedFacts(r *rand.Rand) []record {
	var records []record
	day := func() time.Time {
		return noon.AddDate(0, 0, []int{-31, -30, -29, -1, 0, 1, 2}[r.IntN(7)]).Add(time.Duration(r.IntN(24*60)) * time.Minute)
	}
	for n := range 46 { // one key, as many visitors
		e := s.event(fmt.Sprint("v", n%23), day(), n, func(e *wire.Event) {
			landing("Ana+Prado", "Inverno")(e)
			e.Identity.EmailKey = "k1:crowd"
		})
		records = append(records, s.record(e))
		if n%3 == 0 {
			e.ReceivedAt, e.Identity.EmailKey = e.ReceivedAt.Add(-time.Second), ""
			records = append(records, s.record(e))
		}
	}
	for n := range 46 { // one visitor, as many identities
		e := s.event("shared", day(), 100+n, func(e *wire.Event) {
			landing("beto+lima", "x")(e)
			e.Identity.CustomerKey = fmt.Sprint("k1:customer:", n%23)
		})
		records = append(records, s.record(e))
		if n%3 == 0 {
			e.ReceivedAt, e.VisitorID = e.ReceivedAt.Add(-time.Second), visitorID(fmt.Sprint("v", n%23))
			records = append(records, s.record(e))
		}
	}
	for n := range 16 {
		records = append(records, s.record(s.order(fmt.Sprint("o", n), day(), int64(1000+n), func(o *wire.Order) {
			if r.IntN(2) == 0 {
				o.EmailKey = wire.Some("k1:crowd")
			}
			if r.IntN(2) == 0 {
				o.CustomerKey = wire.Some(fmt.Sprint("k1:customer:", r.IntN(23)))
			}
			if n == 0 || r.IntN(4) == 0 {
				o.DiscountCode = wire.Some("ANA10")
			}
		})))
	}
	return records
}

func TestCreditsDependOnTheSetOfFactsAlone(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ana, inverno := s.influencer("Ana Prado", "Inverno")
	beto, verao := s.influencer("Beto Lima", "Verão")
	s.coupon(ana, inverno, "ANA10")
	s.coupon(beto, verao, "BETO")
	s.cost(ana, inverno, 100, "7.5")
	s.cost(beto, "", 0, "3")
	s.exec(`update company set commission_without_tax = true where company_id = $1`, s.company)
	for seed := range seeds(2, 12) {
		r := rand.New(rand.NewPCG(seed, 7))
		facts := s.historyOf(r, seed)
		s.clear()
		s.apply(slices.Clone(facts), func() int { return len(facts) })
		want := s.outcomes()
		if wrong := s.unbalanced(); len(wrong) > 0 {
			t.Fatalf("seed %d: %v", seed, wrong)
		}
		for n := range seeds(2, 4) {
			again := slices.Clone(facts)
			for range 20 {
				again = append(again, facts[r.IntN(len(facts))])
			}
			r.Shuffle(len(again), func(i, j int) { again[i], again[j] = again[j], again[i] })
			s.clear()
			if n%2 == 0 {
				s.apply(again, func() int { return 1 + r.IntN(12) })
			} else {
				s.applyBehind(again, func() int { return 1 + r.IntN(12) }, r)
			}
			if got := s.outcomes(); got != want {
				t.Fatalf("seed %d: %s", seed, firstDifference(got, want))
			}
			if wrong := s.unbalanced(); len(wrong) > 0 {
				t.Fatalf("seed %d: %v", seed, wrong)
			}
			if wrong := s.wrongSums(); len(wrong) > 0 {
				t.Fatalf("seed %d: sums differ: %v", seed, wrong)
			}
		}
		if !strings.Contains(want, "Ana Prado") || s.int(`select count(*) from ledger_entry`) == 0 {
			t.Fatalf("seed %d: nobody earned anything: the test says nothing", seed)
		}
	}
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("line %d\n got %s\nwant %s", i, g[i], w[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(g), len(w))
}
