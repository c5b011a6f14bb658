package processor

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/packed"
	"github.com/tributary-io/tributary/internal/postgres/replay"
	"github.com/tributary-io/tributary/internal/wire"
)

// The view has the rows that the program reads.
func TestTheViewOfCreditsHasWhatIsStored(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ana, inverno := s.influencer("Ana Prado", "Inverno")
	s.cost(ana, inverno, 100, "7.5")
	s.apply(s.randomFacts(rand.New(rand.NewPCG(4, 8))), func() int { return 50 })
	compared := 0
	for _, id := range s.texts(`select order_id from payout`) {
		outcome := s.stored(id)
		if outcome == nil {
			t.Fatalf("%s has no outcome", id)
		}
		var rows []facts.Credit
		r, err := s.pool.Query(s.ctx, `
			select position, channel, coalesce(influencer_id::text, ''), coalesce(campaign_id, ''), array[first_minor, last_minor,
			last_non_direct_minor, linear_minor, position_minor, time_decay_minor]
			from credit where order_id = $1 and currency = $2 order by position`, id, outcome.Currency)
		if err != nil {
			t.Fatal(err)
		}
		for r.Next() {
			var c facts.Credit
			var parts []*int64
			if err := r.Scan(&c.Position, &c.Channel, &c.InfluencerID, &c.CampaignID, &parts); err != nil {
				t.Fatal(err)
			}
			for i, p := range parts {
				if p != nil {
					c.Parts[i] = facts.Part{Given: true, Minor: *p}
				}
			}
			rows = append(rows, c)
			compared++
		}
		if err := r.Err(); err != nil || !slices.Equal(rows, outcome.Credits) {
			t.Errorf("%s: the view has %+v, %v, want %+v", id, rows, err, outcome.Credits)
		}
	}
	if compared < 10 {
		t.Errorf("only %d credits", compared)
	}
}

// An order is written once, also where it waits for its visitor's events: what is computed
// later is in another row.
func TestAnOrderThatIsComputedLaterIsNotWrittenAgain(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	o := s.owner()
	o.Log = onePartition{}
	records := numbered([]record{s.record(s.order("o1", noon, 1000, cart("k1:a")))})
	o.waits(1_000_000)
	if err := o.applyRecords(s.ctx, records); err != nil {
		t.Fatal(err)
	}
	row := func() []string { return s.texts(`select xmin::text || ' ' || ctid::text from orders`) }
	before := row()
	wantTexts(t, "outcomes of an order that waits", s.texts(`select order_id from payout`))
	if err := o.recomputeQueued(s.ctx); err != nil {
		t.Fatal(err)
	}
	wantTexts(t, "outcomes", s.texts(`select order_id || ' ' || coalesce(is_first_order::text, 'unknown') from payout`), "o1 unknown")
	wantTexts(t, "the order's row", row(), before...)
}

// An order's only version is with the order. It becomes a row of its own where another
// version comes, also one that changes nothing of the order.
func TestTheOnlyVersionOfAnOrderIsWithTheOrder(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ana, inverno := s.influencer("Ana Prado", "Inverno")
	s.coupon(ana, inverno, "ANA10")
	s.cost(ana, inverno, 100, "7.5")
	first := s.record(s.order("older", noon, 1000, func(o *wire.Order) { o.UpdatedAt = wire.Some(noon) }))
	s.apply(append(s.randomFacts(rand.New(rand.NewPCG(5, 3))), first, first), func() int { return 50 })
	only, rows := `select count(*) from orders where order_id = 'older' and accepted_at is not null and version_at is not null and `+
		`content_hash is not null`, `select count(*) from order_version where order_id = 'older'`
	if n, m := s.int(only), s.int(rows); n != 1 || m != 0 {
		t.Fatalf("%d only versions, %d rows", n, m)
	}
	// An older one comes: the order stays what it was, and was not written again.
	at := s.texts(`select processed_at::text from orders where order_id = 'older'`)
	s.apply([]record{s.record(s.order("older", noon, 2000, func(o *wire.Order) {
		o.UpdatedAt, o.Status = wire.Some(noon.Add(-time.Hour)), 1
	}))}, func() int { return 1 })
	if n, m := s.int(only), s.int(rows); n != 0 || m != 2 {
		t.Errorf("%d only versions, %d rows, want none and two", n, m)
	}
	if s.int(`select total_minor from orders where order_id = 'older'`) != 1000 {
		t.Error("an older version has changed the order")
	}
	wantTexts(t, "when it was stored", s.texts(`select processed_at::text from orders where order_id = 'older'`), at...)

	found, err := s.replay(s.ctx, replay.Options{})
	if err != nil || !found.Equal() || found.Orders < 5 {
		t.Fatalf("%+v, %v", found, err)
	}
}

// A key's digest has its hub in the last two bits, also where the key became a hub later.
func TestTheDigestOfAKeyHasItsHub(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ana, inverno := s.influencer("Ana Prado", "Inverno")
	s.cost(ana, inverno, 100, "7.5")
	r := rand.New(rand.NewPCG(5, 2))
	records := s.randomFacts(r)
	for i := range 205 { // more than a key may have
		records = append(records,
			s.record(s.order(fmt.Sprint("till", i), noon.Add(time.Duration(i)*time.Minute), 1000, func(o *wire.Order) {
				o.EmailKey = wire.Some("k1:till")
			})))
	}
	s.apply(records, func() int { return 300 })
	if n := s.int(`select count(*) from order_key where hub <> 0`); n < 5 {
		t.Fatalf("%d keys are hubs", n)
	}
	rows, err := s.pool.Query(s.ctx, `select kind, key, hub, digest from order_key`)
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		var kind, hub int16
		var key []byte
		var digest int64
		if err := rows.Scan(&kind, &key, &hub, &digest); err != nil {
			t.Fatal(err)
		}
		value, err := packed.Text(key)
		if err != nil {
			t.Fatal(err)
		}
		k, err := facts.KindOf(kind)
		if err != nil {
			t.Fatal(err)
		}
		if want := facts.KeyDigest(s.company, facts.Key{Kind: k, Value: value}) | int64(hub); digest != want {
			t.Errorf("%s %s has the digest %d, want %d", k, value, digest, want)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}

// A newer program, that runs beside this one, may queue orders for a reason that this one does not know. The ledger
// keeps its words.
func TestACauseThatIsNotKnownIsKept(t *testing.T) {
	t.Parallel()
	s := newLedgerShop(t)
	s.sale("o1", 10_000, coupon("BETO"))
	s.exec(`update cost set var_fee = var_fee + 1 where influencer_id = $1`, s.beto)
	s.bump()
	s.exec(`insert into recompute (company_id, order_id, cause) select company_id, order_id, 'weather 7 rain' from orders`)
	s.exec(`insert into recompute_company (company_id) values ($1) on conflict do nothing`, s.company)
	s.workOff()
	wantTexts(t, "causes", s.texts(`select kind || ' ' || split_part(cause, ' ', 1) from ledger_entry order by entry`), "earned order",
		"reversed weather", "adjusted weather")
	wantTexts(t, "words", s.texts(`select distinct cause from ledger_entry where kind <> 'earned'`), "weather 7 rain")
}
