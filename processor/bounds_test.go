package processor

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/factstore"
	"github.com/tributary-io/tributary/internal/wire"
)

// incompressible is a text of n bytes that no index can make shorter.
func incompressible(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprint(&b, (i*7919+104729)%99991, "-")
	}
	return b.String()[:n]
}

// An order is stored whatever events and other orders contain. It is rejected only
// where one of its own values cannot be stored.
func TestEveryOrderIsStoredWhateverOthersSent(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	hangul := strings.Map(func(r rune) rune { return r + '가' - '!' }, incompressible(674))
	email := func(o *wire.Order) { o.EmailKey = wire.Some("k1:mail") }
	longest := strings.Repeat("𝕏", 255) // as the admin API bounds it: 1,020 bytes
	records := []record{
		s.record(s.event("v1", noon, 1, func(e *wire.Event) {
			e.Context.Page.URL = "https://loja.example.com/?utm_campaign=" + url.QueryEscape(hangul) + "&trb_click=" + url.QueryEscape(hangul+".x")
			e.Identity.EmailKey = "k1:mail"
		})),
		s.record(s.event(incompressible(9000), noon, 2, func(e *wire.Event) {
			e.CookieID, e.Identity.EmailKey, e.Identity.CartKey = incompressible(8000), "k1:mail", incompressible(7000)
		})),
		s.record(s.order("o1", noon.Add(time.Minute), 1000, email)),
		s.record(s.order("o1", noon.Add(time.Minute), 1000, email)), // sent again
		s.record(s.order(longest, noon.Add(time.Minute), 1000, func(o *wire.Order) {
			// U+FDFA is one character that folds to eighteen.
			o.DiscountCode, o.CartKey = wire.Some(strings.Repeat("\ufdfa", 512)+hangul), wire.Some(incompressible(7000))
			email(o)
		})),
	}
	s.apply(records, func() int { return 1 })
	if orders := s.int(`select count(*) from payout`); orders != 2 {
		t.Errorf("%d orders were decided, want both", orders)
	}
	if events := s.int(`select count(*) from event_fact`); events != 2 {
		t.Errorf("%d events stored, want both", events)
	}
	if touches := len(s.explanations()["o1"].Touches); touches != 2 {
		t.Errorf("the order has %d touches, want one of each visitor", touches)
	}
}

// reads counts the rows that a shop's transactions fetch from tables and
// indexes. Its store has one connection, so that the server's counts can be
// asked for on the one that made them.
type reads struct {
	*shop
	pool *pgxpool.Pool
}

func newReads(t *testing.T) *reads {
	t.Helper()
	s := newShop(t)
	db, err := postgres.Open(s.ctx, s.pool.Config().ConnString()+"&pool_max_conns=1")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	s.store = factstore.New(db)
	return &reads{s, db.Pool()}
}

// of is how many rows f makes the server read.
func (r *reads) of(f func()) int64 {
	r.t.Helper()
	before := r.read()
	f()
	return r.read() - before
}

func (r *reads) read() (rows int64) {
	r.t.Helper()
	if _, err := r.pool.Exec(r.ctx, `select pg_stat_force_next_flush()`); err != nil {
		r.t.Fatal(err)
	}
	if err := r.pool.QueryRow(r.ctx, `
		select coalesce(sum(seq_tup_read + idx_tup_fetch), 0) + (select coalesce(sum(idx_tup_read), 0) from pg_stat_user_indexes)
		from pg_stat_user_tables`).Scan(&rows); err != nil {
		r.t.Fatal(err)
	}
	return rows
}

