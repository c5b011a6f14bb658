package processor

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/ledger"
	"github.com/tributary-io/tributary/internal/postgres/replay"
	"github.com/tributary-io/tributary/internal/wire"
)

// TestDataOfAnEarlierVersionIsKept takes the schema back to what it was before a
// migration, and up again: all orders are computed anew, and every outcome, key and
// sighting is what it was.
func TestDataOfAnEarlierVersionIsKept(t *testing.T) {
	t.Parallel()
	f := func(before int64, as func(s *shop, hash string)) {
		t.Run(fmt.Sprintf("%04d", before), func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			ana, inverno := s.influencer("Ana Prado", "Inverno")
			s.influencer("Beto Lima", "x")
			s.coupon(ana, inverno, "ANA10")
			s.cost(ana, inverno, 100, "7.5")
			r := rand.New(rand.NewPCG(1, 7))
			s.apply(s.randomFacts(r), func() int { return 50 })
			want := s.outcomes()
			keys := func() []string {
				return s.texts(`select concat_ws(' ', kind, encode(key, 'hex'), order_id, hub) from order_key order by 1`)
			}
			wantKeys := keys()
			wantHash := s.ledgerHash()
			up := s.takeBack(before)
			as(s, wantHash)
			up()
			s.workOff()
			if got := s.ledgerHash(); got != wantHash {
				t.Errorf("ledger hash %s, want %s", got, wantHash)
			}
			if got := s.outcomes(); got != want {
				t.Error(firstDifference(got, want))
			}
			wantTexts(t, "keys", keys(), wantKeys...)
		})
	}
	// Before 0014 the keys of visitors were made in SQL, which knows no mark of a secret (ADR 17).
	f(14, func(*shop, string) {})
	f(15, func(*shop, string) {})
	f(16, func(*shop, string) {})
	f(17, func(s *shop, hash string) {
		// The ledger hash, of the rows as the program before 0017 wrote them.
		rows, err := s.pool.Query(s.ctx, `
			select order_id, kind, of, touch, influencer_id, currency, amount from (
				select order_id, 'credit' as kind, model as of, position::text as touch, coalesce(influencer_id::text, '') as influencer_id, currency, sum(amount_minor)::text as amount
				from credit group by order_id, model, position, influencer_id, currency
				union all
				select order_id, 'ledger', cost_id || ' ' || payable_on, '', influencer_id::text, currency, sum(amount_minor)::text
				from ledger_entry group by order_id, influencer_id, cost_id, payable_on, currency having sum(amount_minor) <> 0
				union all
				select p.order_id, 'payout', p.state, '', coalesce(p.influencer_id::text, ''), o.currency, p.commission_minor::text
				from payout p join orders o using (company_id, order_id)
				union all
				select order_id, 'payout', state, '', coalesce(influencer_id::text, ''), 'BRL', fixed_brl_minor::text
				from payout where fixed_brl_minor <> 0) n
			order by order_id collate "C"`)
		if err != nil {
			s.t.Fatal(err)
		}
		before, orders, err := ledger.Hash(func(yield func(ledger.Net, error) bool) {
			n := ledger.Net{CompanyID: s.company}
			_, err := pgx.ForEachRow(rows, []any{&n.OrderID, &n.Kind, &n.Of, &n.Touch, &n.InfluencerID, &n.Currency, &n.AmountMinor}, func() error {
				yield(n, nil)
				return nil
			})
			if err != nil {
				yield(n, err)
			}
		})
		if err != nil || orders == 0 {
			s.t.Fatalf("%d orders, %v", orders, err)
		}
		if before != hash {
			s.t.Errorf("the ledger hash was %s before the migration and is %s after it", before, hash)
		}
	})
}

// ledgerHash is the hash that tributary verify prints of the live rows.
func (s *shop) ledgerHash() (hash string) {
	s.t.Helper()
	if err := replay.InSnapshot(s.ctx, s.db, func(live *replay.Snapshot) (err error) {
		hash, _, err = ledger.Hash(live.Nets(s.ctx))
		return err
	}); err != nil {
		s.t.Fatal(err)
	}
	return hash
}

// An order that waited for a decision about a link after the checkout, though it names
// another influencer itself, is paid after the upgrade.
func TestAnOrderThatNamesAnInfluencerIsPaidAfterTheUpgrade(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ana, _ := s.influencer("Ana Prado", "Inverno")
	eve, _ := s.influencer("Eve Silva", "x")
	s.cost(ana, "", 0, "10")
	s.cost(eve, "", 0, "10")
	s.apply([]record{
		s.record(s.event("v1", noon, 1, func(e *wire.Event) { e.Event, e.Identity.CartKey = "INITIATE_CHECKOUT", "k1:a" })),
		s.record(s.event("v1", noon.Add(time.Minute), 2, landing("eve+silva", "x"))),
		s.record(s.order("o1", noon.Add(2*time.Minute), 10_000, func(o *wire.Order) {
			o.CartKey, o.UTMCampaign = wire.Some("k1:a"), wire.Some("Ana Prado")
		})),
	}, func() int { return 3 })
	want := s.outcomes()
	wantTexts(t, "now", s.payouts(), "o1 Ana Prado link 1000")
	up := s.takeBack(19)
	s.exec(`update payout set influencer_id = $1, state = 'review', reason = 'after_checkout', proof = 'cart'`, eve)
	s.exec(`update explanation set outcome_hash = '\x00'`)
	up()
	s.workOff()
	if got := s.outcomes(); got != want {
		t.Error(firstDifference(got, want))
	}
}