// TestRowsReadForAnEventAreBoundedWhateverWasSent sends the worst shapes that anybody
// may send, many of each, and counts the rows that one event more of the same
// makes the server read: as many as a few do, whatever was sent before.
func TestRowsReadForAnEventAreBoundedWhateverWasSent(t *testing.T) {
	t.Parallel()
	const many = 3000
	id := func(kind string, n int) string { return fmt.Sprintf("k1:%s:%d", kind, n) }
	for name, send := range map[string]func(s *shop, n int) wire.Event{
		"one visitor, ever new identities": func(s *shop, n int) wire.Event {
			return s.event("v", noon.Add(time.Duration(n)*time.Second), n, func(e *wire.Event) {
				e.Identity = wire.Identity{EmailKey: id("email", n), PhoneKey: id("phone", n), CartKey: id("cart", n), CustomerKey: id("customer", n)}
			})
		},
		"one visitor, ever new identities, on as many days": func(s *shop, n int) wire.Event {
			return s.event("v", noon.Add(time.Duration(n%30)*-24*time.Hour), n, func(e *wire.Event) { e.Identity.EmailKey = id("email", n) })
		},
		"one visitor, ever new cookies": func(s *shop, n int) wire.Event {
			return s.event("v", noon.Add(time.Duration(n)*time.Second), n, func(e *wire.Event) { e.CookieID = fmt.Sprint("cookie", n) })
		},
		"one e-mail, ever new visitors": func(s *shop, n int) wire.Event {
			return s.event(fmt.Sprint("v", n), noon.Add(time.Duration(n)*time.Second), n, func(e *wire.Event) {
				e.Identity.EmailKey = id("email", 0)
			})
		},
		"one e-mail, ever new visitors, long ago": func(s *shop, n int) wire.Event {
			return s.event(fmt.Sprint("v", n), noon.Add(-40*24*time.Hour), n, func(e *wire.Event) { e.Identity.EmailKey = id("email", 0) })
		},
		"the e-mails of all customers, by one visitor": func(s *shop, n int) wire.Event {
			return s.event("v", noon.Add(time.Duration(n)*time.Second), n, func(e *wire.Event) { e.Identity.EmailKey = id("email", n%50) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newReads(t)
			var orders []record
			for i := range 50 { // other customers', whom the events name
				orders = append(orders, s.record(s.order(fmt.Sprint("o", i), noon.Add(time.Hour), 1000, func(o *wire.Order) {
					o.EmailKey, o.CartKey = wire.Some(id("email", i)), wire.Some(id("cart", i))
				})))
			}
			o := s.owner()
			one := func(r record) {
				r.Offset = o.next[r.topic]
				if err := o.applyRecords(s.ctx, []record{r}); err != nil {
					t.Fatal(err)
				}
				s.workOffBy(o)
			}
			batch := func(records []record) {
				for i := range records {
					records[i].Offset = o.next[records[i].topic] + int64(i)
				}
				if err := o.applyRecords(s.ctx, records); err != nil {
					t.Fatal(err)
				}
			}
			batch(orders)
			few := int64(0)
			for n := range 60 { // past every limit of 20
				few = max(few, s.of(func() { one(s.record(send(s.shop, n))) }))
			}
			var rest []record
			for n := 60; n < many; n++ {
				rest = append(rest, s.record(send(s.shop, n)))
			}
			for len(rest) > 0 {
				k := min(len(rest), 500)
				batch(rest[:k])
				rest = rest[k:]
			}
			s.workOffBy(o)
			s.exec(`analyze`)
			one(s.record(send(s.shop, many))) // statistics and caches of the server are new
			most := s.of(func() { one(s.record(send(s.shop, many+1))) })
			// The limits themselves: 21 identities of three kinds and 201 carts a
			// visitor, 21 visitors a key, on up to 33 days, for each of the orders
			// that it reaches; and all of it read by table and by index.
			if limit := max(4*few, 2000); most > limit {
				t.Errorf("after %d events one more reads %d rows, after 60 at most %d", many, most, few)
			}
			t.Logf("one event reads %d rows at most among the first 60, %d after %d", few, most, many)
		})
	}
}

// Events of a visitor are looked for in the months in which they lie.
func TestOnlyTheMonthsOfAVisitorsEventsAreLookedAt(t *testing.T) {
	t.Parallel()
	s := newReads(t)
	var records []record
	for month := range 24 { // other visitors' events
		records = append(records, s.record(s.event("other", noon.AddDate(0, -month, 0), month, nil)))
	}
	records = append(records, s.record(s.event("v1", noon, 100, checkout("k1:a"))))
	s.apply(records, func() int { return 100 })
	s.exec(`analyze`)
	scans := func() map[string]int64 {
		if _, err := s.pool.Exec(s.ctx, `select pg_stat_force_next_flush()`); err != nil {
			t.Fatal(err)
		}
		counts := map[string]int64{}
		for _, line := range s.texts(`select relname || ' ' || seq_scan + coalesce(idx_scan, 0) from pg_stat_user_tables where relname like ` +
			`'event_fact_%'`) {
			var name string
			var n int64
			if _, err := fmt.Sscan(line, &name, &n); err != nil {
				t.Fatal(err)
			}
			counts[name] = n
		}
		return counts
	}
	before := scans()
	o := s.owner()
	order := s.record(s.order("o1", noon.Add(time.Hour), 1000, cart("k1:a")))
	if err := o.applyRecords(s.ctx, []record{order}); err != nil {
		t.Fatal(err)
	}
	if touches := len(s.onlyExplanation().Touches); touches != 1 {
		t.Fatalf("%d touches, want the visitor's", touches)
	}
	var looked []string
	for name, n := range scans() {
		if n > before[name] {
			looked = append(looked, name)
		}
	}
	wantTexts(t, "months looked at", looked, "event_fact_2026_03")
}

// An order with a key of ever so many orders costs what one with a key of a few
// hundred does.
func TestAnOrderOfABusyHubReadsNoMoreThanOneOfASmallOne(t *testing.T) {
	t.Parallel()
	s := newReads(t)
	o := s.owner()
	n := 0
	add := func(count int) {
		var records []record
		for range count {
			n++
			r := s.record(s.order(fmt.Sprint("o", n), noon.Add(time.Duration(n)*time.Minute), 1000, func(o *wire.Order) {
				o.EmailKey, o.CustomerKey = wire.Some("k1:till"), wire.Some(fmt.Sprint("k1:", n))
			}))
			r.Offset = o.next[r.topic] + int64(len(records))
			records = append(records, r)
		}
		if err := o.applyRecords(s.ctx, records); err != nil {
			t.Fatal(err)
		}
	}
	one := func() int64 {
		s.exec(`analyze`)
		add(1) // statistics and caches of the server are new
		return s.of(func() { add(1) })
	}
	add(250) // a hub
	few := one()
	for range 5 {
		add(250)
	}
	if most := one(); most > 2*few {
		t.Errorf("one more order reads %d rows beside 1,500 others, %d beside 250", most, few)
	}
}

// However many pages a visitor looks at after it came by a link, the link counts.
func TestNoNumberOfPageViewsHidesAnArrival(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ana, _ := s.influencer("Ana Prado", "Inverno")
	s.cost(ana, "", 0, "10")
	came := noon.Add(-20 * 24 * time.Hour)
	records := []record{
		s.record(s.event("v", came, 1, landing("Ana+Prado", "Inverno"))),
		s.record(s.event("v", noon, 2, checkout("k1:a"))),
		s.record(s.order("o1", noon.Add(time.Minute), 1000, cart("k1:a"))),
	}
	s.apply(records, func() int { return 10 })
	cuts := func() int { return len(s.onlyExplanation().Cuts) }
	if n := cuts(); n != 0 {
		t.Fatalf("%d cuts of two events", n)
	}
	// As many pages as are read, then one more, all between the two.
	pages := func(from, to int) {
		s.exec(`
			insert into event_fact (company_id, at, event_id, class, name, visitor, sources, record)
			select company_id, $1::timestamptz + n * interval '1 minute', overlay(event_id::text placing lpad(to_hex(n + 9), 12, '0') from 25)::uuid,
			1, name, visitor, sources, record
			from event_fact, generate_series($2::int, $3::int) n where at = $4`, came.Add(24*time.Hour), from, to, noon)
		s.exec(`update payout set outcome_hash = ''`)
		s.exec(`insert into recompute (company_id, order_id, cause) select company_id, order_id, 'rule 1 settings' from orders`)
		s.exec(`insert into recompute_company values ($1)`, s.company)
		s.workOff()
	}
	pages(1, 1998)
	wantTexts(t, "at the limit", s.payouts(), "o1 Ana Prado link 100")
	if n := cuts(); n != 0 {
		t.Errorf("%d cuts of 2,000 events", n)
	}
	pages(1999, 4500)
	wantTexts(t, "beyond it", s.payouts(), "o1 Ana Prado link 100")
	if got := s.onlyExplanation().Cuts; !slices.Equal(got, []facts.Cut{{What: facts.CutEvents, Limit: facts.HubOfEvents}}) {
		t.Errorf("cuts %v", got)
	}
}

// Anybody can send events with a visitor's id that may be guessed. However many they
// are, what is proven by the order's cart, or by the network of an event with it, stays.
func TestNoNumberOfEventsHidesAProvenOne(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ana, _ := s.influencer("Ana Prado", "Inverno")
	s.cost(ana, "", 0, "10")
	eve, _ := s.influencer("Eve Silva", "x")
	s.cost(eve, "", 0, "10")
	from := func(net string, change func(e *wire.Event)) func(e *wire.Event) {
		return func(e *wire.Event) {
			change(e)
			e.VisitorID, e.NetKey = "k1:guessed", net
		}
	}
	came := noon.Add(-20 * 24 * time.Hour)
	s.apply([]record{
		s.record(s.event("", came, 1, from("k1:home", landing("Ana+Prado", "Inverno")))),
		s.record(s.event("", noon, 2, from("k1:home", checkout("k1:a")))),
		s.record(s.event("", noon.Add(-time.Hour), 3, from("k1:elsewhere", landing("Eve+Silva", "x")))),
		s.record(s.order("o1", noon.Add(time.Minute), 1000, cart("k1:a"))),
	}, func() int { return 10 })
	wantTexts(t, "before", s.payouts(), "o1 Ana Prado link 100")
	s.exec(`
		insert into event_fact (company_id, at, event_id, class, name, visitor, sources, record)
		select company_id, at + n * interval '1 millisecond', overlay(event_id::text placing lpad(to_hex(n + 9), 12, '0') from 25)::uuid, class,
		name, visitor, sources, record
		from event_fact, generate_series(1, 4500) n where at = $1`, noon.Add(-time.Hour))
	s.exec(`update payout set outcome_hash = ''`)
	s.exec(`insert into recompute (company_id, order_id, cause) select company_id, order_id, 'rule 1 settings' from orders`)
	s.exec(`insert into recompute_company values ($1)`, s.company)
	s.workOff()
	wantTexts(t, "after", s.payouts(), "o1 Ana Prado link 100")
	if got := s.onlyExplanation().Cuts; !slices.Equal(got, []facts.Cut{{What: facts.CutEvents, Limit: facts.HubOfEvents}}) {
		t.Errorf("cuts %v", got)
	}
}
